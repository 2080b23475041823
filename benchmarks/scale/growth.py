"""Section: release jobs on ever more rows under one memory limit, per row and phase, against the work beside them."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.discharges import CACHE
from benchmarks.markdown import table, times
from benchmarks.problems import UnusableError
from benchmarks.scale.measured import BESIDE, GROUPED, JOB, SORTED, WRITTEN, Measured, Part, measure
from benchmarks.scale.visits import K, policy, visits
from benchmarks.section import Section, verdict

TITLE = "Rows without end: one machine, one memory limit"
SIZES = (1_000_000, 10_000_000)
"""For all benchmarks in one run; `make bench-scale` goes on to 100 million."""
MEMORY_LIMIT = "4GiB"
THREADS = 2

MOST_TIMES = 6.0
MOST_GROWTH = 1.5
MOST_EXPOSURE = 0.3
"""The share of the job without its search in which columns are judged that leave as they are."""
SEARCHING = "searching"
MOST_TIMES_WITHOUT_SEARCH = {1_000_000: 2.5, 10_000_000: 1.5, 100_000_000: 1.0}
"""By rows: how often the job without its search may take what the GROUP BY and the sorted write take."""


@dataclass(frozen=True, slots=True)
class _Size:
    """The runs at one number of rows, one after the other."""

    rows: int
    job: Measured
    beside: Measured

    def ratio(self, write: str) -> float:
        """CPU seconds of the whole job, as a multiple of those of the GROUP BY and one way to write the rows."""
        return _all(self.job).cpu / (self.beside.parts[GROUPED].cpu + self.beside.parts[write].cpu)

    @property
    def ratio_without_search(self) -> float:
        """CPU seconds of the job without its search, as a multiple of those of the GROUP BY and the sorted write."""
        beside = self.beside.parts
        return self.without_search / (self.per_row(beside[GROUPED]) + self.per_row(beside[SORTED]))

    def per_row(self, part: Part) -> float:
        """CPU microseconds."""
        return part.cpu / self.rows * 1e6

    @property
    def exposure(self) -> float:
        """The share of the job without its search in which columns are judged that leave as they are."""
        return self.job.exposure / (_all(self.job).cpu - self.job.parts[SEARCHING].cpu)

    @property
    def without_search(self) -> float:
        """CPU microseconds per row of all other phases."""
        return self.per_row(_all(self.job)) - self.per_row(self.job.parts[SEARCHING])


def growth(sizes: Sequence[int] = SIZES) -> Section:
    """Runs the jobs and the work beside them, each in a process of its own."""
    try:
        found = [_size(rows) for rows in sizes]
    except UnusableError as error:
        return Section(TITLE, (f"Failed: {error}",), sound=False)
    columns = [attribute.column for attribute in policy().quasi_identifiers]
    headers = [f"{size.rows:,} rows" for size in found]
    return Section(
        TITLE,
        (
            f"Generated visits, {len(columns)} quasi-identifiers ({', '.join(columns)}), a sensitive and an "
            f"insensitive column, k = {K}, at most 5 % suppressed; memory_limit {MEMORY_LIMIT}, {THREADS} threads. CPU "
            "microseconds per row of each phase, and of the work beside it, which runs before the job on a copy of the "
            "same table.",
            table(("part", *headers), _parts(found)),
            table(("", *headers), _wholes(found)),
            _goals(found),
            "The jobs found:",
            table(("", *headers), _facts(found)),
        ),
    )


def _size(rows: int) -> _Size:
    database = visits(rows)
    beside = _on_a_copy(BESIDE, database)
    return _Size(rows, _on_a_copy(JOB, database), beside)


def _on_a_copy(work: str, database: Path) -> Measured:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        return measure(work, shutil.copyfile(database, Path(folder, "copy.duckdb")), MEMORY_LIMIT, THREADS)


def _all(measured: Measured) -> Part:
    parts = measured.parts.values()
    return Part(sum(part.seconds for part in parts), sum(part.cpu for part in parts))


def _parts(found: Sequence[_Size]) -> Iterator[list[str]]:
    for name in found[0].job.parts:
        yield [name, *(f"{size.per_row(size.job.parts[name]):.2f}" for size in found)]
    yield ["the whole job", *(f"{size.per_row(_all(size.job)):.2f}" for size in found)]
    yield ["the job without its search", *(f"{size.without_search:.2f}" for size in found)]
    for name in found[0].beside.parts:
        yield [f"beside: {name}", *(f"{size.per_row(size.beside.parts[name]):.2f}" for size in found)]


def _wholes(found: Sequence[_Size]) -> Iterator[list[str]]:
    for write in (WRITTEN, SORTED):
        yield [f"job / ({GROUPED} + {write})", *(times(size.ratio(write)) for size in found)]
    without = f"the job without its search / ({GROUPED} + {SORTED})"
    yield [without, *(times(size.ratio_without_search) for size in found)]
    yield ["exposure, of the job without its search", *(f"{size.exposure:.2f}" for size in found)]
    yield ["the job's seconds", *(f"{_all(size.job).seconds:,.0f}" for size in found)]
    yield ["the job's peak memory", *(f"{size.job.peak_memory / 2**30:.2f} GiB" for size in found)]
    yield ["longest time without progress, s", *(f"{size.job.longest_still:.1f}" for size in found)]


def _goals(found: Sequence[_Size]) -> str:
    last, growths = found[-1], found[-1].without_search / found[0].without_search
    return (
        f"Goals: at {last.rows:,} rows at most {times(MOST_TIMES)} of the {GROUPED} and the write beside it: "
        f"{verdict(last.ratio(WRITTEN) <= MOST_TIMES)} ({verdict(last.ratio(SORTED) <= MOST_TIMES)} if sorted); "
        f"cost per row, search apart, within {times(MOST_GROWTH)} of that at {found[0].rows:,} rows: "
        f"{verdict(growths <= MOST_GROWTH)} ({times(growths)}).{''.join(_without_search(found))} "
        f"Exposure at most {MOST_EXPOSURE} of it: {verdict(max(size.exposure for size in found) <= MOST_EXPOSURE)}."
    )


def _without_search(found: Sequence[_Size]) -> Iterator[str]:
    for size in found:
        if size.rows in MOST_TIMES_WITHOUT_SEARCH:
            most, ratio = MOST_TIMES_WITHOUT_SEARCH[size.rows], size.ratio_without_search
            yield (
                f" Without its search, at {size.rows:,} rows at most {times(most)} of the {GROUPED} and the sorted "
                f"write: {verdict(ratio <= most)} ({times(ratio)})."
            )


def _facts(found: Sequence[_Size]) -> Iterator[list[str]]:
    for name in found[0].job.facts:
        yield [name, *(size.job.facts[name] for size in found)]
