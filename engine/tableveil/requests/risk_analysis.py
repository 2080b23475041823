"""The request of a risk analysis, and its checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tableveil.errors import Fault, NearestNames, shortened
from tableveil.policy.model import DEFAULT_RISK_THRESHOLDS, Population, TableReference
from tableveil.policy.validate_population import check_itself

MOST_COLUMNS = 200
MOST_THRESHOLDS = 100
MOST_COMPARED = 100


@dataclass(frozen=True, slots=True)
class RiskRequest:
    """The risks of the records of `table`, of `source_query`, or of the release with the number `release`.

    They are computed by its `quasi_identifiers`.

    Without quasi-identifiers, they are computed by those in `compare`, which are sets to be put side by side; without
    these, too, by those of the release, or those that a policy draft would guess. If `largest_subset` is None, the
    largest size of the counted subsets is chosen automatically. `records` keeps the risks of each combination of
    values. With a `person_column`, records with one value there are one person's. The models of privacy that the rows
    meet are measured by each of the `sensitive` columns.
    """

    table: TableReference | None
    release: int | None
    quasi_identifiers: tuple[str, ...]
    population: Population | None = None
    thresholds: tuple[Decimal, ...] = DEFAULT_RISK_THRESHOLDS
    weight_column: str = ""
    largest_subset: int | None = None
    records: bool = False
    compare: tuple[tuple[str, ...], ...] = ()
    source_query: str = ""
    person_column: str = ""
    sensitive: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers that the request names, each once."""
        return self.quasi_identifiers or tuple(dict.fromkeys(name for names in self.compare for name in names))


def check_risk_request(request: RiskRequest) -> Iterator[Fault]:
    """Faults of a request by itself, with field paths as in the proto."""
    yield from _check_subject(request)
    yield from _check_columns(request)
    for i, threshold in enumerate(request.thresholds):
        if not (threshold.is_finite() and 0 < threshold < 1):
            yield Fault(f"thresholds[{i}]", str(threshold), "an exact decimal above 0 and below 1")
        elif threshold in request.thresholds[:i]:
            yield Fault(f"thresholds[{i}]", str(threshold), "each threshold once")
    if request.largest_subset is not None and request.largest_subset < 1:
        yield Fault("largest_subset", str(request.largest_subset), "a number from 1 on, or 0 to leave it open")
    yield from _check_other_columns(request)
    if request.population == Population():
        yield Fault("population", "nothing", "rows, a size or a sampling fraction", "Remove it, or fill it.")
    elif request.population is not None:
        yield from check_itself(request.population)


def _check_subject(request: RiskRequest) -> Iterator[Fault]:
    """Faults of what the risks are of, and of too much that is asked."""
    if request.table is not None and not request.table.table:
        yield Fault("table.table", "nothing", "the name of a table")
    if request.table is None and request.release is None and not request.source_query:
        yield Fault("table", "nothing", "a table, a SELECT as source_query, or the name of a release as release")
    for field, number, most in (
        ("quasi_identifiers", len(request.quasi_identifiers), MOST_COLUMNS),
        ("thresholds", len(request.thresholds), MOST_THRESHOLDS),
        ("compare", len(request.compare), MOST_COMPARED),
    ):
        if number > most:
            yield Fault(field, f"{number} of them", f"at most {most}")


def _check_columns(request: RiskRequest) -> Iterator[Fault]:
    """Faults of the columns by which the risks are computed."""
    yield from _check_names(request.quasi_identifiers, "quasi_identifiers")
    for i, names in enumerate(request.compare):
        if not names:
            yield Fault(f"compare[{i}].columns", "none", "at least one column")
        yield from _check_names(names, f"compare[{i}].columns")
        if request.quasi_identifiers:
            yield from _check_among(names, request.quasi_identifiers, f"compare[{i}].columns")
    if request.release is None and not request.quasi_identifiers and len(request.columns) > MOST_COLUMNS:
        yield Fault("compare", f"{len(request.columns)} different columns", f"at most {MOST_COLUMNS}")


def _check_other_columns(request: RiskRequest) -> Iterator[Fault]:
    """Faults of the columns that say how many people a record stands for, or whose it is."""
    seen = {name.casefold() for name in request.columns}
    if request.weight_column and request.weight_column.casefold() in seen:
        hint = "A column of survey weights tells how many people a record stands for, not who it is."
        yield Fault("weight_column", f"{shortened(request.weight_column)}, a quasi-identifier", "another column", hint)
    if request.person_column and request.person_column.casefold() in seen:
        hint = "It says whose a record is: leave it out of the columns by which people could be recognized."
        yield Fault("person_column", f"{shortened(request.person_column)}, a quasi-identifier", "another column", hint)
    yield from _check_names(request.sensitive, "sensitive")
    for i, name in enumerate(request.sensitive):
        if name.casefold() in seen:
            yield Fault(f"sensitive[{i}]", f"{shortened(name)}, a quasi-identifier", "another column")
    if request.sensitive and (request.population is not None or request.person_column):
        hint = "A dry run of a policy measures them: tableveil submit --dry-run, then show --privacy."
        yield Fault("sensitive", "columns beside a population or a person column", "only one of them", hint)
    if request.person_column and request.release is not None:
        hint = "Its guarantees say it: tableveil show RELEASE --privacy."
        yield Fault("person_column", "a person column, for a release", "none: its rows do not say whose they are", hint)


def _check_names(names: tuple[str, ...], field: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name:
            yield Fault(f"{field}[{i}]", "nothing", "the name of a column")
        elif name.casefold() in seen:
            hint = "Names that differ only in case are the same column to the database."
            yield Fault(f"{field}[{i}]", f"{shortened(name)} more than once", "each column once", hint)
        seen.add(name.casefold())


def _check_among(names: tuple[str, ...], quasi_identifiers: tuple[str, ...], field: str) -> Iterator[Fault]:
    nearest = NearestNames(quasi_identifiers)
    for i, name in enumerate(names):
        if name and name not in quasi_identifiers:
            hint = nearest(name) or "Add it to the quasi-identifiers."
            yield Fault(f"{field}[{i}]", shortened(name), "one of the quasi-identifiers", hint)
