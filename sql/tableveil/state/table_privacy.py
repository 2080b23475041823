"""The privacy of tables, as their stewards declared it: versions of documents, of which the newest counts."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger, folded
from tableveil.policy import TableReference
from tableveil.state.loads import RemovalKind
from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class TablePrivacy:
    """One version of a table's privacy; the document is the service's."""

    version: int
    privacy: str
    declared_by: str
    declared_at: datetime


_PRIVACY = Table("table_privacy", TablePrivacy, "table_schema", "table_name")
"""The names are folded."""


def find(ledger: Ledger, table: TableReference, version: int = 0) -> TablePrivacy | None:
    """The version of a table's privacy; the newest one, if 0."""
    condition = "table_schema = ? AND table_name = ? AND ? IN (0, version)"
    parameters = [*_name_of(table), version]
    return next(iter(_PRIVACY.where(ledger, condition, parameters, "ORDER BY version DESC LIMIT 1")), None)


def declare(ledger: Ledger, table: TableReference, privacy: str, declared_by: str, at: datetime) -> TablePrivacy:
    """The new version of a table's privacy, or the newest one if it says the same; call it in a transaction.

    Versions from before the last erasure of anybody go: they may hold what people typed of the erased.
    """
    newest = find(ledger, table)
    if newest is not None and newest.privacy == privacy:
        return newest
    declared = TablePrivacy(newest.version + 1 if newest else 1, privacy, declared_by, at)
    erased = "SELECT max(happened_at) FROM tableveil.removals WHERE kind = ?"
    ledger.execute(
        f"DELETE FROM tableveil.table_privacy WHERE table_schema = ? AND table_name = ? AND declared_at < ({erased})",
        [*_name_of(table), RemovalKind.ERASE.value],
    )
    _PRIVACY.insert(ledger, [declared], *_name_of(table))
    return declared


def _name_of(table: TableReference) -> list[object]:
    return [folded(table.schema), folded(table.table)]
