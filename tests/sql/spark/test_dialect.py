"""Statements are rendered in Spark's SQL, which needs no Spark: what its own tests would say only after minutes."""

import pytest
from sqlglot import exp

from tableveil.backend import number
from tableveil.spark.dialect import rendered

NUMBERS = exp.GenerateSeries(end=number(5), is_end_exclusive=True)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM RANGE(5)",
        exp.select("1").from_(NUMBERS.copy()),
        exp.select("1").from_(exp.Table(this=NUMBERS.copy())),
    ],
    ids=["read", "built", "built in a table"],
)
def test_numbers_as_rows_are_a_table(statement: exp.Expr | str) -> None:
    """Sqlglot writes a list of the numbers otherwise, which Spark refuses as a table."""
    assert rendered(statement, (), "lake").text.lower() == "select 1 from range(5)"
