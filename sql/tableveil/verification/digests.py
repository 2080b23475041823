"""Computes the keyed digests of people and records anew, as the ledger should have them."""

import hashlib
import hmac

from tableveil.backend import Session
from tableveil.state.migrate import fingerprint_key
from tableveil.verification.text import quoted


def secret_of(session: Session, *, records: bool) -> str:
    """The secret that digests of records, or of persons, are keyed with."""
    return hmac.new(fingerprint_key(session.ledger), b"records" if records else b"persons", hashlib.sha256).hexdigest()


def digest_of(column: str, of: str, parameter: int) -> str:
    """The digest of a column of rows under the alias `of`; the secret is bound as the parameter of that number."""
    return f"('0x' || left(sha256(?{parameter} || {of}.{quoted(column)}::VARCHAR), 14))::UBIGINT"
