"""The source table: what it is, whether the policy fits it, and the fingerprint of its rows."""

from __future__ import annotations

from tableveil.source.facts import check_facts, estimated_values
from tableveil.source.fingerprint import fingerprint, population_fingerprint
from tableveil.source.model import Column, PopulationRows, Source
from tableveil.source.resolve import resolve_source

__all__ = [
    "Column",
    "PopulationRows",
    "Source",
    "check_facts",
    "estimated_values",
    "fingerprint",
    "population_fingerprint",
    "resolve_source",
]
