"""The combinations that record-level generalization chooses for, against counting the rows in Python."""

from collections import Counter

import pytest

from tableveil.backend import Session
from tableveil.counting import missing_people, read_combinations
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import NullHandling
from tests.sql.tables import Table, Value, base_of

SEXES = InlineLevels((("f", "*"), ("m", "*")))
ROWS: tuple[tuple[Value, ...], ...] = (("f", 30), ("f", 30), ("m", 31), ("m", None), (None, 30))
EVERYONE: tuple[tuple[Value, ...], ...] = (("f", 30), ("f", 30), ("f", 30), ("f", 32), ("m", None), (None, 31))


@pytest.mark.parametrize("population", [None, EVERYONE])
def test_combinations_count_records_and_people(
    session: Session, population: tuple[tuple[Value, ...], ...] | None
) -> None:
    table = Table(
        ("VARCHAR", "INTEGER"),
        (SEXES, SuppressionOnly()),
        (NullHandling.SUPPRESS, NullHandling.VALUE),
        ROWS,
        population=population,
    )
    base = base_of(session, table)
    found = read_combinations(session, base)
    ages = sorted({row[1] for row in (*ROWS, *(population or ())) if isinstance(row[1], int)})
    values: tuple[list[Value], ...] = (["f", "m"], [*ages, None])

    def counted(rows: tuple[tuple[Value, ...], ...]) -> Counter[tuple[int, ...]]:
        codes = [[values[j].index(value) for j, value in enumerate(row)] for row in rows if table.counts(row)]
        return Counter(map(tuple, codes))

    combinations = list(zip(*(codes.tolist() for codes in found.codes), strict=True))
    assert combinations == sorted(set(combinations))
    own, people = counted(ROWS), counted(population or ROWS)
    assert dict(zip(combinations, found.records.tolist(), strict=True)) == {key: own[key] for key in own | people}
    assert dict(zip(combinations, found.people.tolist(), strict=True)) == {key: people[key] for key in own | people}
    if population is not None:
        # One man of 31; who has no sex is withheld, and those of 30 are enough.
        missing = own - people
        assert missing_people(session, base) == (len(missing), missing.total()) == (1, 1)
