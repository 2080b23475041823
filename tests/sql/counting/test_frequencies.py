"""The combinations of columns' values, against counting the rows one by one."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.backend import Database, Session, render, table
from tableveil.control import Control
from tableveil.counting import count_frequencies, frequencies, weight_facts, write_frequencies
from tableveil.counting.frequencies import CountedFrequencies
from tableveil.errors import InvalidError
from tableveil.policy import Population, TableReference
from tableveil.source import Analyzed, RowsToAnalyze, find_table, resolve_analyzed

HOSTILE = ('a"b; --', "w0", "n", "code", "value", "d0")

Rows = list[tuple[Any, ...]]


def analyzed(
    session: Session, names: tuple[str, ...], population: Population | None = None, weight: str = "", of: str = "t"
) -> Analyzed:
    reference, faults = find_table(session, TableReference("", "main", of), "table")
    assert reference is not None, faults
    found, faults = resolve_analyzed(session, RowsToAnalyze(reference), names, population, weight)
    assert faults == []
    return found


def read(session: Session, counted: CountedFrequencies) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Per combination of values, as texts, what is counted."""
    values = []
    for known in counted.values:
        rows = session.rows(f"SELECT code, value::VARCHAR FROM {known.table_name}")
        assert sorted(code for code, _ in rows) == list(range(known.codes))
        values.append(dict(rows))
    found = counted.frequencies
    decoded = {}
    for row in range(len(found.records)):
        key = tuple(values[j][int(codes[row])] for j, codes in enumerate(found.codes))
        assert key not in decoded
        people = None if found.people is None else int(found.people[row])
        weights = None if found.weights is None else float(found.weights[row])
        decoded[key] = (int(found.records[row]), people, weights)
    return decoded


def create(session: Session, name: str, columns: dict[str, str], rows: Rows) -> None:
    """Values come as texts, which each column's type reads."""
    names = ", ".join(f"{render(table(found))} {type_}" for found, type_ in columns.items())
    session.execute(f"CREATE OR REPLACE TABLE {name} ({names})")
    if rows:
        marks = ", ".join("(" + ", ".join("?" for _ in columns) + ")" for _ in rows)
        session.execute(f"INSERT INTO {name} VALUES {marks}", [value for row in rows for value in row])


TYPES = {
    "VARCHAR": ("x", "", "X", "é", "NULL"),
    "INTEGER": ("1", "-2147483648", "0"),
    "DOUBLE": ("nan", "inf", "0.5", "-1.0"),
    "DATE": ("2024-02-29", "infinity", "0044-03-15 (BC)"),
    "DECIMAL(38,2)": ("1.10", "-999999999999999999999999999999999999.99"),
    "BOOLEAN": ("true", "false"),
    "BLOB": ("\\x00", "a"),
    "TIMESTAMP WITH TIME ZONE": ("2024-01-01 00:00:00+00", "1999-12-31 23:59:59.999999+00"),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, str], Rows, Rows]:
    types = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=5))
    columns = dict(zip(HOSTILE, types, strict=False))
    row = st.tuples(*(st.sampled_from((None, *TYPES[type_])) for type_ in types))
    return columns, draw(st.lists(row, max_size=12)), draw(st.lists(row, max_size=12))


@pytest.fixture(scope="module")
def one_session(shared_database: Database) -> Any:
    with shared_database.session() as session:
        session.control = Control()
        yield session


@settings(max_examples=12)
@given(tables())
def test_every_combination_is_counted_where_it_is(
    one_session: Session, case: tuple[dict[str, str], Rows, Rows]
) -> None:
    columns, rows, others = case
    session = one_session
    create(session, "t", {**columns, "weight": "DECIMAL(9,2)"}, [(*row, i + 1) for i, row in enumerate(rows)])
    create(session, "everybody", columns, rows + others)
    names = ", ".join(f"{render(table(name))}::VARCHAR" for name in columns)
    shown = session.rows(f"SELECT {names} FROM t ORDER BY weight")
    records, people = Counter(shown), Counter(session.rows(f"SELECT {names} FROM everybody"))
    weights: dict[tuple[Any, ...], float] = defaultdict(float)
    for i, row in enumerate(shown):
        weights[row] += i + 1
    with session.transaction():
        found = analyzed(session, tuple(columns), Population(TableReference("", "main", "everybody")), "weight")
        counted = count_frequencies(session, found)
        expected = {row: (n, people[row], weights[row]) for row, n in records.items()}
        assert read(session, counted) == expected
        assert counted.population_records == len(rows) + len(others)
        for known in counted.values:
            session.execute(f"DROP TABLE {known.table_name}")


def test_zeros_of_both_signs_are_one_value(session: Session) -> None:
    create(session, "t", {"x": "DOUBLE", "y": "FLOAT"}, [("-0.0", "0.0"), ("0.0", "-0.0"), ("-0.0", "-0.0")])
    assert read(session, count_frequencies(session, analyzed(session, ("x", "y")))) == {("0.0", "0.0"): (3, None, None)}


def test_one_row_and_many_columns(session: Session) -> None:
    """More columns of more values than one integer key could hold."""
    names = tuple(f"q{j}" for j in range(20))
    columns = ", ".join(f"(hash(i, {j}) % 50)::INT AS {name}" for j, name in enumerate(names))
    session.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(300) r(i)")
    everybody = Population(TableReference("", "main", "t"))
    counted = count_frequencies(session, analyzed(session, names, everybody)).frequencies
    assert counted.records.tolist() == [1] * 300
    assert counted.people is not None
    assert counted.people.tolist() == [1] * 300
    assert {codes.dtype for codes in counted.codes} == {np.dtype(np.uint8)}


def test_a_subset_of_its_own_table(session: Session) -> None:
    create(session, "t", {"x": "INTEGER", "mine": "BOOLEAN"}, [(1, True), (1, False), (2, False), (None, True)])
    counted = count_frequencies(session, analyzed(session, ("x",), Population(subset_column="mine")))
    assert read(session, counted) == {("1",): (1, 2, None), (None,): (1, 1, None)}
    assert counted.population_records == 4


def test_more_rows_are_grouped_by_the_database(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same combinations; too many of them are refused."""
    session.execute("CREATE TABLE t AS SELECT i % 50 AS x, i + 1 AS weight FROM range(200) r(i)")
    found = analyzed(session, ("x",), weight="weight")
    by_sorting = read(session, count_frequencies(session, found))
    assert len(by_sorting) == 50
    session.execute("DROP TABLE risk_values_0")
    monkeypatch.setattr(frequencies, "MOST_COMBINATIONS", 50)
    assert read(session, count_frequencies(session, found)) == by_sorting
    session.execute("DROP TABLE risk_values_0")
    monkeypatch.setattr(frequencies, "MOST_COMBINATIONS", 49)
    with pytest.raises(InvalidError) as raised:
        count_frequencies(session, found)
    assert raised.value.code == "TOO_MANY_COMBINATIONS"
    monkeypatch.setattr(frequencies, "MOST_RECORDS", 200)
    with pytest.raises(InvalidError) as raised:
        count_frequencies(session, found)
    assert raised.value.code == "TOO_MANY_RECORDS"


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT", "DECIMAL(9,2)", "BIGINT", "UTINYINT"])
def test_weights_that_are_none_are_counted(session: Session, type_: str) -> None:
    weights = ["1", "2", None, "0", None, "1"]
    if type_ != "UTINYINT":
        weights += ["-3"]
    if type_ in ("DOUBLE", "FLOAT"):
        weights += ["nan", "inf", "-inf", "0.99"]
    create(session, "t", {"x": "INTEGER", "w": type_}, [(1, weight) for weight in weights])
    facts = weight_facts(session, analyzed(session, ("x",), weight="w"))
    below = 1 + (type_ != "UTINYINT") + (type_ in ("DOUBLE", "FLOAT"))
    assert (facts.null, facts.not_finite, facts.below_one) == (2, 3 if type_ in ("DOUBLE", "FLOAT") else 0, below)


def test_combinations_are_written_with_their_values(session: Session) -> None:
    """Also where columns are called as measures are."""
    create(session, "t", {"Records": "VARCHAR", "risk_": "DOUBLE"}, [("a", "-0.0"), (None, "0.5"), ("a", "0.0")])
    counted = count_frequencies(session, analyzed(session, ("Records", "risk_")))
    measures = {"records": counted.frequencies.records, "risk": 1 / counted.frequencies.records}
    write_frequencies(session, table("written"), counted, measures)
    described = [name for name, *_ in session.rows("DESCRIBE written")]
    assert described == ["Records", "risk_", "records_", "risk"]
    rows = session.rows('SELECT "Records", risk_::VARCHAR, records_, risk FROM written ORDER BY "Records"')
    assert rows == [("a", "0.0", 2, 0.5), (None, "0.5", 1, 1.0)]


def test_written_values_do_not_hold_on_to_a_type_of_the_owners(session: Session) -> None:
    session.execute("CREATE TYPE sexes AS ENUM ('F', 'M')")
    create(session, "t", {"sex": "sexes"}, [("F",), (None,)])
    write_frequencies(session, table("written"), count_frequencies(session, analyzed(session, ("sex",))), {})
    assert session.rows("SELECT sex, typeof(sex) FROM written ORDER BY sex") == [("F", "VARCHAR"), (None, "VARCHAR")]
