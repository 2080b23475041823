"""How strongly columns go together, before and after."""

from collections.abc import Callable

import numpy as np
import pytest

from tableveil.backend import Session
from tableveil.hierarchy import ValueKind
from tableveil.utility import Compared, Sides, associations

Make = Callable[..., Sides]

ROWS = (
    "SELECT i AS x, 2 * i + (i * 7919) % 13 AS y, CASE WHEN i < 500 THEN 'a' ELSE 'b' END AS z FROM range(1000) AS t(i)"
)
X, Y = (Compared(name, ValueKind.INTEGER, "BIGINT", False) for name in "xy")
Z = Compared("z", ValueKind.TEXT, "VARCHAR", False)


def test_what_was_not_changed_goes_together_as_before(session: Session, sides: Make) -> None:
    found = associations(session, sides(ROWS, ROWS), [X, Y, Z])
    assert [(one.first, one.second, one.measure) for one in found] == [
        ("x", "y", "correlation"),
        ("x", "y", "cramers_v"),
        ("x", "z", "cramers_v"),
        ("y", "z", "cramers_v"),
    ]
    assert all(one.before == one.after for one in found)
    x = np.arange(1000)
    assert found[0].before == pytest.approx(np.corrcoef(x, 2 * x + (x * 7919) % 13)[0, 1])
    assert found[2].before == pytest.approx(1.0, abs=0.01)


def test_labels_are_read(session: Session, sides: Make) -> None:
    after = ROWS.replace("i AS x", "'[' || i // 100 * 100 || ', ' || i // 100 * 100 + 99 || ']' AS x")
    found = associations(session, sides(ROWS, after), [Compared("x", ValueKind.INTEGER, "VARCHAR", True), Y])
    assert found[0].after == pytest.approx(0.995, abs=0.01)


def test_values_that_became_texts_go_together_as_before(session: Session, sides: Make) -> None:
    rows = ROWS.replace("i AS x", "(i * 7) % 50 AS x").replace("i < 500", "i % 2 = 0")
    after = rows.replace("(i * 7) % 50 AS x", "((i * 7) % 50)::VARCHAR AS x")
    found = associations(session, sides(rows, after), [Compared("x", ValueKind.INTEGER, "VARCHAR", True), Y, Z])
    assert [one.after for one in found] == [one.before for one in found]


def test_what_tells_nothing_goes_with_nothing(session: Session, sides: Make) -> None:
    after = ROWS.replace("i AS x", "'*' AS x")
    found = associations(session, sides(ROWS, after), [Compared("x", ValueKind.INTEGER, "VARCHAR", True), Y, Z])
    assert {one.after for one in found if "x" in (one.first, one.second)} == {None}
    assert found[-1].after == found[-1].before


def test_huge_numbers_and_an_empty_release(session: Session, sides: Make) -> None:
    rows = "SELECT x, x / 2 AS y FROM (VALUES (1e308), (-1e308), (5e307)) AS t(x)"
    columns = [Compared(name, ValueKind.FLOAT, "DOUBLE", False) for name in "xy"]
    [correlation, _] = associations(session, sides(rows, f"{rows} WHERE x > 2e308 / 2"), columns)
    assert correlation.before == pytest.approx(1.0)
    assert correlation.after is None
