"""The rows that own values leave, by coded rows and by grouped SQL, are those of the definition, on random tables."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.verification import left, unchanged
from tableveil.verification.coded import Codes, HeldRows, held_rows, read_rows
from tableveil.verification.left import ClassPeople, LeftLimits, least_of_one
from tests.campaign.attacker.fitting import fitting

COLUMNS, K = 3, 6
"""The columns of each table; the least number of rows counts where it is below K."""


@dataclass(frozen=True)
class Record:
    """A record of the source: `times` alike ones; its person, class, own value and values of the columns."""

    person: int
    class_: int
    own: int
    values: tuple[int, ...]
    times: int

    @property
    def label(self) -> int:
        return self.own % 3


def drawn(chance: Random, kind: int) -> list[Record]:
    """Columns tell of own values, or are chance.

    In the first kind, some rare own values always have one value, among many with any; in the second, most records have
    one of two own values and columns, but for two mistakes. Records may be several alike ones.
    """
    owns = chance.choices(range(chance.choice((6, 30))), k=chance.choice((20, 150)))
    tells, widths = [chance.random() < 0.4 for _ in range(COLUMNS)], chance.choices((2, 4, 9), k=COLUMNS)
    parts, most = 2, 1
    if kind == 0:
        owns = [*chance.choices(range(100, 160), k=500), *(own for own in range(1000, 1008) for _ in range(3))]
        tells, widths, parts = [False] * COLUMNS, [9] * COLUMNS, 12
    elif kind == 1:
        owns, tells, parts = [0] * 400 + [3] * 300, [True] * COLUMNS, 80
    elif kind == 2:
        most = 3
    records = []
    for number, own in enumerate(owns):
        values = [own // 3 if tell else chance.randrange(width) for tell, width in zip(tells, widths, strict=True)]
        if own >= 1000:
            values[0] = 9
        if kind == 1 and number in (0, len(owns) - 1):
            values = [1 - own // 3] * COLUMNS
        elif kind == 3 and chance.random() < 0.1:
            values[1] = chance.randrange(9)
        class_ = -1 if chance.random() < 0.05 else own % 3 + 3 * chance.randrange(parts)
        records.append(
            Record(chance.randrange(1 + len(owns) // 8), class_, own, tuple(values), chance.randint(1, most))
        )
    return records


def apart(records: list[Record], i: int) -> set[int]:
    """The own values that are far from chance, by their binary orders: by the number of events, and what chance makes.

    All of an order, or those of a single value.
    """
    of_own: Counter[int] = Counter()
    under: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for record in records:
        of_own[record.own] += record.times
        under[record.label][record.values[i]] += record.times
    events: defaultdict[int, list[float]] = defaultdict(lambda: [0.0] * 6)
    single = set()
    for own, number in of_own.items():
        totals, size = under[own % 3].values(), under[own % 3].total()
        seen = len({record.values[i] for record in records if record.own == own})
        mean = sum(1 - math.comb(size - total, number) / math.comb(size, number) for total in totals)
        alike = sum(math.comb(total, number) / math.comb(size, number) for total in totals)
        single |= {own} if seen == 1 else set()
        several = (seen == 1, alike) if number > 1 else (0, 0.0)
        numbers = (number - seen, number - mean, len(totals) - seen, len(totals) - mean, *several)
        order = number.bit_length() - 1
        events[order] = [a + b for a, b in zip(events[order], numbers, strict=True)]

    def far(number: float, mean: float, times: float = 1.65) -> bool:
        mean = max(mean, 1e-3)
        return number > times * mean and number * math.log(number / mean) - number + mean > 16.5

    orders = {order for order, (a, b, c, d, *_) in events.items() if far(a, b) or far(c, d)}
    of_single = {order for order, (*_, a, b) in events.items() if far(a, b, 2.2)}
    of_own = Counter({own: number.bit_length() - 1 for own, number in of_own.items()})
    return {own for own, order in of_own.items() if order in orders or (own in single and order in of_single)}


def by_definition(records: list[Record], held: Mapping[tuple[int, ...], int], parts: int, *, people: bool) -> int:
    """The least number of rows, or of people, that an own value leaves of a class, up to K."""
    each = [record for record in records for _ in range(record.times)]
    fits = []
    for i in range(COLUMNS):
        fit = fitting([r.label for r in each], [r.own for r in each], [r.values[i] for r in each])
        pairs = {(r.own, r.values[i]) for r in each}
        far = set() if people else apart(records, i)
        fits.append({p for p in fit if p in pairs or p[0] not in far})
    least, owns = K, {(record.class_, record.own) for record in records}
    for class_, own in owns:
        different = sum(other == class_ for other, _ in owns)
        if different < 2 or own % parts or not any(key[0] == class_ for key in held):
            continue
        if people:
            rows = [(r.person, r.values) for r in records if r.class_ == class_]
            left_over = len({w for w, vs in rows if all((own, v) in fits[i] for i, v in enumerate(vs))})
        else:
            rows_of = [(key[1:], n) for key, n in held.items() if key[0] == class_]
            left_over = sum(n for vs, n in rows_of if all((own, v) in fits[i] for i, v in enumerate(vs)))
        least = min(least, left_over)
    return least


def staged(session: Session, records: list[Record], held: Mapping[tuple[int, ...], int], *, people: bool) -> None:
    """The tables that `check_unchanged` makes."""
    values = [f"v{i}" for i in range(COLUMNS)]
    rows = [(r.class_, r.times, r.own, r.label, *r.values) for r in records]
    temporary(session, "unchanged", ["class", "n", "o0", "l0", *values], rows)
    temporary(session, "held", ["class", *values, "n"], [(*key, n) for key, n in held.items()])
    temporary(session, "held_by", ["class", "w", *values], [(r.class_, r.person, *r.values) for r in records])
    most = Counter((r.class_, r.person) for r in records)
    sizes = Counter(r.class_ for r in records) if people else Counter()
    owned = [
        (class_, size, sum(c == class_ for c, _ in most), max(n for (c, _), n in most.items() if c == class_))
        for class_, size in sizes.items()
    ]
    temporary(session, "owned", ["class", "size", "people", "most"], owned)


def temporary(session: Session, name: str, columns: list[str], rows: Sequence[tuple[int, ...]]) -> None:
    signed = {"class", "n", "size", "people", "most"}
    types = [pa.int64() if column in signed else pa.uint64() for column in columns]
    arrays = [pa.array([row[c] for row in rows], type_) for c, type_ in enumerate(types)]
    with session.relation("given", pa.table(arrays, names=columns)):
        session.execute(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS FROM given")


def least_by_codes(session: Session, at_once: int, *, people: bool) -> int | None:
    records, held = read_rows(session, 1, COLUMNS, numbers=False)
    known = session.arrays("SELECT * FROM owned ORDER BY class")
    at = np.searchsorted(known["class"], held.numbers)
    owned = ClassPeople(*(known[name][at] for name in ("size", "people", "most"))) if people else None

    def held_by(classes: Codes) -> tuple[HeldRows, Codes]:
        rows = session.arrays("SELECT DISTINCT *, 1::BIGINT AS n FROM held_by ORDER BY class")
        rows = {name: array[np.isin(rows["class"], classes)] for name, array in rows.items()}
        return held_rows(rows, records.values), rows["w"].astype(np.int64)

    return least_of_one(records, held, 0, LeftLimits(K, most=10**6, at_once=at_once), owned, held_by)


@pytest.mark.parametrize(
    ("people", "seeds"),
    [(True, range(4)), *(pytest.param(people, range(16), marks=pytest.mark.long) for people in (True, False))],
)
def test_random_tables(shared_database: Database, monkeypatch: pytest.MonkeyPatch, people: bool, seeds: range) -> None:
    below = 0
    with shared_database.session() as session:
        for seed in seeds:
            chance = Random(seed)
            records = drawn(chance, seed % 4)
            if people:
                records = [replace(record, times=1) for record in records]
            held: Counter[tuple[int, ...]] = Counter()
            for record in records:
                if record.class_ >= 0 or seed % 2:
                    held[record.class_, *record.values] += record.times
            if not people and seed % 3 == 0:
                # The release is not that of the source.
                first, *_, last = held
                number = held.pop(first)
                held[(*first[:-1], last[-1])] += number
            staged(session, records, held, people=people)
            for at_once in (10**6, 500):
                monkeypatch.setattr(unchanged, "AT_ONCE", at_once)
                # By the definition, no more own values are compared at once than these, in as many parts.
                compared = _compared(records, {key[0] for key in held})
                expected = by_definition(records, held, 1 + compared // at_once, people=people)
                below += expected < K
                for grid in (0, 1 << 20):
                    monkeypatch.setattr(left, "GRID", grid)
                    least = least_by_codes(session, at_once, people=people)
                    assert (K if least is None else least) == expected, seed
                asked = unchanged._Asked(COLUMNS, K, lambda: None)
                grouped = unchanged._least(session, 0, asked, "owned", minorities=not people)
                assert min(K, K if grouped is None else grouped) == expected, seed
        for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE temporary"):
            session.execute(f'DROP TABLE temp."{name}"')
    assert 0 < below < 2 * len(seeds)


@pytest.mark.parametrize("people", [True, False])
def test_classes_are_not_compared_where_all_fits(
    shared_database: Database, monkeypatch: pytest.MonkeyPatch, people: bool
) -> None:
    """But those of fewer than k rows, or people, are."""
    chance = Random(1)
    records = [
        Record(n, n % 12, n % 6, tuple(chance.randrange(2) for _ in range(COLUMNS)), times=1) for n in range(1200)
    ]
    few = [Record(n if people else 0, 12, 3 * n % 6, (0,) * COLUMNS, times=1) for n in range(K - 1)]
    if people:
        few += [replace(record) for record in few]
    asked = unchanged._Asked(COLUMNS, K, lambda: None)
    with shared_database.session() as session:
        for rows, least in ((records, None), ([*records, *few], K - 1)):
            held = Counter((record.class_, *record.values) for record in rows)
            staged(session, rows, held, people=people)
            with monkeypatch.context() as patched:
                if least is None:
                    patched.setattr(unchanged, "_least_left", lambda *_: pytest.fail("classes are compared"))
                assert unchanged._least(session, 0, asked, "owned", minorities=not people) == least
            assert by_definition(rows, held, 1, people=people) == (K if least is None else least)


def _compared(records: list[Record], classes: set[int]) -> int:
    sizes: Counter[int] = Counter()
    owns: defaultdict[int, set[int]] = defaultdict(set)
    for record in records:
        if record.class_ in classes:
            sizes[record.class_] += record.times
            owns[record.class_].add(record.own)
    return sum(sizes[class_] * len(own) for class_, own in owns.items() if len(own) > 1)
