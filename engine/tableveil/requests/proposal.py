"""The request of a proposal, and its checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from tableveil.errors import Fault, shortened
from tableveil.policy import Policy, Role, TableReference

MOST_SECONDS = Decimal(3600)
MOST_COLUMNS = 10_000


class ReleaseReaders(StrEnum):
    """The people who get a release."""

    PUBLIC = "PUBLIC"
    CONTRACT = "CONTRACT"
    INSIDE = "INSIDE"

    @property
    def sizes(self) -> tuple[int, int]:
        """Each k that is tried, the least first."""
        return _SIZES[self]

    @property
    def highest_risk(self) -> Decimal:
        """The greatest chance of finding somebody that is accepted (El Emam 2013; EMA policy 0070)."""
        return _RISKS[self]

    @property
    def source_of_risk(self) -> str:
        """The publication that gives this risk."""
        return _SOURCES[self]


_SIZES = {ReleaseReaders.PUBLIC: (12, 20), ReleaseReaders.CONTRACT: (5, 10), ReleaseReaders.INSIDE: (3, 5)}
_RISKS = {
    ReleaseReaders.PUBLIC: Decimal("0.09"),
    ReleaseReaders.CONTRACT: Decimal("0.2"),
    ReleaseReaders.INSIDE: Decimal("0.3334"),
}


_SOURCES = {
    ReleaseReaders.PUBLIC: "EMA policy 0070 accepts 0.09 for releases to the public.",
    ReleaseReaders.CONTRACT: "Classes of 5 are customary for known recipients under contract (El Emam 2013).",
    ReleaseReaders.INSIDE: "Classes of 3 are the least that is customary, for trusted recipients (El Emam 2013).",
}


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """A column that stays, up to a level; None for the highest one that tells something."""

    column: str
    maximum_level: int | None = None


@dataclass(frozen=True, slots=True)
class CorrectedColumn:
    """A column with another role, None for no valid one, or another hierarchy, than the draft gives it."""

    column: str
    role: Role | None
    has_hierarchy: bool = False


@dataclass(frozen=True, slots=True)
class ProposalRequest:
    """The knowledge of a table's owner; either `table` or `source_query` is the source.

    Without a `person_column`, and unless `rows_are_people`, the rows tell who is a person if they can. A `policy` to
    begin with says that, and more, by itself. Readers whom nobody named are `assumed`. For a forecast, the
    `period_column` says of which month a row is, or the shares say who comes new and who leaves from one to the next.
    """

    table: TableReference | None
    source_query: str = ""
    readers: ReleaseReaders = ReleaseReaders.CONTRACT
    recurs: bool = False
    keep: tuple[KeptColumn, ...] = ()
    leave_out: tuple[str, ...] = ()
    person_column: str = ""
    rows_are_people: bool = False
    record_column: str = ""
    seconds: Decimal = Decimal(40)
    acknowledge: tuple[str, ...] = ()
    policy: Policy | None = None
    assumed: bool = False
    correct: tuple[CorrectedColumn, ...] = ()
    period_column: str = ""
    coming_share: Decimal | None = None
    leaving_share: Decimal | None = None

    @property
    def roles(self) -> dict[str, Role]:
        """The corrected roles, by folded names."""
        return {one.column.casefold(): one.role for one in self.correct if one.role is not None}

    @property
    def is_related(self) -> bool:
        """Whether the policy to begin with names tables of people and their events."""
        return self.policy is not None and self.policy.related is not None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Each k that is tried, the least first: that of the policy, and those of the readers above it."""
        own = None if self.policy is None else self.policy.k
        return self.readers.sizes if own is None else (own, *(k for k in self.readers.sizes if k > own))

    @property
    def highest_risk(self) -> Decimal:
        """The greatest chance of finding somebody that is accepted: by the policy, or else for the readers."""
        stated = None if self.policy is None else self.policy.documentation.risk_threshold
        return self.readers.highest_risk if stated is None else stated

    @property
    def columns(self) -> dict[str, str]:
        """The named columns by the fields that name them."""
        named = {f"keep[{i}].column": kept.column for i, kept in enumerate(self.keep)}
        named |= {f"leave_out[{i}]": name for i, name in enumerate(self.leave_out)}
        named |= {f"acknowledge[{i}]": name for i, name in enumerate(self.acknowledge)}
        named |= {f"correct[{i}].column": one.column for i, one in enumerate(self.correct)}
        named |= {"person_column": self.person_column, "record_column": self.record_column}
        named |= {"period_column": self.period_column}
        return {field: name for field, name in named.items() if name or "[" in field}


def check_proposal_request(request: ProposalRequest) -> Iterator[Fault]:
    """Faults of a request by itself, with field paths as in the proto."""
    if request.table is not None and not request.table.table:
        yield Fault("table.table", "nothing", "the name of a table")
    if request.is_related:
        yield from _check_related(request)
    elif request.table is None and not request.source_query:
        yield Fault("table", "nothing", "a table, or a SELECT as source_query")
    if not 0 < request.seconds <= MOST_SECONDS:
        actual = shortened(f"{request.seconds:f}")
        yield Fault("time_limit_seconds", actual, f"more than 0 and at most {MOST_SECONDS} seconds")
    if request.rows_are_people and request.person_column:
        yield Fault("rows_are_people", "true beside a person_column", "one of them")
    if request.record_column and not request.recurs:
        yield Fault("record_column", "a column, without recurs", "recurs: true, or no record_column")
    rows_are_people = request.rows_are_people or (request.policy is not None and request.policy.person_column is None)
    if request.recurs and rows_are_people:
        hint = "Name the person_column: later releases find people by it."
        yield Fault("rows_are_people", "true, with recurs", "a person_column", hint)
    yield from _check_forecast(request)
    yield from _check_policy(request)
    for i, kept in enumerate(request.keep):
        if kept.maximum_level is not None and kept.maximum_level < 0:
            yield Fault(f"keep[{i}].maximum_level", str(kept.maximum_level), "a level from 0 on")
    if len(request.columns) > MOST_COLUMNS:
        yield Fault("keep", f"{len(request.columns):,} columns in all fields", f"at most {MOST_COLUMNS:,}")
        return
    yield from _check_corrections(request)
    seen: dict[tuple[str, str], str] = {}
    for field, name in request.columns.items():
        # A column may be kept, or left out, and be acknowledged as well; one that is kept may have another role.
        own = field.partition("[")[0]
        acknowledged = own if own in ("acknowledge", "correct") else ""
        if not name:
            yield Fault(field, "nothing", "the name of a column")
        elif (other := seen.setdefault((acknowledged, name.casefold()), field)) != field:
            yield Fault(field, f"{shortened(name)}, which {other} names as well", "another column")


def _check_forecast(request: ProposalRequest) -> Iterator[Fault]:
    shares = {name: getattr(request, name) for name in ("coming_share", "leaving_share")}
    stated = {name: share for name, share in shares.items() if share is not None}
    for name in (*(["period_column"] if request.period_column else []), *stated):
        if not request.recurs:
            yield Fault(name, "a statement about later releases, without recurs", f"recurs: true, or no {name}")
    if stated and request.period_column:
        yield Fault(next(iter(stated)), "a share beside a period_column", "one of them: the months tell the shares")
    elif len(stated) == 1:
        (missing,) = shares.keys() - stated.keys()
        yield Fault(missing, "nothing", "the other share: of people who come new, and of those who leave")
    for name, share in stated.items():
        if not 0 <= share <= 1:
            yield Fault(name, shortened(f"{share:f}"), "a share from 0 to 1")


def _check_policy(request: ProposalRequest) -> Iterator[Fault]:
    if request.policy is None:
        return
    said = {name: getattr(request, name) for name in ("leave_out", "person_column", "rows_are_people", "record_column")}
    for name in (name for name, value in said.items() if value):
        yield Fault(name, "a statement beside a policy", "that of the policy alone")


_OF_ONE_TABLE = ("table", "source_query", "recurs", "keep", "acknowledge")


def _check_related(request: ProposalRequest) -> Iterator[Fault]:
    for name in (name for name in _OF_ONE_TABLE if getattr(request, name)):
        yield Fault(name, "a statement beside the tables of the policy", "nothing: the policy says it of all tables")


def _check_corrections(request: ProposalRequest) -> Iterator[Fault]:
    if request.correct and request.policy is not None:
        yield Fault("correct", "columns beside a policy to begin with", "roles and hierarchies in the policy")
    others = (*request.leave_out, request.person_column, request.record_column, request.period_column)
    identifying = {name.casefold() for name in others if name}
    for i, one in enumerate(request.correct):
        if one.role is None:
            yield Fault(f"correct[{i}].role", "nothing", f"a role: {', '.join(Role)}")
        elif one.has_hierarchy and one.role is not Role.QUASI_IDENTIFIER:
            yield Fault(f"correct[{i}].role", f"{one.role} with a hierarchy", "QUASI_IDENTIFIER, or no hierarchy")
        elif one.role is not Role.IDENTIFYING and one.column.casefold() in identifying:
            hint = "Columns that are left out, or number people or records, are not released."
            yield Fault(f"correct[{i}].role", str(one.role), "IDENTIFYING", hint)
