"""The reports that were made, and the checksums of rows that they print."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Ledger


class ReportAudience(StrEnum):
    """The readers for whom an edition is made."""

    OWNER = "OWNER"
    PUBLIC = "PUBLIC"


class ReportFormat(StrEnum):
    """The form of a document."""

    HTML = "HTML"
    PDF = "PDF"
    TEXT = "TEXT"


@dataclass(frozen=True, slots=True)
class MadeReport:
    """A document that was given to a principal; the subject is a release or a dry run, by its name."""

    subject: str
    audience: ReportAudience
    format: ReportFormat
    sha256: str
    made_by: str
    made_at: datetime


def remember(ledger: Ledger, made: MadeReport) -> None:
    """Keeps a report, unless the same document is known; call it in a transaction."""
    ledger.execute(
        "INSERT INTO tableveil.reports (subject, audience, format, sha256, made_by, made_at) "
        "SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (FROM tableveil.reports WHERE subject = $1 AND sha256 = $4)",
        [made.subject, made.audience.value, made.format.value, made.sha256, made.made_by, made.made_at],
    )


def row_checksum(ledger: Ledger, release: int) -> str:
    """The checksum of a release's rows; empty if none was computed."""
    rows = ledger.rows("SELECT checksum FROM tableveil.row_checksums WHERE release = ?", [release])
    return rows[0][0] if rows else ""


def without_checksum(ledger: Ledger) -> list[int]:
    """The releases in the embedded database whose rows have no checksum."""
    query = (
        "SELECT number FROM tableveil.releases WHERE warehouse = '' "
        "AND number NOT IN (SELECT release FROM tableveil.row_checksums) ORDER BY number"
    )
    return [number for (number,) in ledger.rows(query)]


def keep_row_checksum(ledger: Ledger, release: int, checksum: str) -> None:
    """Keeps the checksum of a release's rows, which has none yet; call it in a transaction."""
    ledger.execute("INSERT INTO tableveil.row_checksums VALUES (?, ?)", [release, checksum])
