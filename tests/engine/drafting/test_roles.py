"""Roles that are guessed from types, names and numbers of values."""

from typing import Any

import pytest

from tableveil.drafting import ColumnFacts, draft_columns, guess_role, guessed_quasi_identifiers, person_column
from tableveil.hierarchy import ValueKind
from tableveil.policy import Role
from tableveil.risk.recurring import PairsAlike

IDENTIFYING, QUASI, SENSITIVE, INSENSITIVE = Role


def facts(name: str, kind: ValueKind | None = ValueKind.INTEGER, **given: Any) -> ColumnFacts:
    known = {"type": "T", "rows": 1000, "nulls": 0, "distinct": 40, "shortest": 1, "longest": 4, **given}
    return ColumnFacts(name, kind=kind, **known)


@pytest.mark.parametrize(
    ("column", "role"),
    [
        (facts("age", None), IDENTIFYING),
        (facts("name", ValueKind.TEXT), IDENTIFYING),
        (facts("age"), QUASI),
        (facts("x", ValueKind.DATE), QUASI),
        (facts("diagnosis", ValueKind.DATE), QUASI),
        (facts("created_at", ValueKind.TIMESTAMP), INSENSITIVE),
        (facts("created_at", ValueKind.TIMESTAMP, distinct=1000), None),
        (facts("salary"), SENSITIVE),
        (facts("salary", distinct=1000), SENSITIVE),
        (facts("x", distinct=1), INSENSITIVE),
        (facts("x", distinct=0, nulls=1000), INSENSITIVE),
        (facts("x", distinct=1, nulls=10), None),
        (facts("email", distinct=1), IDENTIFYING),
        (facts("x"), None),
        (facts("x", distinct=990), IDENTIFYING),
        (facts("x", ValueKind.TEXT, distinct=90, nulls=900), IDENTIFYING),
        (facts("x", ValueKind.FLOAT, distinct=990), None),
        (facts("x", rows=5, distinct=5), None),
        (facts("x", ValueKind.TEXT, distinct=600, longest=500), IDENTIFYING),
        (facts("x", rows=0, distinct=0, shortest=None, longest=None), None),
    ],
)
def test_roles(column: ColumnFacts, role: Role | None) -> None:
    guess = guess_role(column)
    assert guess.role is role
    assert guess.reason.endswith(".")


def test_quasi_identifiers_are_those_that_something_speaks_for() -> None:
    assert guessed_quasi_identifiers([facts("x"), facts("age"), facts("sex")]) == (["age", "sex"], True)


def test_where_nothing_speaks_they_are_all_that_nothing_is_known_of() -> None:
    assert guessed_quasi_identifiers([facts("x"), facts("salary"), facts("y")]) == (["x", "y"], False)


@pytest.mark.parametrize(
    ("columns", "person"),
    [
        ([facts("name", ValueKind.TEXT), facts("patient_id", distinct=1000)], "patient_id"),
        ([facts("patient_id"), facts("row_key", distinct=1000)], "patient_id"),
        *(([facts(row, distinct=1000), facts("ID", distinct=200)], "ID") for row in ("rownames", "X", "id", "uuid")),
        ([facts("id", distinct=1000), facts("clinic_id", distinct=20)], "id"),
        ([facts("id", distinct=1000), facts("ID", distinct=5)], "id"),
        ([facts("row_key", distinct=1000), facts("patient_id", distinct=1000)], "patient_id"),
        ([facts("email", ValueKind.TEXT), facts("customer_id")], "customer_id"),
        ([facts("age"), facts("email", ValueKind.TEXT)], None),
        ([facts("notes", ValueKind.TEXT, distinct=1000, longest=900)], None),
    ],
)
def test_the_column_that_numbers_people(columns: list[ColumnFacts], person: str | None) -> None:
    found = person_column(draft_columns(columns))
    assert (found and found.facts.name) == person


def test_values_of_which_there_are_none_do_not_recur() -> None:
    assert "recur" in guess_role(facts("notes", ValueKind.TEXT, rows=100, distinct=5)).reason
    assert "recur" not in guess_role(facts("notes", ValueKind.TEXT, rows=100, nulls=100, distinct=0)).reason


def test_text_of_which_nearly_each_person_has_an_own_one_identifies() -> None:
    alike = PairsAlike(20, 20, 1.0, 0.1)
    number = facts("PatNr", distinct=300, agreeing=tuple((name, alike) for name in ("Versicherter", "Ort", "Klasse")))
    name, place, other = (
        facts(called, ValueKind.TEXT, distinct=distinct)
        for called, distinct in (("Versicherter", 210), ("Klasse", 30), ("Sonstiges", 210))
    )
    drafts = draft_columns([number, name, place, other])
    assert [draft.role for draft in drafts] == [IDENTIFYING, IDENTIFYING, QUASI, QUASI]
    assert "text of their own" in drafts[1].reason


def test_a_value_is_a_result_beside_columns_of_health() -> None:
    def drafted(*names: str) -> dict[str, tuple[Role, bool]]:
        facts = [ColumnFacts(name, "VARCHAR", ValueKind.TEXT, 400, 0, 30, shortest=1, longest=5) for name in names]
        return {draft.facts.name: (draft.role, draft.decided) for draft in draft_columns(facts)}

    assert drafted("loinc", "lab_value", "unit_x")["lab_value"] == (Role.SENSITIVE, True)
    assert drafted("serious", "term")["term"] == (Role.SENSITIVE, True)
    assert drafted("loan_amnt", "term")["term"] == (Role.QUASI_IDENTIFIER, False)
