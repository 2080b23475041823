"""The forecast of a proposal: from what it is made, how sure it is, and which way lasts longest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tableveil.backend import Session, render, table
from tableveil.errors import InvalidError, shortened
from tableveil.lifecycle import releases_of_tables
from tableveil.pipelines.forecast import MONTHS, Coarser, Months, forecast, month_of, months_of
from tableveil.pipelines.work import JobContext
from tableveil.requests.proposal import ProposalRequest
from tableveil.risk.turnover import LEAST_MONTHS, History, Turnover
from tableveil.source import Source
from tableveil.source.query import take_snapshot
from tableveil.state import persons
from tableveil.state.proposals import ForecastWay

_UNKNOWN = "Nobody can tell how many releases last:"
_HOW = (
    f"Name a column of months (--period) of which the table has {LEAST_MONTHS}, or state which share of a month's "
    "people is new (--coming) and which is not in the next (--leaving)."
)
_REPLACED = "A release that replaces another one counts as well: readers keep the earlier one."


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A forecast: its sentences, the ways that were played, and the releases that it was learned from."""

    told: str = ""
    ways: tuple[ForecastWay, ...] = ()
    releases: tuple[int, ...] = ()


def newest_month(source: Source, request: ProposalRequest) -> str:
    """A SELECT of the rows of the newest month, which is another one once there are later rows."""
    month = month_of(source, request.period_column)
    reference = source.reference
    text = (
        f"(\n{request.source_query}\n) AS source"
        if request.source_query
        else render(table(reference.table, reference.schema))
    )
    return f"SELECT * FROM {text} WHERE {render(month)} = (SELECT max({render(month)}) FROM {text})"


def foreseen(
    job: JobContext, session: Session, source: Source, request: ProposalRequest, k: int, made: Coarser
) -> Foreseen:
    """The next months under a policy of that k; the source has all months. Call it in no transaction.

    Raises:
        CancelledError: the job was cancelled.
    """
    policy, _ = made(())
    if not policy.person_column:
        return Foreseen(f"{_UNKNOWN} without a person_column nobody is found again.")
    if policy.person_column not in {one.name for one in source.columns}:
        return Foreseen(
            f"{_UNKNOWN} {shortened(policy.person_column)} is no column of the table: name one by --person."
        )
    learned: tuple[int, ...] = ()
    turnover = None
    with session.transaction():
        if source.query is not None:
            take_snapshot(session, source)
        if request.coming_share is not None and request.leaving_share is not None:
            turnover = Turnover.stated(float(request.coming_share), float(request.leaving_share))
            basis = "From the shares that were stated"
        elif not request.period_column:
            learned, turnover = _of_releases(session, source)
            if turnover is None:
                return Foreseen(f"{_UNKNOWN} {len(learned):,} earlier releases of its people are there. {_HOW}")
            basis = f"From {len(learned):,} earlier releases"
        months = months_of(session, source, policy, request.period_column, turnover)
    if isinstance(months, int):
        return Foreseen(f"{_UNKNOWN} {shortened(request.period_column)} has {months:,} months. {_HOW}")
    if turnover is None:
        basis = f"From {months.history.number:,} months of {shortened(request.period_column)}"
    try:
        ways = forecast(job, months, policy, k, made, float(request.seconds))
    except InvalidError as error:
        return Foreseen(f"{_UNKNOWN} the newest month could not be played. {error}", (), learned)
    return Foreseen(" ".join([*_basis(months, basis, learned=bool(learned)), *_verdict(ways)]), ways, learned)


def _of_releases(session: Session, source: Source) -> tuple[tuple[int, ...], Turnover | None]:
    """The earlier releases of the source's table that know their people, and who came and left from one to the next."""
    there = releases_of_tables(session, source)
    numbers = sorted(persons.with_classes(session.ledger, there) - persons.of_records(session.ledger, there))
    if len(numbers) < LEAST_MONTHS:
        return tuple(numbers), None
    seen = persons.presence(session.ledger, numbers)
    months, people = (seen[name].astype(np.int64) for name in ("month", "person"))
    return tuple(numbers), Turnover.learned(History(months, people, np.zeros((len(months), 0), np.int64)))


def _basis(months: Months, basis: str, *, learned: bool) -> Sequence[str]:
    turnover, played = months.turnover, int(months.history.people.max(initial=-1)) + 1
    told = [
        f"{basis}: about {turnover.come:.1%} of a month's people are new, and {turnover.leave:.1%} are not in the next."
    ]
    if learned:
        told.append("It begins anew, as if none of these stood: with them fewer releases last.")
    if months.history.number == 1:
        told.append("The values of people are taken to stay: where they change, fewer releases last.")
    if played < months.people:
        told.append(
            f"Played with {played:,} of {months.people:,} people: with all of them classes are larger, and more "
            "releases may last."
        )
    return told


def _verdict(ways: Sequence[ForecastWay]) -> Sequence[str]:
    """The way that lasts longest, in months; of equal ones the first, which keeps most."""
    if not ways:
        return ["The time was over before any way was played: more --seconds give more."]
    best = max(ways, key=lambda way: min(way.fewest_releases * way.months_each, MONTHS))
    if not best.fewest_releases:
        return ["No way makes a first release."]
    least = "" if best.refused else "at least "
    told = [f"Lasts longest: {best.way}, {least}{lasting(best)}."]
    if all(way.refused for way in ways):
        told.append(f"No way that was played lasts {MONTHS} months.")
    return [*told, _REPLACED]


def lasting(way: ForecastWay) -> str:
    """How many releases a way lasts, in words."""
    few, many = way.fewest_releases, way.most_releases
    return f"{few:,} to {many:,} releases" if few < many else f"{few:,} release{'s' if few != 1 else ''}"
