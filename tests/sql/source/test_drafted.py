"""Facts about columns for drafts: they equal counting by hand, and include nothing unneeded."""

import pytest

from tableveil.backend import Database, Session
from tableveil.drafting import ColumnFacts, guess_role
from tableveil.hierarchy import ValueKind
from tableveil.policy import Role, TableReference
from tableveil.source import drafted, find_table
from tableveil.source.drafted import column_facts, role_facts


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def reference(session: Session) -> TableReference:
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT i AS patient_id, [i] AS scans, nullif(i % 40, 3) AS age, "
        "lpad((i % 90)::VARCHAR, 5, '0') AS zip, 'c' || i % 30 AS code, DATE '2020-02-03' + (i % 9)::INT AS day, "
        "NULL::DOUBLE AS nothing FROM range(400) r(i)"
    )
    found, _ = find_table(session, TableReference("", "main", "people"), "table")
    assert found is not None
    return found


def test_columns_in_table_order(session: Session, reference: TableReference) -> None:
    def facts(name: str, type_: str, kind: ValueKind | None, *counts: int, **known: object) -> ColumnFacts:
        return ColumnFacts(name, type_, kind, 400, *counts, **known)  # type: ignore[arg-type]  # of any field

    assert column_facts(session, reference) == [
        facts("patient_id", "BIGINT", ValueKind.INTEGER, 0, 400, minimum="0", maximum="399", low="3", high="396"),
        facts("scans", "BIGINT[]", None, 0, 0),
        facts("age", "BIGINT", ValueKind.INTEGER, 10, 39, minimum="0", maximum="39", low="0", high="39"),
        facts("zip", "VARCHAR", ValueKind.TEXT, 0, 90, shortest=5, longest=5, digits=True),
        facts("code", "VARCHAR", ValueKind.TEXT, 0, 30, shortest=2, longest=3),
        facts(
            "day",
            "DATE",
            ValueKind.DATE,
            0,
            9,
            minimum="2020-02-03",
            maximum="2020-02-11",
            low="2020-02-03",
            high="2020-02-11",
        ),
        facts("nothing", "DOUBLE", ValueKind.FLOAT, 400, 0),
    ]


def test_roles_are_guessed_alike_by_less(session: Session, reference: TableReference) -> None:
    whole, less = column_facts(session, reference), role_facts(session, reference)
    assert [facts.name for facts in less] == [facts.name for facts in whole]
    assert [guess_role(facts).role for facts in less] == [guess_role(facts).role for facts in whole]
    assert less[0].distinct == 0


def test_wide_tables_are_estimated(
    session: Session, reference: TableReference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafted, "MOST_COLUMNS_COUNTED_EXACTLY", 6)
    estimated = column_facts(session, reference)
    assert not any(facts.exact for facts in estimated)
    assert 300 < estimated[0].distinct <= 400


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["31.12.2024", "1.2.2024", None], "%d.%m.%Y"),
        (["12/31/2024", "01/02/2024"], "%m/%d/%Y"),
        (["31.12.2024", "no date"], ""),
        (["31.12.2024", "12/31/2024"], ""),
        (["1.2.24", "3.4.24"], ""),
        ([None], ""),
        (["2014-03-12", "2014-03", None], "2014-03"),
        (["2014-03", "2014"], "2014-03"),
        (["2014-03-12T10:30", "2014-03-12", "2014"], ""),
        (["2014-03-12T10:30:15", "2014-03"], "2014-03"),
        (["2014-03-UN", "2014-UN-UN", "2014-03-12"], "2014-03"),
        (["2014-03-00", "2014-00-00"], "2014-03"),
        (["2014/03/12", "2014/03"], "2014-03"),
        (["12.03.2014", "03.2014", "2014"], "03.2014"),
        (["03/2014", "12/03/2014"], ""),
        (["2014-03-12", "2014-13"], ""),
        (["2014-03-12", "2014-03-13"], "%Y-%m-%d"),
        (["2014", "2015"], ""),
        (["2014-W05", "2014-W6", None], "2014-W05"),
        (["2014Q1", "2015Q4", "2015"], "2014-W05"),
        (["Q1 2014", "Q4 2015"], "Q1 2014"),
        (["KW 5/2014", "KW 12/2014"], "Q1 2014"),
        (["03/2014", "12/2014"], "Q1 2014"),
        (["03/2014", "13/2014"], ""),
        (["A1 2014", "B2 2015"], ""),
        (["Mar-2014", "DEC-2015", None], "%b-%Y"),
        (["Mar-14", "Dec-15"], "%b-%y"),
        (["Mar 2014", "Dec 2015"], "%b %Y"),
        (["Mar-14", "Dec-2015"], ""),
        (["Mar-14", "Dex-15"], ""),
        (["SNP-14", "SNP-15"], ""),
    ],
)
def test_text_that_is_dates(session: Session, values: list[str | None], found: str) -> None:
    session.execute("CREATE OR REPLACE TABLE dated (born VARCHAR)")
    for value in values:
        session.execute("INSERT INTO dated VALUES (?)", [value])
    [facts] = column_facts(session, TableReference(session.catalog, "main", "dated"))
    assert facts.date_format == found


def test_medical_codes_are_known_by_all_values(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE coded AS SELECT * FROM (VALUES ('J45.0', 'N02BE01', 'A10', 'J45'), ('I10', 'C09AA05', "
        "'B12', '?'), (NULL, NULL, NULL, 'I10.1')) r(what, given, seat, mixed)"
    )
    found, _ = find_table(session, TableReference("", "main", "coded"), "table")
    assert found is not None
    assert [one.codes for one in column_facts(session, found)] == ["ICD", "ATC", "", ""]
    assert guess_role(column_facts(session, found)[0]).role is Role.SENSITIVE
