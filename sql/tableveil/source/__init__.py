"""The source table: what it is, whether the policy fits it, and the fingerprint of its rows."""

from tableveil.source.facts import check_facts
from tableveil.source.fingerprint import fingerprint
from tableveil.source.resolve import Column, Source, resolve_source

__all__ = ["Column", "Source", "check_facts", "fingerprint", "resolve_source"]
