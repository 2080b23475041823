"""Two releases joined by the columns that both show alike, against all pairs of their rows."""

from collections.abc import Sequence
from random import Random

import pytest

from tableveil.backend import Database, Session
from tableveil.lifecycle import joined as module
from tableveil.lifecycle.joined import Joined, joined, renamed
from tests.inserted import insert
from tests.once import once

K = 3
Rows = Sequence[tuple[int, ...]]
"""Classes, and values of two columns."""


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def stage(session: Session, earlier: Rows, new: Rows) -> None:
    for name, of in (("earlier_rows", earlier), ("new_rows", new)):
        session.execute(f"CREATE OR REPLACE TEMP TABLE {name} (class UBIGINT, u0 UBIGINT, u1 UBIGINT)")
        insert(session, name, of)


def brute_force(earlier: Rows, new: Rows, by: Sequence[int]) -> tuple[int, int, int]:
    """Rows of a certain class in the earlier release, the least size of their joint classes, and those below K."""

    def classes(row: tuple[int, ...]) -> set[int]:
        return {other[0] for other in earlier if all(other[i + 1] == row[i + 1] for i in by)}

    sizes = []
    for row in new:
        if len(there := classes(row)) == 1:
            (a,) = there
            sizes.append(sum(other[0] == row[0] and a in classes(other) for other in new))
    return len(sizes), min(sizes, default=0), sum(size < K for size in sizes)


@pytest.mark.parametrize("seed", once(range(4)))
def test_the_figures_are_those_of_all_pairs(session: Session, seed: int) -> None:
    draw = Random(seed)
    for _ in range(15):
        earlier, new = ([tuple(map(draw.randrange, (3, 6, 3))) for _ in range(draw.randint(1, 14))] for _ in range(2))
        stage(session, earlier, new)
        for by in ((0, 1), (0,), (1,)):
            number, smallest, below = session.row(module._figures("earlier_rows", "new_rows", by, K))
            expected = brute_force(earlier, new, by)
            assert (number, below) == (expected[0], expected[2])
            # A joint class that is large enough is not looked at any closer.
            assert min(smallest, K) == min(expected[1], K)


def test_the_worst_columns_are_told(session: Session) -> None:
    """All have another value in the second column now: the first one joins the rows by itself."""
    earlier, new = [(i // 3, i, i % 3) for i in range(30)], [(i // 5, i, 3 + i % 3) for i in range(30)]
    stage(session, earlier, new)
    assert joined(session, "earlier_rows", "new_rows", ("id", "state"), K) == Joined(("id",), 30, 1, 12)
    stage(session, [(i % 3, 0, 0) for i in range(30)], new)
    assert joined(session, "earlier_rows", "new_rows", ("id", "state"), K) is None


def test_columns_are_known_again_by_their_values(session: Session) -> None:
    """A column of other values, one of few values, and one that has the values less often, are not."""

    def same(earlier: Rows, new: Rows) -> dict[int, int]:
        stage(session, earlier, new)
        return renamed(session, "earlier_rows", (0, 1), "new_rows", (0, 1))

    earlier = [(0, i % 30, i % 3) for i in range(300)]
    assert same(earlier, [(0, i % 3, i % 30) for i in range(300)]) == {1: 0}
    # The table grew, and some values were changed; or it lost rows.
    assert same(earlier, [(0, 7, i % 30 if i % 10 else 99) for i in range(330)]) == {1: 0}
    assert same(earlier, [(0, 7, i % 30) for i in range(60)]) == {1: 0}
    assert same(earlier, [(0, 1_000 + i % 30, i % 3) for i in range(300)]) == {}
    assert same(earlier, [(0, 5, i % 15) for i in range(300)]) == {}
    # The first of two that are equal.
    assert same([(0, i, i) for i in range(300)], [(0, i, 5) for i in range(300)]) == {0: 0}
    session.execute("UPDATE earlier_rows SET u0 = NULL; UPDATE new_rows SET u0 = NULL")
    assert renamed(session, "earlier_rows", (0,), "new_rows", (0,)) == {}
    assert renamed(session, "earlier_rows", (), "new_rows", (0,)) == {}
