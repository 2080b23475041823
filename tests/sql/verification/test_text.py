"""Compared queries: rows differ that both do not have equally often."""

from collections import Counter
from random import Random

import pytest

from tableveil.backend import Database, Session
from tableveil.verification.text import differing

VALUES = (None, float("nan"), 0.5)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def test_rows_differ_that_are_not_there_equally_often(session: Session) -> None:
    random = Random(31)
    session.execute("CREATE TEMPORARY TABLE ours (a VARCHAR, b DOUBLE)")
    # The other side may have any names, also those of the comparison.
    session.execute('CREATE TEMPORARY TABLE theirs ("more" VARCHAR, side DOUBLE)')
    for _ in range(20):
        counted = []
        for name in ("ours", "theirs"):
            rows = [(random.choice(("x", None)), random.choice(VALUES)) for _ in range(random.randrange(6))]
            session.execute(f"DELETE FROM {name}")
            for row in rows:
                session.execute(f"INSERT INTO {name} VALUES (?, ?)", row)
            counted.append(Counter((text, repr(number)) for text, number in rows))
        ours, theirs = counted
        expected = sum(ours[row] != theirs[row] for row in {*ours, *theirs})
        assert session.value(differing("FROM ours", "FROM theirs")) == expected
