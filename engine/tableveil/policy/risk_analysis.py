"""Which risk analysis is asked for, and all that can be wrong with asking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tableveil.errors import Fault, shortened
from tableveil.policy.model import DEFAULT_RISK_THRESHOLDS, Population, TableReference
from tableveil.policy.validate_population import check_itself

MOST_COLUMNS = 200
MOST_THRESHOLDS = 100


@dataclass(frozen=True, slots=True)
class RiskRequest:
    """The risks of the records of `table`, or of what `release`, a number, released, by their `quasi_identifiers`.

    No quasi-identifiers means those of the release. `largest_subset` None leaves open up to which size subsets of them
    are looked at. `records` keeps the risks of each combination of values.
    """

    table: TableReference | None
    release: int | None
    quasi_identifiers: tuple[str, ...]
    population: Population | None = None
    thresholds: tuple[Decimal, ...] = DEFAULT_RISK_THRESHOLDS
    weight_column: str = ""
    largest_subset: int | None = None
    records: bool = False
    request_id: str = ""


def check_risk_request(request: RiskRequest) -> Iterator[Fault]:
    """Faults of a request by itself, with field paths as in the proto."""
    if request.table is not None and not request.table.table:
        yield Fault("table.table", "nothing", "the name of a table")
    if request.table is None and request.release is None:
        yield Fault("table", "nothing", "a table, or the name of a release as release")
    if request.table is not None and not request.quasi_identifiers:
        hint = "Name the columns by which people could be recognized: age, sex, place, dates, …"
        yield Fault("quasi_identifiers", "none", "at least one column", hint)
    for field, number, most in (
        ("quasi_identifiers", len(request.quasi_identifiers), MOST_COLUMNS),
        ("thresholds", len(request.thresholds), MOST_THRESHOLDS),
    ):
        if number > most:
            yield Fault(field, f"{number} of them", f"at most {most}")
    seen: set[str] = set()
    for i, name in enumerate(request.quasi_identifiers):
        field = f"quasi_identifiers[{i}]"
        if not name:
            yield Fault(field, "nothing", "the name of a column")
        elif name.casefold() in seen:
            hint = "Names that differ only in case are the same column to the database."
            yield Fault(field, f"{shortened(name)} more than once", "each column once", hint)
        seen.add(name.casefold())
    for i, threshold in enumerate(request.thresholds):
        if not (threshold.is_finite() and 0 < threshold < 1):
            yield Fault(f"thresholds[{i}]", str(threshold), "an exact decimal above 0 and below 1")
        elif threshold in request.thresholds[:i]:
            yield Fault(f"thresholds[{i}]", str(threshold), "each threshold once")
    if request.largest_subset is not None and request.largest_subset < 1:
        yield Fault("largest_subset", str(request.largest_subset), "a number from 1 on, or 0 to leave it open")
    if request.weight_column and request.weight_column.casefold() in seen:
        hint = "A column of survey weights tells how many people a record stands for, not who it is."
        yield Fault("weight_column", f"{shortened(request.weight_column)}, a quasi-identifier", "another column", hint)
    if request.population == Population():
        yield Fault("population", "nothing", "rows, a size or a sampling fraction", "Remove it, or fill it.")
    elif request.population is not None:
        yield from check_itself(request.population)
