"""Values that look wrong: they are found and counted, others are not, and the SELECT repairs what was found."""

import pytest

from tableveil.backend import Database, Session
from tableveil.policy import TableReference
from tableveil.source import find_source
from tableveil.source.doubtful import DoubtKind, Doubts, doubts
from tableveil.source.model import Column
from tableveil.source.query import take_snapshot

PLACE = TableReference("", "main", "people")


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


def of_query(session: Session, query: str) -> Doubts:
    source, columns, faults = find_source(session, PLACE, query, "table")
    assert source is not None, faults
    names = [found.name if isinstance(found, Column) else found[0] for found in columns]
    with session.transaction():
        if source.query is not None:
            take_snapshot(session, source)
        return doubts(session, source, source.columns, names)


def found(session: Session, value: str, rows: int = 1000) -> dict[DoubtKind, int]:
    """The findings on a column `zip`, whose values are an expression over `i`."""
    session.execute(f"CREATE OR REPLACE TABLE people AS SELECT ({value}) AS zip FROM range({rows}) r(i)")
    return {one.kind: one.records for one in of_query(session, "").findings}


def repaired(session: Session) -> set[object]:
    """The values of `zip` after the repair, by the proposed query: it may be a source, and no more is found in it."""
    query = of_query(session, "").repair_query
    assert of_query(session, query).findings == ()
    return {row[0] for row in session.rows(query)}


@pytest.mark.parametrize(
    "value",
    [
        "i",
        "i % 90",
        "NULL::INT",
        "-i",
        "CASE WHEN i % 20 < 2 THEN -2 ELSE i % 90 END",
        "(i % 7 - 3)::DOUBLE",
        "CASE WHEN i = 5 THEN 'nan'::DOUBLE WHEN i = 6 THEN 'inf'::DOUBLE ELSE i END",
        "9.5 + i % 90",
        "DATE '2024-01-01' + (i % 366)::INT",
        "DATE '1900-01-01' + (i * 30)::INT",
        "CASE WHEN i = 3 THEN 'infinity'::DATE ELSE DATE '2024-01-01' + (i % 366)::INT END",
        "TIMESTAMP '2024-01-01' + to_minutes(i)",
        "'city ' || i % 30",
        "['BA', 'MA', 'none'][1 + i % 3]",
        "lpad((i % 90)::VARCHAR, 5, '0')",
        "(i % 90)::VARCHAR",
        "[i]",
        "i % 2 = 0",
        "TIME '12:00' + to_minutes(i)",
    ],
)
def test_nothing_is_found_where_nothing_is_wrong(session: Session, value: str) -> None:
    assert found(session, value) == {}
    assert of_query(session, "").repair_query == ""


def test_codes_that_lost_their_zeros(session: Session) -> None:
    code = "lpad((i * 97)::VARCHAR, 5, '0')"
    assert found(session, f"CASE WHEN i % 4 = 0 THEN ltrim({code}, '0') ELSE {code} END") == {
        DoubtKind.SHORT_CODE: session.value("SELECT count(*) FROM people WHERE length(zip) < 5 AND zip <> ''")
    }
    assert {len(str(code)) for code in repaired(session) if code} == {5}
    # As a number, a postal code lost them everywhere.
    assert found(session, "i * 97 + 1") == {DoubtKind.SHORT_CODE: 104}
    assert {len(str(code)) for code in repaired(session)} == {5}


def test_spellings(session: Session) -> None:
    names = "['Köln', 'KÖLN', 'Köln ', 'Köln', 'Köln', 'Bonn', 'Bonn', 'it''s', 'Bonn', 'Ulm']"
    assert found(session, f"{names}[1 + i % 10]") == {DoubtKind.SPELLING: 200}
    assert repaired(session) == {"Köln", "Bonn", "it's", "Ulm"}
    assert found(session, "CASE WHEN i % 3 = 0 THEN 'City ' || i % 100 ELSE 'city ' || i % 100 END")
    assert repaired(session) == {f"city {i}" for i in range(100)}


def test_words_for_nothing(session: Session) -> None:
    values = "['Köln', 'unbekannt', 'Unknown ', 'Bonn', NULL]"
    assert found(session, f"{values}[1 + i % 5]") == {DoubtKind.SENTINEL: 400}
    assert repaired(session) == {"Köln", "Bonn", None}


def test_numbers_that_stand_for_nothing(session: Session) -> None:
    assert found(session, "CASE WHEN i % 100 = 7 THEN 999 ELSE i % 90 END") == {DoubtKind.SENTINEL: 10}
    assert repaired(session) == {*range(90), None}
    assert found(session, "CASE WHEN i % 100 = 7 THEN -1 ELSE i % 90 + 0.5 END") == {DoubtKind.SENTINEL: 10}
    # Somebody may be 99 years old.
    assert found(session, "CASE WHEN i % 100 = 7 THEN 99 ELSE i % 97 END") == {}


def test_days_that_stand_for_nothing(session: Session) -> None:
    day = "DATE '1950-01-01' + (i * 17)::INT"
    assert found(session, f"CASE WHEN i % 50 = 7 THEN DATE '1900-01-01' ELSE {day} END") == {DoubtKind.SENTINEL: 20}
    assert None in repaired(session)
    one = f"CASE WHEN i = 7 THEN TIMESTAMP '9999-12-31' ELSE ({day})::TIMESTAMP END"
    assert found(session, one) == {DoubtKind.SENTINEL: 1}
    assert None in repaired(session)


WRITTEN = "strftime(DATE '2019-01-01' + (i * 17 % 1500)::INT, '%d/%m/%Y')"


@pytest.mark.parametrize(
    ("value", "records"),
    [
        ("[1, 2, 97, 98, 99][1 + least(i % 30, 4)]", 932),
        ("CASE WHEN i % 100 = 7 THEN 97 WHEN i % 100 = 8 THEN -99 ELSE 1 + i % 2 END", 20),
        ("CASE WHEN i % 20 = 7 THEN -1 WHEN i % 20 = 8 THEN -2 ELSE 100 * i END", 100),
        ("CASE WHEN i % 100 = 7 THEN -8 WHEN i % 100 = 8 THEN -9 ELSE i % 90 END", 20),
        ("CASE WHEN i % 10 = 7 THEN 99 ELSE 18 + i % 47 END", 100),
        ("CASE WHEN i % 100 = 7 THEN '997' ELSE lpad((1 + i % 300)::VARCHAR, 3, '0') END", 10),
        ("CASE WHEN i % 3 = 0 THEN '-001-11-30' ELSE '2020-05-' || (10 + i % 15) END", 334),
        ("CASE WHEN i % 3 = 0 THEN '9999-99-99' ELSE '2020-05-' || (10 + i % 15) END", 334),
        (f"CASE WHEN i = 7 THEN '01/01/1900' WHEN i = 8 THEN '31/12/9999' ELSE {WRITTEN} END", 2),
        (f"CASE WHEN i % 3 = 0 THEN '1900-01-01' ELSE {WRITTEN} END", 334),
        (f"CASE WHEN i % 9 = 0 THEN '12/31/9999 00:00' WHEN i % 9 = 1 THEN '' ELSE {WRITTEN} END", 112),
        (f"['31.12.9999', '0000-00-00', '01.01.1800', {WRITTEN}][1 + least(i, 3)]", 3),
        ("strftime(DATE '1900-01-01' + i::INT, '%d/%m/%Y')", 0),
        ("CASE WHEN i % 3 = 0 THEN '01/01/1900' ELSE 'word ' || i % 20 END", 0),
        ("CASE WHEN i % 3 = 0 THEN 'NA' ELSE 'word ' || i % 20 END", 334),
        ("['NA', 'DE', 'FR', 'US', 'IT', 'ES', 'PT'][1 + i % 7]", 0),
        ("i % 99 + 1", 0),
        ("90 + i % 10", 0),
        ("CASE WHEN i % 2 = 0 THEN 99 ELSE 97 END", 0),
        ("['m', 'f', '-9', 'm', 'f'][1 + i % 5]", 200),
        ("['m', 'f', '9', 'm', 'f'][1 + i % 5]", 200),
        ("['A', 'B', '99', '999', 'AB'][1 + i % 5]", 400),
        ("['18-24', '25-34', '99', '35-44', '45+'][1 + i % 5]", 200),
        ("CASE WHEN i % 10 = 3 THEN '-99' WHEN i % 10 = 4 THEN '<0.5' ELSE (i % 70 / 10)::VARCHAR END", 100),
        ("[1, 2, 9, 1, 2][1 + i % 5]", 200),
        ("['1', '2', '9', '1', '2'][1 + i % 5]", 200),
        ("CASE WHEN i % 50 = 3 THEN 9 WHEN i % 50 = 4 THEN 7 ELSE 1 + i % 5 END", 40),
        ("CASE WHEN i % 50 = 3 THEN 99 WHEN i % 50 = 4 THEN 9 ELSE 1 + i % 2 END", 40),
        # Counts, grades, wards and seats.
        ("CASE WHEN i = 3 THEN 9 WHEN i % 50 = 4 THEN 2 ELSE i % 2 END", 0),
        ("1 + i % 9", 0),
        ("4 + i % 6", 0),
        ("['K', 'PK', '7', '8', '9', '10'][1 + i % 6]", 0),
        ("['A', '99'][1 + i % 2]", 0),
        ("['12a', '14', '99', '63', '7b'][1 + i % 5]", 0),
    ],
)
def test_codes_of_no_value(session: Session, value: str, records: int) -> None:
    assert found(session, value).get(DoubtKind.SENTINEL, 0) == records
    if records:
        repaired(session)


def test_rare_negative_amounts_are_no_codes(session: Session) -> None:
    assert DoubtKind.SENTINEL not in found(session, "i - 5")


def test_days_after_today(session: Session) -> None:
    day = "today()::DATE - 20000 + (i * 20 % 18000)::INT"
    assert found(session, f"CASE WHEN i % 10 = 7 THEN today()::DATE + 400 ELSE {day} END") == {DoubtKind.FUTURE: 100}
    assert None in repaired(session)
    # Most days of plans are later.
    assert found(session, "today()::DATE - 20 + (i % 200)::INT") == {}
    session.execute("ALTER TABLE people RENAME zip TO born; UPDATE people SET born = born + 40 * 365")
    assert [one.kind for one in of_query(session, "").findings] == [DoubtKind.FUTURE]
    query = of_query(session, "").repair_query
    assert session.value(f"SELECT max(born) < today() AND count(born) = 1000 FROM ({query})")


def test_values_far_outside(session: Session) -> None:
    assert found(session, "CASE WHEN i = 7 THEN 17500 ELSE 150 + i % 50 END") == {DoubtKind.FAR_OUTSIDE: 1}
    assert repaired(session) == {*range(150, 200), None}
    day = "DATE '2024-01-01' + (i % 366)::INT"
    assert found(session, f"CASE WHEN i = 7 THEN DATE '1204-05-01' ELSE {day} END") == {DoubtKind.FAR_OUTSIDE: 1}
    assert None in repaired(session)


def test_a_small_table_has_no_usual_values(session: Session) -> None:
    assert found(session, "CASE WHEN i = 7 THEN 17500 ELSE 150 + i % 50 END", rows=99) == {}


def test_names_of_all_kinds_and_several_faults_in_one_query(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT i AS id, [i] AS scans, CASE WHEN i % 9 = 0 THEN 'ULM' WHEN i % 9 = 1 "
        'THEN \'n/a\' ELSE \'Ulm\' END AS "the ""ort"" from", CASE WHEN i = 3 THEN 999 WHEN i = 4 THEN -500 ELSE i % 5 '
        "END AS größe FROM range(1000) r(i)"
    )
    made = of_query(session, "")
    assert [(one.column, one.kind) for one in made.findings] == [
        ('the "ort" from', DoubtKind.SENTINEL),
        ('the "ort" from', DoubtKind.SPELLING),
        ("größe", DoubtKind.SENTINEL),
        ("größe", DoubtKind.FAR_OUTSIDE),
    ]
    rows = session.rows(made.repair_query)
    assert {row[2] for row in rows} == {"Ulm", None}
    assert {row[3] for row in rows} == {*range(5), None}
    assert of_query(session, made.repair_query).findings == ()
    # The repair of a query is a query, too.
    again = of_query(session, "SELECT * FROM people WHERE id > 2 -- the rest")
    assert len(session.rows(again.repair_query)) == 997
    assert of_query(session, again.repair_query).findings == ()


@pytest.mark.parametrize(
    ("rows", "records"),
    [
        ("'Summe', sum(amount), sum(days), NULL, NULL", 1),
        ("' TOTAL GENERAL:', NULL, 301, NULL, NULL", 1),
        ("NULL, sum(amount), sum(days), NULL, NULL", 1),
        ("NULL, sum(amount), NULL, NULL, NULL", 1),
        ("'Gesamt', sum(amount), NULL, 'x', 'y'", 1),
        ("'Mittelwert', avg(amount), avg(days), NULL, NULL", 1),
        ("'Mittelwert', avg(amount), NULL, NULL, NULL", 1),
        ("NULL, NULL, NULL, NULL, NULL", 1),
        ("'Quelle: a clinic', NULL, NULL, NULL, NULL", 1),
        ("'* preliminary', NULL, NULL, NULL, NULL", 1),
        ("'K0', sum(amount), NULL, 'a', 'b'", 0),
        ("'P1234', NULL, NULL, NULL, NULL", 0),
        ("'total', 5, 6, 'a', 'b'", 0),
        ("'Summer', 5, NULL, NULL, NULL", 0),
    ],
)
def test_rows_that_are_no_records(session: Session, rows: str, records: int) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT 'K' || i AS claim, (100 + i * 7 % 90)::DECIMAL(9, 2) AS amount, "
        "i % 30 AS days, ['f', 'm'][1 + i % 2] AS sex, 'plan ' || i % 4 AS plan FROM range(300) r(i)"
    )
    session.execute(f"INSERT INTO people SELECT {rows} FROM people LIMIT 1")
    made = of_query(session, "")
    assert sum(one.records for one in made.findings if one.kind is DoubtKind.NO_RECORD) == records
    if records:
        assert session.value(f"SELECT count(*) FROM ({made.repair_query})") == 300
        assert of_query(session, made.repair_query).findings == ()
        again = of_query(session, "SELECT * FROM people -- all").repair_query
        assert session.value(f"SELECT count(*) FROM ({again})") == 300


def test_a_table_about_totals_has_no_rows_left_out(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT ['Total', 'f', 'm'][1 + i % 3] AS sex, 'c' || i % 50 AS town, "
        "i AS number, NULL::INT AS share, NULL::INT AS change FROM range(300) r(i)"
    )
    assert [one.kind for one in of_query(session, "").findings] == []
