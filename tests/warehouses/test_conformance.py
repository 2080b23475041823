"""The contract of rows in any engine: types, NULL, NaN, zeros, Unicode, times, names, hashes, order, failures."""

from __future__ import annotations

import datetime
import functools
import math
import operator
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from random import Random

import pytest
import sqlglot
from sqlglot import exp

from tableveil.backend import (
    Listed,
    Session,
    WarehouseSession,
    alias,
    cast,
    column,
    drop,
    expression,
    in_one_spelling,
    in_order,
    is_finite,
    number,
    parameter,
    row_hash,
    table,
    try_cast,
)
from tableveil.control import Control, Stopped
from tableveil.errors import ConflictError, InternalError
from tableveil.policy import TableReference
from tableveil.source import find_source, recurring
from tableveil.source.facts import estimated_values
from tests.warehouses.conftest import query, tree

UTC = datetime.UTC
ODD = "a.b \"c'd`e ${env:HOME} $1 ?;--é\n😀"
"""A column that may be called so in both engines; a backslash, too, is a letter in it: \\."""

COLUMNS = {
    "i": ("BIGINT", "5", "NULL", "-9223372036854775808"),
    "f": ("DOUBLE", "'NaN'", "-0.0", "0.0"),
    "d": ("DECIMAL(10,2)", "1.50", "NULL", "99999999.99"),
    "t": ("VARCHAR", "'é''s'", "''", "'e\u0301\\n'"),
    "day": ("DATE", "'0001-01-01'", "NULL", "'9999-12-31'"),
    "moment": ("TIMESTAMP", "'1582-10-10 00:00:00'", "NULL", "'2020-03-29 02:30:00.123456'"),
    "zoned": ("TIMESTAMP WITH TIME ZONE", "'2020-03-29 02:30:00+00'", "NULL", "'1969-12-31 23:59:59+00'"),
    "b": ("BOOLEAN", "TRUE", "NULL", "FALSE"),
}
"""Each column's type, and its values in three rows."""


@pytest.fixture(scope="module")
def kinds(engine: WarehouseSession) -> Iterator[exp.Table]:
    """A table with a column of each type that policies know, in the schema `clinic`."""
    target = table("kinds", "clinic", engine.catalog)
    made = [f"SELECT {', '.join(f'CAST({c[i]} AS {c[0]}) AS {n}' for n, c in COLUMNS.items())}" for i in (1, 2, 3)]
    engine.execute(exp.Create(this=target, kind="TABLE", expression=tree(" UNION ALL ".join(made))))
    yield target.copy()
    engine.execute(exp.Drop(tables=[target.copy()], kind="TABLE"))


def test_types_have_one_vocabulary(rows: WarehouseSession, kinds: exp.Table) -> None:
    assert rows.described(exp.select("*").from_(kinds)) == [(name, found[0]) for name, found in COLUMNS.items()]
    spelled = exp.select(
        *(alias(cast(column("i"), type_), type_) for type_ in ("TINYINT", "SMALLINT", "INTEGER", "FLOAT"))
    )
    assert [type_ for _, type_ in rows.described(spelled.from_(kinds))] == ["TINYINT", "SMALLINT", "INTEGER", "FLOAT"]


def test_values_arrive_as_they_are(rows: WarehouseSession, kinds: exp.Table) -> None:
    """Times have no zone but UTC, whatever the machine's; days before 1582 are of the calendar that ISO 8601 has."""
    found = {row[0]: row[1:] for row in rows.rows(exp.select("*").from_(kinds))}
    assert math.isnan(found[5][0])
    at, zoned = datetime.datetime(1582, 10, 10), datetime.datetime(2020, 3, 29, 2, 30, tzinfo=UTC)
    assert found[5][1:] == (Decimal("1.50"), "é's", datetime.date(1, 1, 1), at, zoned, True)
    assert found[None] == (0.0, None, "", None, None, None, None)
    late = datetime.datetime(2020, 3, 29, 2, 30, 0, 123456)
    before = datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    last = (0.0, Decimal("99999999.99"), "e\u0301\\n", datetime.date(9999, 12, 31), late, before, False)
    assert found[-(2**63)] == last


def test_collected_rows_are_those_of_the_engine(rows: WarehouseSession, kinds: exp.Table) -> None:
    """Labels are made of texts that the embedded database makes of the values: those are alike then, too."""
    assert rows.collect("collected_kinds", exp.select("*").from_(kinds)) == 3
    assert rows.embedded.described("SELECT * FROM collected_kinds") == [(n, found[0]) for n, found in COLUMNS.items()]
    texts = ", ".join(f"{name}::VARCHAR" for name in COLUMNS if name != "f")
    assert rows.embedded.rows(f"SELECT {texts} FROM collected_kinds WHERE i = 5") == [
        ("5", "1.50", "é's", "0001-01-01", "1582-10-10 00:00:00", "2020-03-29 02:30:00+00", "true")
    ]
    # Again under that name: its rows are replaced. There may be none.
    assert rows.collect("collected_kinds", exp.select("i", "t").from_(kinds).where("i = 7")) == 0
    assert rows.embedded.described("SELECT * FROM collected_kinds") == [("i", "BIGINT"), ("t", "VARCHAR")]


def test_equal_values_are_one_group(rows: WarehouseSession, kinds: exp.Table) -> None:
    """NULLs are one, NaNs are one, and zeros are one; texts are compared by their bytes."""
    values = "('NaN', 'a'), ('NaN', 'a '), ('-0.0', 'A'), ('0', NULL), (NULL, NULL)"
    made = f"SELECT CAST(f AS DOUBLE) AS f, t FROM (VALUES {values}) AS v(f, t)"
    sizes = {}
    for name in ("f", "t"):
        grouped = exp.select(column(name), alias(exp.Count(this=exp.Star()), "n")).from_(query(made).subquery("made"))
        sizes[name] = sorted(n for _, n in rows.rows(grouped.group_by(column(name))))
    assert sizes == {"f": [1, 2, 2], "t": [1, 1, 1, 2]}


def test_the_named_functions(rows: WarehouseSession, kinds: exp.Table) -> None:
    replaced = expression("replace($t, 'é', 'x')", t=column("t"))
    wanted = exp.select(is_finite(column("f")), in_one_spelling(column("f")), is_finite(column("d")), replaced)
    found = rows.rows(wanted.from_(kinds).order_by("i"))
    assert [row[0] for row in found if row[2] is not None] == [True, False]
    # Both zeros are written without a sign.
    assert sorted(str(row[1]) for row in found) == ["0.0", "0.0", "nan"]
    assert "x's" in {row[3] for row in found}


def test_a_text_that_is_no_number_is_null_when_a_cast_is_tried(rows: WarehouseSession) -> None:
    made = query("SELECT t FROM (VALUES ('11th'), ('11'), (''), ('1e2')) AS v(t)").subquery("made")
    tried = exp.select(column("t"), *(try_cast(column("t"), type_) for type_ in ("DOUBLE", "TIMESTAMP")))
    found = {text: rest for text, *rest in rows.rows(tried.from_(made))}
    assert found == {"11th": [None, None], "11": [11.0, None], "": [None, None], "1e2": [100.0, None]}


def test_hashes_tell_rows_apart(rows: WarehouseSession, kinds: exp.Table) -> None:
    """NULL is a value, its place matters, and so does the key; equal values have equal hashes."""
    made = query(
        "SELECT * FROM (VALUES ('a', 'b', NULL), ('a', NULL, 'b'), (NULL, 'a', 'b'), ('ab', '', NULL)) AS v(a, b, c)"
    )
    hashed = row_hash(parameter(1), column("a"), column("b"), column("c"))
    hashes = exp.select(hashed).from_(made.subquery("made"))
    first, other = [{found for (found,) in rows.rows(hashes, [key])} for key in ("key", "other key")]
    assert len(first | other) == 8
    zeros = exp.select(exp.Count(this=exp.Distinct(expressions=[row_hash(in_one_spelling(column("f")))]))).from_(kinds)
    assert rows.value(zeros) == 2
    totals = exp.select(exp.Sum(this=row_hash(*map(column, COLUMNS))), exp.BitwiseXorAgg(this=row_hash(column("i"))))
    total, xored = rows.row(totals.from_(kinds))
    assert isinstance(total, int)
    assert isinstance(xored, int)


def test_totals_of_hashes_are_those_of_every_row(rows: WarehouseSession) -> None:
    """Also beside other aggregates, of some rows, and with columns that are called as hashes are in Spark."""
    made = query("SELECT h0, h0 * h0 AS \"H1\", 'x' || h0 AS h2 FROM unnest(generate_series(1, 3000)) AS a(h0)")
    hashed = row_hash(parameter(1), column("h0"), column("H1"), column("h2"))
    some = exp.GT(this=column("h0"), expression=number(7))
    hashes = [found for (found,) in rows.rows(exp.select(hashed).from_(made.subquery("made")).where(some), ["key"])]
    wanted = [
        exp.Sum(this=hashed),
        exp.BitwiseXorAgg(this=hashed.copy()),
        exp.Count(this=exp.Distinct(expressions=[row_hash(column("h0"))])),
        exp.Max(this=column("h0")),
        exp.Count(this=exp.Star()),
    ]
    found = rows.row(exp.select(*wanted).from_(made.subquery("made")).where(some.copy()), ["key"])
    assert found == (sum(hashes), functools.reduce(operator.xor, hashes), 2993, 3000, 2993)
    nothing = exp.select(exp.Sum(this=row_hash(column("h0")))).from_(made.subquery("made")).where(exp.false())
    assert rows.value(nothing) is None


def test_sums_and_counts_are_exact(rows: WarehouseSession) -> None:
    """As a whole number: a count of records must not become a float on the way."""
    numbers = query("SELECT n FROM (VALUES (9007199254740993), (1), (NULL)) AS v(n)").subquery("v")
    found = rows.row(exp.select(exp.Sum(this=column("n")), exp.Count(this=column("n"))).from_(numbers))
    assert found == (9007199254740994, 2)
    assert all(isinstance(value, int) for value in found)
    nothing = exp.select(exp.Sum(this=column("n")), exp.Count(this=column("n"))).from_(numbers).where(exp.false())
    assert rows.row(nothing) == (None, 0)


def test_arrays_have_a_column_each(rows: WarehouseSession, kinds: exp.Table) -> None:
    counted = exp.select(alias(exp.Count(this=exp.Star()), "n"), alias(cast(number(7), "UTINYINT"), "code"))
    arrays = rows.arrays(counted.from_(kinds))
    assert {name: array.tolist() for name, array in arrays.items()} == {"n": [3], "code": [7]}


def test_names_may_be_hostile(rows: WarehouseSession) -> None:
    """Nothing is put in place of a name or a text: not a variable of the machine, not a parameter."""
    value = f"{ODD}\\"
    target = table("odd", "clinic", rows.catalog)
    rows.execute(exp.Create(this=target, kind="TABLE", expression=exp.select(alias(exp.Literal.string(value), ODD))))
    read = exp.select(column(ODD)).from_(target.copy())
    assert rows.described(read) == [(ODD, "VARCHAR")]
    assert rows.value(read.where(exp.EQ(this=column(ODD), expression=parameter(1))), [value]) == value
    rows.collect("odd_rows", read)
    assert rows.embedded.value(exp.select(column(ODD)).from_("odd_rows")) == value
    rows.execute(exp.Drop(tables=[target.copy()], kind="TABLE"))


def test_columns_are_found_in_any_case(rows: WarehouseSession, kinds: exp.Table) -> None:
    assert rows.value(exp.select(exp.Count(this=column("DAY"))).from_(kinds)) == 2


def test_texts_in_duckdb_s_dialect_run_as_well(rows: WarehouseSession, kinds: exp.Table) -> None:
    """The verification writes its own, with parameters by position."""
    named = kinds.sql(dialect="duckdb")
    found = rows.rows(
        f'SELECT "i", ?, count(*) FILTER (WHERE "b") FROM {named} WHERE "t" = ? GROUP BY "i"', ["it's", "é's"]
    )
    assert found == [(5, "it's", 1)]


def test_tables_of_the_embedded_database_are_lent(rows: WarehouseSession, kinds: exp.Table) -> None:
    rows.embedded.stage("lent", "SELECT 5::UINTEGER AS code, 5::BIGINT AS value, 'x' AS label, DATE '2020-01-01' AS d")
    rows.lend("lent")
    joined = exp.select(column("label", "lent"), column("code", "lent"), column("t", "source")).from_(
        exp.alias_(kinds, "source", table=True)
    )
    same = exp.EQ(this=column("i", "source"), expression=column("value", "lent"))
    found = rows.rows(joined.join(table("lent"), on=same, join_type="LEFT").order_by(column("label", "lent")))
    assert sorted(found, key=str) == sorted([("x", 5, "é's"), (None, None, ""), (None, None, "e\u0301\\n")], key=str)
    rows.embedded.execute("DROP TABLE lent")


def test_written_rows_are_sorted(rows: WarehouseSession) -> None:
    """NULL is last in a file, as it is in DuckDB; reading the table gives the order back."""
    numbers = query(
        "SELECT 97 * i % 1000 AS i, CASE WHEN i % 10 > 0 THEN 97 * i % 7 END AS g "
        "FROM unnest(generate_series(1, 1000)) AS v(i)"
    )
    target = table("sorted", "clinic", rows.catalog)
    ordered = in_order(numbers, [exp.Ordered(this=column(name), nulls_first=False) for name in ("g", "i")])
    rows.write(target.copy(), ordered)
    found = rows.rows(exp.select("g", "i").from_(target.copy()))
    assert len(found) == 1000
    assert found == sorted(found, key=lambda row: (row[0] is None, row[0] or 0, row[1]))
    with pytest.raises((ConflictError, InternalError)):
        rows.write(target.copy(), ordered.copy())
    rows.rename(target.copy(), table("renamed", "clinic", rows.catalog))
    assert [found.name for found in rows.listed("clinic") if found.kind == "table"][-1] == "renamed"
    rows.execute(exp.Drop(tables=[table("renamed", "clinic", rows.catalog)], kind="TABLE"))


def test_small_tables_are_created_in_their_order(rows: WarehouseSession) -> None:
    target = table("created", "clinic", rows.catalog)
    rows.create(target.copy(), exp.select("*").from_("(VALUES (3, 'c'), (1, NULL), (2, 'b')) AS v(i, t)"))
    assert rows.rows(exp.select("*").from_(target.copy())) == [(3, "c"), (1, None), (2, "b")]
    assert rows.described(exp.select("*").from_(target.copy())) == [("i", "INTEGER"), ("t", "VARCHAR")]
    rows.execute(exp.Drop(tables=[target.copy()], kind="TABLE"))


def test_what_is_there_is_listed(rows: WarehouseSession, kinds: exp.Table) -> None:
    rows.view("temporary", exp.select("i").from_(kinds))
    seen = rows.listed("clinic")
    assert Listed("clinic", "kinds", "table", seen[0].rows, seen[0].values) in seen
    assert "temporary" not in {found.name for found in seen}
    assert rows.value(exp.select(exp.Count(this=exp.Star())).from_("temporary")) == 3
    rows.forget("temporary")
    assert "clinic" in rows.schemas()
    assert rows.listed("nowhere") == []


def test_notes_of_columns_are_found(rows: WarehouseSession) -> None:
    target = table("noted", "clinic", rows.catalog)
    rows.write(target.copy(), query("SELECT 1 AS a, 2 AS b"))
    assert rows.noted(target) == []
    comment = "COMMENT ON COLUMN clinic.noted.b IS 'secret'"
    if isinstance(rows, Session):
        rows.execute(comment)
    else:
        rows.execute(sqlglot.parse_one("ALTER TABLE clinic.noted ALTER COLUMN b COMMENT 'secret'", dialect="spark"))
    assert rows.noted(target) == ["b"]
    rows.execute(drop("TABLE", target))


def test_failures_quote_nothing(
    rows: WarehouseSession, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    secret = "".join(("Smith", "-4711"))  # The traceback shows this line.
    people = tree(f"SELECT CAST(name AS INTEGER) FROM (SELECT '{secret}' AS name) AS people")
    with pytest.raises(InternalError) as raised:
        rows.rows(people)
    with pytest.raises(InternalError):
        rows.value(tree("SELECT CAST(? AS INTEGER)"), [secret])
    told = caplog.text + str(raised.value) + str(raised.value.faults) + "".join(capfd.readouterr())
    assert "Smith" not in told
    assert "4711" not in told
    assert raised.value.__suppress_context__
    assert "statement failed" in caplog.text
    assert rows.value(tree("SELECT 1")) == 1


MANY = "SELECT i FROM unnest(generate_series(1, 300000)) AS v(i)"
PAIRS = "SELECT count(*) FROM clinic.many AS a, clinic.many AS b WHERE (a.i + b.i) % 7919 = 7918"


def test_a_statement_stops_soon(rows: WarehouseSession) -> None:
    rows.write(table("many", "clinic", rows.catalog), query(MANY))
    control = rows.control = Control()
    cancelled: list[float] = []

    def cancel() -> None:
        cancelled.append(time.monotonic())
        control.cancel()

    timer = threading.Timer(0.3, cancel)
    timer.start()
    with pytest.raises(Stopped):
        rows.value(tree(PAIRS))
    assert time.monotonic() - cancelled[0] < 5
    timer.join()
    # Asked before it starts, too; then the session goes on.
    with pytest.raises(Stopped):
        rows.collect("pairs", tree(PAIRS))
    rows.control = Control()
    assert rows.value(tree("SELECT 1")) == 1
    rows.execute(drop("TABLE", table("many", "clinic", rows.catalog)))


@pytest.mark.parametrize("most", [2**16, 300])
def test_columns_that_number_people(rows: WarehouseSession, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """By all rows, and by a sample."""
    random = Random(1)
    people = [(person * 7919, person % 2, random.randrange(90), f"'o{random.randrange(30)}'") for person in range(200)]
    visits = [(*random.choice(people), "NULL" if row % 5 else row) for row in range(1000)]
    values = ", ".join(f"({', '.join(map(str, row))})" for row in visits)
    target = table("numbered", "clinic", rows.catalog)
    made = tree(f"SELECT * FROM (VALUES {values}) AS t(x, sex, age, place, note)")
    rows.execute(exp.Create(this=target, kind="TABLE", expression=made))
    monkeypatch.setattr(recurring, "MOST_ROWS", most)
    monkeypatch.setattr(recurring, "ROWS", 400)
    try:
        source, _, _ = find_source(rows, TableReference(rows.catalog, "clinic", "numbered"), "", "source")
        assert source is not None
        estimated = estimated_values(rows, source, [each.name for each in source.columns])
        found = recurring.columns_numbering_people(rows, source, 1000, {"sex", "age", "place"}, estimated)
        assert [(one.column, one.exact) for one in found] == [("x", most > 1000)]
    finally:
        rows.execute(exp.Drop(tables=[target.copy()], kind="TABLE"))
