"""The figures of people with several records, against plain Python over the rows."""

from collections import Counter, defaultdict
from fractions import Fraction
from math import comb
from random import Random

import numpy as np
import pytest

from tableveil.classes import ClassValues, EquivalenceClasses, KeyLayout, SensitiveColumn
from tableveil.privacy import repeating as module
from tableveil.privacy.repeating import most_exposed, repeating

Row = tuple[int, int, int]
"""Class, person and value; the last value is NULL, and 0 and 1 are spellings of one value."""

NULL = 4


class _Details:
    """The people of the classes, in place of a counter's."""

    nbytes = 0

    def __init__(self, values: ClassValues) -> None:
        self._values = values

    def values(self, attribute: int) -> ClassValues:
        return self._values


def entries(rows: list[Row], of: int) -> ClassValues:
    found = sorted(Counter((row[0], row[of]) for row in rows).items())
    classes, values, counts = ([key[0] for key, _ in found], [key[1] for key, _ in found], [n for _, n in found])
    return ClassValues(np.array(classes, np.intp), np.array(values, np.intp), np.array(counts, np.int64))


def classes(rows: list[Row]) -> EquivalenceClasses:
    counts = np.array([n for _, n in sorted(Counter(row[0] for row in rows).items())], np.int64)
    details = _Details(entries(rows, 1))
    return EquivalenceClasses(KeyLayout.of([1]), (np.arange(len(counts)),), counts, (0,), details)  # type: ignore[arg-type]


COLUMN = SensitiveColumn("illness", np.ones(5, np.int64), NULL, spellings=np.array([0, 0, 2, 3, 4]))


def drawn(seed: int) -> list[Row]:
    random = Random(seed)
    rows = [
        (c, random.randrange(7), random.choice([0, 1, 2, 2, 3, NULL]))
        for c in range(random.randint(1, 4))
        for _ in range(random.randint(1, 9))
    ]
    return rows


def chance(size: int, having: int, records: int) -> Fraction:
    return 1 - Fraction(comb(size - having, records), comb(size, records))


@pytest.mark.parametrize("at_once", [1, 2_000_000])
def test_most_exposed_person_and_value(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    monkeypatch.setattr(module, "MOST_STEPS", 1000)
    for seed in range(150):
        rows = drawn(seed)
        found = most_exposed(classes(rows), 0, entries(rows, 2), COLUMN)
        sizes = Counter(row[0] for row in rows)
        of_person = Counter((row[0], row[1]) for row in rows)
        having = Counter((row[0], 0 if row[2] == 1 else row[2]) for row in rows if row[2] != NULL)
        if found is None:
            assert not having
            continue
        alone = Fraction(0)
        left: dict[tuple[int, int], Fraction] = defaultdict(lambda: Fraction(1))
        for (c, person), records in of_person.items():
            for (other, value), n in having.items():
                if other == c:
                    one = chance(sizes[c], n, records)
                    alone = max(alone, one)
                    left[person, value] *= 1 - one
        assert found.chance == pytest.approx(float(alone))
        assert chance(found.size, found.having, found.records) == alone
        assert found.in_all == pytest.approx(float(max(1 - absent for absent in left.values())))


def test_a_bound_takes_the_place_of_too_many_people(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = [most_exposed(classes(drawn(seed)), 0, entries(drawn(seed), 2), COLUMN) for seed in range(50)]
    monkeypatch.setattr(module, "AT_ONCE", 1)
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    for seed, one in enumerate(exact):
        bounded = most_exposed(classes(drawn(seed)), 0, entries(drawn(seed), 2), COLUMN)
        if one is not None and bounded is not None:
            assert bounded.chance == one.chance
            assert bounded.in_all >= one.in_all - 1e-12


def test_the_issues_examples() -> None:
    # One person has 6 of 10 records, the value is on 5 rows, all theirs.
    rows = [(0, 0 if i < 6 else i, 2 if i < 5 else 3 + i % 2) for i in range(10)]
    found = most_exposed(classes(rows), 0, entries(rows, 2), COLUMN)
    assert found is not None
    assert found.chance == 1
    # Any 6 of 10 records miss 5 rows with no chance: whose they are plays no part.
    assert (found.records, found.size) == (6, 10)


def test_figures_of_suppression_and_shares() -> None:
    for seed in range(100):
        rows = drawn(seed)
        released = [row for row in rows if row[0] != 0] or rows
        renumbered = [(sorted({r[0] for r in released}).index(row[0]), *row[1:]) for row in released]
        totals = Counter(row[1] for row in rows)
        numbered = {person: i for i, person in enumerate(sorted(totals))}
        people = [(row[0], numbered[row[1]], row[2]) for row in renumbered]
        column = SensitiveColumn("", np.array([totals[p] for p in sorted(totals)]), protected=False, people=True)
        share = Fraction(1, 3)
        found = repeating(classes(people), 0, column, share)
        kept, sizes = Counter(row[1] for row in released), Counter(row[0] for row in renumbered)
        shares = {(row[0], row[1]): n for row, n in Counter((r[0], r[1]) for r in renumbered).items()}
        assert found.people == len(totals)
        assert found.lost_all == sum(person not in kept for person in totals)
        assert found.lost_some == sum(0 < kept[person] < n for person, n in totals.items())
        assert found.largest_share == max(n / sizes[c] for (c, _), n in shares.items())
        assert found.above == len({person for (c, person), n in shares.items() if Fraction(n, sizes[c]) > share})
