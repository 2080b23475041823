"""The store of utility reports, which are the owner's: they show how the source spreads over its values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tableveil.backend import Ledger
from tableveil.state.mapper import NumberedTable, Table
from tableveil.state.seen import Audience, measured
from tableveil.usefulness import Association, Bin, ColumnSpread, ColumnUtility, MovedRate, UtilityReport


@dataclass(frozen=True, slots=True)
class StoredUtility:
    """A utility report; `request` is the request as JSON, `seconds` are those from the job's start."""

    number: int
    job: int
    created_at: datetime
    release: int
    report: UtilityReport
    seconds: float
    request: str
    audience: Audience = Audience.OWNER


_SPREADS = Table(
    "utility_spreads",
    ColumnSpread,
    *("report", "column_position", "stage"),
    names={"distinct": "distinct_values"},
    parts={"bins": Table("utility_bins", Bin, "report", "column_position", "stage", position=True)},
)
_COLUMNS = Table(
    "utility_columns",
    ColumnUtility,
    "report",
    position=True,
    names={"column": "column_name", "before": None, "after": None},
)
_ASSOCIATIONS = Table(
    "utility_associations",
    Association,
    "report",
    position=True,
    names={"first": "first_column", "second": "second_column"},
)
_RATES = Table(
    "utility_rates",
    MovedRate,
    "report",
    position=True,
    names={"column": "column_name", "of": "of_column"},
)


class _Reports(NumberedTable[StoredUtility]):
    """Reports with how each column spreads."""

    def insert_all(self, ledger: Ledger, rows: Mapping[Any, Sequence[StoredUtility]]) -> None:
        """The spreads have the position of their column in their key."""
        super().insert_all(ledger, rows)
        for stored in itertools.chain.from_iterable(rows.values()):
            spreads = {
                (stored.number, position, stage): [spread]
                for position, column in enumerate(stored.report.columns)
                for stage, spread in (("before", column.before), ("after", column.after))
            }
            _SPREADS.insert_all(ledger, spreads)

    def where(
        self, ledger: Ledger, condition: str, parameters: Sequence[object], order: str = ""
    ) -> list[StoredUtility]:
        """The reports with a condition."""
        reports = super().where(ledger, condition, parameters, order)
        spreads = _SPREADS.of(ledger, [one.number for one in reports])

        def complete(one: StoredUtility) -> StoredUtility:
            columns = tuple(
                replace(
                    column,
                    before=spreads[one.number, position, "before"][0],
                    after=spreads[one.number, position, "after"][0],
                )
                for position, column in enumerate(one.report.columns)
            )
            return replace(one, report=replace(one.report, columns=columns))

        return list(map(complete, reports))


UTILITY_REPORTS = _Reports(
    "utility_reports",
    StoredUtility,
    "utility_report_numbers",
    parts={"report.columns": _COLUMNS, "report.associations": _ASSOCIATIONS, "report.rates": _RATES},
    beside=[_SPREADS],
    seen=measured("release"),
    reviewed=True,
)
