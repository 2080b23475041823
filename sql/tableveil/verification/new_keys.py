"""Recounts whether rows of earlier people recur under keys that no earlier release knows, where nobody may be left.

It looks at what is beyond doubt: rows that agree in all columns, or in those that stay the same, far oftener than rows
do within either table. The numbers of the new table are those of its sketch, and the earlier ones are the ledger's.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from tableveil.backend import Session
from tableveil.policy import LeftBehind, Policy
from tableveil.verification.written import Written

_KNOWN, _STABLE = 20, 0.8
_FEWEST = 5
_ODDS = 4
_BITS = 40
_LEVEL = 56

Row = tuple[int, ...]
"""The short hashes of a person's values in the columns of both tables; 0 for one that differs among the records."""


def check_new_keys(session: Session, policy: Policy, written: Written) -> list[str]:
    """Whether people seem to have new keys."""
    person, sketch = policy.person_column, written.sketch
    if policy.release.left_behind is not LeftBehind.REQUIRE or person is None or sketch is None:
        return []
    samples = [sample for sample in sketch.samples if sample.column == person and sample.cells is not None]
    if not samples or samples[0].cells is None:
        return []
    columns = [sample.column.casefold() for sample in sketch.samples]
    mine = dict(zip(samples[0].values.tolist(), samples[0].cells.tolist(), strict=True))
    problems = []
    for release in written.together_with:
        names, scale, theirs = _kept(session, release, person)
        both = [name for name in columns[: len(next(iter(mine.values()), ()))] if name in names]
        before = {value: tuple(cells[names.index(name)] for name in both) for value, cells in theirs.items()}
        now = {value: tuple(cells[columns.index(name)] for name in both) for value, cells in mine.items()}
        least = max(scale, samples[0].scale)
        if _recur(*({v: row for v, row in rows.items() if v >> _LEVEL >= least} for rows in (before, now))):
            problems.append(f"rows of people of releases/{release} recur under keys that it does not know")
    return problems


def _kept(session: Session, release: int, person: str) -> tuple[list[str], int, dict[int, Row]]:
    """The columns of a release's kept rows, their scale, and the row of each sampled person."""
    samples = session.rows(
        "SELECT lower(column_name), scale FROM tableveil.release_samples WHERE release = ? ORDER BY position", [release]
    )
    rows = session.rows(
        "SELECT value, cells, position FROM tableveil.release_sample_values JOIN tableveil.release_samples "
        "USING (release, position) WHERE release = ? AND lower(column_name) = lower(?) AND cells IS NOT NULL",
        [release, person],
    )
    kept = {value: tuple(memoryview(bytes(cells)).cast("H")) for value, cells, _ in rows}
    width = len(next(iter(kept.values()), ()))
    scale = samples[rows[0][2]][1] if rows else 0
    return [name for name, _ in samples[:width]], scale, kept


def _recur(before: Mapping[int, Row], now: Mapping[int, Row]) -> bool:
    """Whether rows of new values are those of values that are gone, beyond doubt."""
    known = before.keys() & now.keys()
    chosen = [
        i
        for i in range(len(next(iter(before.values()), ())))
        if all(2 * sum(row[i] > 0 for row in rows.values()) > len(rows) for rows in (before, now))
        and (
            len(known) < _KNOWN
            or sum(before[v][i] == now[v][i] or 0 in (before[v][i], now[v][i]) for v in known) >= _STABLE * len(known)
        )
    ]
    gone, new, every_before, every_now = (
        Counter(row for v in values if 0 not in (row := tuple(rows[v][i] for i in chosen)))
        for values, rows in (
            (before.keys() - known, before),
            (now.keys() - known, now),
            (before.keys(), before),
            (now.keys(), now),
        )
    )
    smaller, larger = sorted((gone.total(), new.total()))
    found = (gone & new).total()
    if not chosen or found < _FEWEST:
        return False
    by_chance = max(
        *(_with_a_twin(rows, larger) for rows in (gone, new, every_before, every_now)),
        *_among(gone, every_now - new),
        *_among(new, every_before - gone),
        larger * math.prod(_alike(gone, new, i) for i in range(len(chosen))),
    )
    share = found / smaller
    if by_chance >= 1 or share * (1 - by_chance) < _ODDS * by_chance * (1 - share):
        return False
    # The relative entropy of both, by Chernoff's bound.
    bits = share * math.log2(share / by_chance)
    bits += (1 - share) * math.log2((1 - share) / (1 - by_chance)) if share < 1 else 0.0
    return smaller * bits >= _BITS


def _with_a_twin(rows: Counter[Row], others: int) -> float:
    """The share of rows that another one equals, or so many more others as there are; none may be a few unseen."""
    number = rows.total()
    if number < 2:
        return 0.0
    share = sum(times for times in rows.values() if times > 1) / number
    return share * max(1.0, others / (number - 1)) + 6 * others / (number * (number - 1))


def _among(rows: Counter[Row], others: Counter[Row]) -> Iterator[float]:
    yield sum(times for row, times in rows.items() if row in others) / max(1, rows.total())


def _alike(gone: Counter[Row], new: Counter[Row], i: int) -> float:
    """How probable it is that two rows have the same value in a column."""
    one, other = Counter[int](), Counter[int]()
    for rows, values in ((gone, one), (new, other)):
        for row, times in rows.items():
            values[row[i]] += times
    return sum(one[value] * times for value, times in other.items()) / (one.total() * other.total())
