"""How long releases of the same people last: months that follow are played by people of the months that are there.

Each played month is released by the pipeline itself, into a file of its own that is removed: what judges the real
months judges the played ones.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    EVERYTHING,
    Database,
    Session,
    Settings,
    alias,
    column,
    month_start,
    number,
    row_hash,
    seeing,
)
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InfeasibleError, InvalidError, TableveilError
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.definition import ListedHierarchy
from tableveil.pipelines.alternatives import column_left
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.read import hierarchies_of
from tableveil.pipelines.work import JobContext
from tableveil.policy import KAnonymity, LeftBehind, Policy, ReleaseTarget, Role, TableReference
from tableveil.risk.turnover import LEAST_MONTHS, History, PlayedMonth, Turnover, played
from tableveil.source import Source
from tableveil.state import jobs
from tableveil.state.migrate import migrate
from tableveil.state.proposals import ColumnLeft, ForecastWay
from tableveil.state.releases import RELEASES, Release

MONTHS = 12
"""So many months are played after the newest one: who releases for a year knows enough."""

FUTURES = 3
"""Each way is played so often, by other people: what differs between them is chance."""

MOST_SECONDS = 60.0
"""All ways together take so many CPU seconds at most, those of other jobs meanwhile included."""

MOST_PEOPLE = 20_000
"""If there are more people, about as many of them are drawn."""

_COARSER = (4, 16, 64)
"""The first release's levels of so many times the k are tried as the least levels of all."""

_QUARTER = 3
_TABLE = TableReference("", "main", "months")
_SEED = 49


@dataclass(frozen=True, slots=True)
class Months:
    """The rows of the months that are there: the released columns by name, their history, and who comes and leaves."""

    rows: pa.Table
    history: History
    turnover: Turnover
    people: int


@dataclass(frozen=True, slots=True)
class Way:
    """A way to release the months: its name, its policy with the document, and how many months a release covers."""

    name: str
    policy: Policy
    document: str = ""
    every: int = 1


@dataclass(frozen=True, slots=True)
class _Ending:
    """The end of one future: the releases that were made, whether the next was refused, and the last one's columns.

    Else the months were over before, or the time, so that it is not `whole`.
    """

    releases: int
    refused: bool
    columns: tuple[ColumnLeft, ...]
    whole: bool = True


Coarser = Callable[[Sequence[tuple[str, int]]], tuple[Policy, str]]
"""Makes the policy with least levels of some columns, and its document."""


def months_of(session: Session, source: Source, policy: Policy, period: str, turnover: Turnover | None) -> Months | int:
    """The months of a source by a column, or one month with a known turnover; how many there are if they are too few.

    Call it in a transaction, after the snapshot of a query.
    """
    person, record = policy.person_column or "", policy.record_column
    people: int = session.value(
        exp.select(exp.Count(this=exp.Distinct(expressions=[column(person)]))).from_(source.table())
    )
    released = [each.column for each in policy.attributes if each.role is not Role.IDENTIFYING]
    wanted: list[exp.Expr] = [alias(column(name), f"c{i}") for i, name in enumerate((person, *released))]
    wanted += [alias(column(record), "record")] if record else []
    wanted += [alias(month_of(source, period), "month")] if period else []
    query = exp.select(*wanted).from_(source.table()).where(column(person).is_(exp.null()).not_())
    if period:
        query = query.where(column(period).is_(exp.null()).not_())
    if people > MOST_PEOPLE:
        drawn = exp.Mod(this=row_hash(column(person)), expression=number(-(-people // MOST_PEOPLE)))
        query = query.where(exp.EQ(this=drawn, expression=number(0)))
    rows = session.batches(query, 100_000).read_all().combine_chunks()
    history = History(
        months=_in_order(rows["month"]) if period else np.zeros(len(rows), np.int64),
        people=_codes(rows["c0"]),
        codes=np.stack([_in_order(rows[f"c{i}"]) for i, _ in enumerate(released, 1)], axis=1),
        records=_codes(rows["record"]) if record else None,
    )
    if turnover is None and history.number < LEAST_MONTHS:
        return history.number
    values = pa.table([rows[f"c{i}"] for i, _ in enumerate(released, 1)], names=released)
    return Months(values, history, turnover or Turnover.learned(history), people)


def month_of(source: Source, period: str) -> exp.Expr:
    """The month of a row: that of a date, or the value of any other column."""
    if source.column(period).kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        return month_start(column(period))
    return column(period)


def _codes(values: pa.ChunkedArray) -> NDArray[np.int64]:
    encoded = pc.dictionary_encode(values, null_encoding="encode").combine_chunks()
    return np.asarray((encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded).indices, dtype=np.int64)


def _in_order(values: pa.ChunkedArray) -> NDArray[np.int64]:
    """The rank of each value among the different ones, or any number where they have no order."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    different = pc.unique(values)
    try:
        ordered = different.take(pc.sort_indices(different))
    except pa.ArrowNotImplementedError:
        return _codes(values)
    return np.asarray(pc.index_in(values, ordered).combine_chunks(), dtype=np.int64)


def forecast(
    job: JobContext, months: Months, policy: Policy, k: int, coarser: Coarser, seconds: float
) -> tuple[ForecastWay, ...]:
    """The end of each way of releasing the months, if there was time to play it.

    Raises:
        CancelledError: the job was cancelled.
        InvalidError: the first month makes no release.
    """
    control = job.control.on(time.process_time).within(min(seconds, MOST_SECONDS))
    with _files(job) as opened:
        player = _Player(job, control, months, opened)
        alone = _playable(job.session, policy)
        ways = [Way("every month", alone), Way("every third month", alone, every=_QUARTER)]
        ways.append(Way("every month, REPORT", _reporting(alone)))
        ways += player.coarser(alone, k, coarser)
        found = player.all(ways)
        lasting = [one for one in found if one[0].document]
        if lasting and (best := max(lasting, key=lambda one: one[1][0].releases))[1][0].refused:
            found += player.all(
                [replace(best[0], name=f"every third month{best[0].name.removeprefix('every month')}", every=_QUARTER)]
            )
    return tuple(_summed(way, endings) for way, endings in found)


def _summed(way: Way, endings: Sequence[_Ending]) -> ForecastWay:
    # A future that the time ended says nothing beside whole ones.
    endings = [ending for ending in endings if ending.whole] or endings
    counted = [ending.releases for ending in endings]
    least = min(endings, key=lambda ending: ending.releases)
    return ForecastWay(
        way=way.name,
        fewest_releases=min(counted),
        most_releases=max(counted),
        months_each=way.every,
        futures=len(endings),
        refused=all(ending.refused for ending in endings),
        columns=least.columns,
        policy=way.document,
    )


def _reporting(policy: Policy) -> Policy:
    return replace(policy, release=replace(policy.release, left_behind=LeftBehind.REPORT))


def _playable(session: Session, policy: Policy) -> Policy:
    """The policy of the played table: nothing outside of it is read or written."""
    found = hierarchies_of(session, policy).found
    needed = {policy.person_column, policy.record_column}
    attributes = tuple(
        replace(one, hierarchy=levels[0])
        if isinstance(one.hierarchy, ListedHierarchy) and (levels := found.get(one.column)) is not None
        else one
        for one in policy.attributes
        if one.role is not Role.IDENTIFYING or one.column in needed
    )
    target = policy.release
    return replace(
        policy,
        source=_TABLE,
        source_query="",
        attributes=attributes,
        default_role=Role.IDENTIFYING,
        release=ReleaseTarget(
            "main", "month", left_behind=target.left_behind, label_columns=False, guards=target.guards
        ),
        repeat_reason="",
        other_people=(),
    )


@contextmanager
def _files(job: JobContext) -> Iterator[Callable[[], AbstractContextManager[Database]]]:
    """Gives empty databases, one after another, where spilled rows are swept."""
    folder = job.database.spill_directory / f"forecast-{job.number}"
    folder.mkdir(mode=0o700)
    template = folder / "template.duckdb"

    def settings(path: Path) -> Settings:
        return Settings(path, memory_limit=_MEMORY, threads=1)

    @contextmanager
    def opened() -> Iterator[Database]:
        path = folder / "months.duckdb"
        shutil.copyfile(template, path)
        database = Database(settings(path))
        try:
            yield database
        finally:
            database.close()
            path.unlink(missing_ok=True)

    try:
        database = Database(settings(template))
        with database.ledger() as ledger:
            migrate(ledger)
        database.close()
        # Nobody else has anything there.
        with seeing(lambda: EVERYTHING):
            yield opened
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_MEMORY = "512MB"


@dataclass(frozen=True, slots=True)
class _Player:
    """Plays ways; all of them have the same futures."""

    job: JobContext
    control: Control
    months: Months
    opened: Callable[[], AbstractContextManager[Database]]

    def coarser(self, policy: Policy, k: int, coarser: Coarser) -> Iterator[Way]:
        """Ways with the levels that a greater k needs from the first release on, each other ones."""
        taken: set[tuple[tuple[str, int], ...]] = set()
        for times in _COARSER:
            models = tuple(
                KAnonymity(k * times) if isinstance(one, KAnonymity) else one for one in policy.privacy_models
            )
            # Only the levels are wanted, of which a column would give away too much among so many times the k.
            attributes = tuple(
                one if one.role is Role.QUASI_IDENTIFIER else replace(one, acknowledged=True)
                for one in policy.attributes
            )
            levels = self._levels(replace(policy, privacy_models=models, attributes=attributes))
            if levels and levels not in taken:
                taken.add(levels)
                made, document = coarser(levels)
                yield Way(f"every month, levels as for k = {k * times}", _playable(self.job.session, made), document)

    def _levels(self, policy: Policy) -> tuple[tuple[str, int], ...]:
        """The levels of the first month's release, by column; none if it makes none."""
        try:
            with self.opened() as database:
                release = self._released(database, next(self._tables(policy, 0, 1)), policy, 0)
        except (InfeasibleError, Stopped, CancelledError):
            self.job.control.raise_if_cancelled()
            return ()
        return tuple((one.column, one.level) for one in release.attributes)

    def all(self, ways: Sequence[Way]) -> list[tuple[Way, list[_Ending]]]:
        """Every way in one future after the other, until the time is over."""
        endings: list[list[_Ending]] = [[] for _ in ways]
        for future in range(FUTURES):
            for way, found in zip(ways, endings, strict=True):
                if not self.control.must_stop:
                    found.append(self._ending(way, future))
        return [(way, found) for way, found in zip(ways, endings, strict=True) if found]

    def _ending(self, way: Way, future: int) -> _Ending:
        """Releases a future's months until one is refused.

        Raises:
            InvalidError: the first is, for another reason than what it would lose.
        """
        made, columns = 0, tuple[ColumnLeft, ...]()
        with self.opened() as database:
            for table in self._tables(way.policy, future, way.every):
                try:
                    release = self._released(database, table, way.policy, made)
                except (Stopped, CancelledError):
                    self.job.control.raise_if_cancelled()
                    return _Ending(made, False, columns, whole=False)
                except TableveilError as error:
                    if not made and isinstance(error, InvalidError):
                        raise
                    return _Ending(made, True, columns)
                columns = tuple(
                    column_left(one, release.records - release.suppressed_records) for one in release.attributes
                )
                made += 1
        return _Ending(made, False, columns)

    def _tables(self, policy: Policy, future: int, every: int) -> Iterator[pa.Table]:
        """The rows of each release: of one month, or of all its months where records tell a person's rows apart."""
        months = islice(
            played(self.months.history, self.months.turnover, np.random.default_rng([_SEED, future])), MONTHS + 1
        )
        covered: list[PlayedMonth] = []
        for position, month in enumerate(months):
            covered.append(month)
            if position % every == 0:
                of = covered if policy.record_column else covered[-1:]
                yield pa.concat_tables([self._table(policy, one) for one in of])
                covered = []

    def _table(self, policy: Policy, month: PlayedMonth) -> pa.Table:
        rows = self.months.rows
        columns = {name: rows[name].take(pa.array(month.taken_from[:, j])) for j, name in enumerate(rows.column_names)}
        if policy.record_column:
            columns[policy.record_column] = pa.array(month.records)
        return pa.table({policy.person_column or "": pa.array(month.people)} | columns)

    def _released(self, database: Database, table: pa.Table, policy: Policy, position: int) -> Release:
        """The release of a month of the played table."""
        own = replace(policy, release=replace(policy.release, name=f"month_{position}"))
        with database.session() as session:
            session.control, session.memory = self.control, self.job.session.memory
            with session.relation("played", table):
                session.execute(f"CREATE OR REPLACE TABLE {_TABLE.schema}.{_TABLE.table} AS FROM played")
            number_, target = jobs.next_number(session.ledger), own.release
            request = jobs.Request(number_, "", "{}", "", own.source, target.schema, target.name, jobs.now())
            jobs.insert_request(session.ledger, request)
            job = JobContext(number_, "{}", database, session, self.control, policy_of=lambda _: policy)
            made = anonymize(job, own)
            return RELEASES.found(session.ledger, [made])[made]
