"""The checksum of rows: one for all orders and copies, another one for any other rows."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tableveil.backend import Database, table
from tableveil.client.checksums import checksum_of_copy
from tableveil.errors import InvalidError
from tableveil.release.checksum import checksum
from tests.inserted import insert
from tests.migrated import opened

Row = tuple[str | None, float | None]

TEXTS = (
    st.none()
    | st.sampled_from(["", "-", "1:a", "NULL", " ", "a,b", 'a"b', "a\nb", "é", "😀", "\u202e"])
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
)
ROWS = st.lists(st.tuples(TEXTS, st.none() | st.sampled_from([0.1, -2.0, 1e300, 1e-7])), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    yield from opened(tmp_path_factory.mktemp("checksum") / "rows.duckdb")


def of(database: Database, rows: Sequence[Row]) -> str:
    """The checksum of a table that has these rows; a column has the name of the digest."""
    with database.session() as session:
        session.execute('CREATE OR REPLACE TABLE rows (digest VARCHAR, "b ""x" DOUBLE)')
        if rows:
            insert(session, "rows", rows)
        return checksum(session, table("rows", "main"))


def by_hand(rows: Sequence[Row]) -> str:
    """The checksum as the page defines it."""

    def measured(value: object) -> str:
        return "-" if value is None else f"{len(str(value))}:{value}"

    names = hashlib.sha256()
    names.update("".join(measured(name) for name in ("digest", 'b "x')).encode())
    for found in sorted(hashlib.sha256("".join(map(measured, row)).encode()).hexdigest() for row in rows):
        names.update(found.encode())
    return names.hexdigest()


@given(rows=st.lists(st.tuples(TEXTS, st.none()), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_the_one_of_the_page(database: Database, rows: list[Row]) -> None:
    assert of(database, rows) == by_hand(rows)


@given(rows=ROWS, seed=st.integers(0, 99))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=[("", None), (None, None), ("\n", 0.1)], seed=1)
def test_copies_in_any_order_have_it(
    database: Database, tmp_path_factory: pytest.TempPathFactory, rows: list[Row], seed: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    expected = of(database, rows)
    random.Random(seed).shuffle(rows)
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE copy (digest VARCHAR, "b ""x" DOUBLE)')
        connection.executemany("INSERT INTO copy VALUES (?, ?)", rows)
        for kind in ("csv", "parquet"):
            path = folder / f"copy.{kind}"
            connection.execute(f"COPY copy TO '{path}' (FORMAT {kind})")
            assert checksum_of_copy(path) == expected


@given(rows=ROWS, other=ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=[("", None)], other=[(None, None)])
@example(rows=[("a", None)], other=[("a", None), ("a", None)])
@example(rows=[("-", None)], other=[(None, None)])
def test_other_rows_have_another_one(database: Database, rows: list[Row], other: list[Row]) -> None:
    same = sorted(map(repr, rows)) == sorted(map(repr, other))
    assert (of(database, rows) == of(database, other)) == same


def test_what_cannot_be_read_is_no_copy(tmp_path: Path) -> None:
    broken = tmp_path / "rows.parquet"
    broken.write_text("secret")
    for path in (broken, tmp_path / "missing.csv", tmp_path):
        with pytest.raises(InvalidError) as found:
            checksum_of_copy(path)
        assert found.value.code == "COPY_UNREADABLE"
        assert "secret" not in str(found.value)


@pytest.mark.parametrize(
    ("line", "more"), [(0, "# made by us"), (0, "a preamble"), (50, "# this,is,no row"), (101, "#x,y,z")]
)
def test_no_line_of_a_copy_is_passed_over(tmp_path: Path, line: int, more: str) -> None:
    lines = ["a,b,c", *(f"{i},v{i},{i}" for i in range(100))]
    whole, longer = tmp_path / "whole.csv", tmp_path / "longer.csv"
    whole.write_text("\n".join(lines))
    longer.write_text("\n".join([*lines[:line], more, *lines[line:]]))
    try:
        found = checksum_of_copy(longer)
    except InvalidError:
        return
    assert found != checksum_of_copy(whole)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_directories_are_no_columns(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    with duckdb.connect() as connection:
        for path in (tmp_path, folder):
            connection.execute(f"COPY (SELECT 1 AS a) TO '{path}/copy.{kind}' (FORMAT {kind})")
    assert checksum_of_copy(folder / f"copy.{kind}") == checksum_of_copy(tmp_path / f"copy.{kind}")


NAMES = st.lists(
    st.text(st.sampled_from(" a\"\n,#é\t0'\\"), min_size=1, max_size=4), min_size=1, max_size=3, unique_by=str.lower
)


@pytest.mark.long
@given(names=NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(names=["a ", " a", " "])
def test_names_of_columns_are_as_they_are(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "named.csv"
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE copy AS SELECT * FROM (VALUES ({', '.join(['NULL'] * len(names))})) t({columns})"
        )
        connection.execute(f"COPY copy TO '{path}' (FORMAT csv)")
    row = hashlib.sha256(b"-" * len(names)).hexdigest()
    expected = hashlib.sha256(("".join(f"{len(name)}:{name}" for name in names) + row).encode()).hexdigest()
    assert checksum_of_copy(path) == expected


@pytest.mark.parametrize("name", ["a*.csv", "a?.csv", "a[b].csv", "~a.csv", "it's.csv"])
def test_a_path_is_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    for other in ("ab.csv", "plain.csv", name):
        Path(other).write_text("a\n1\n" if other != "ab.csv" else "a\n2\n")
    assert checksum_of_copy(Path(name)) == checksum_of_copy(Path("plain.csv"))


@pytest.mark.parametrize("content", [b"", b"a\xff\n1\n", b'"a\rb"\n1\n', b"a,A\n1,2\n"])
def test_a_header_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(InvalidError):
        checksum_of_copy(tmp_path / "rows.csv")
