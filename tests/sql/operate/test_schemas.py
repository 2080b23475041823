"""Schemas that an admin makes: under names that the database and its readers can tell apart."""

import pytest

from tableveil.backend import Session
from tableveil.errors import ConflictError, InvalidError
from tableveil.operate import create_schema


@pytest.mark.parametrize("name", ["research", 'of "ours" ; x', "Fälle 2026", "select"])
def test_a_schema(session: Session, name: str) -> None:
    create_schema(session, name)
    assert name in session.schemas()
    with pytest.raises(ConflictError) as raised:
        create_schema(session, name.upper())
    assert raised.value.code == "SCHEMA_EXISTS"


@pytest.mark.parametrize(
    "name",
    ["", " ", " x", "a\u200bb", "a\nb", "ä" * 32, "Tableveil", "information_schema", "PG_CATALOG", "temp", "Clinic"],
)
def test_names_that_no_schema_may_have(session: Session, name: str) -> None:
    before = session.schemas()
    with pytest.raises(InvalidError) as raised:
        create_schema(session, name)
    assert raised.value.code == "SCHEMA_INVALID"
    assert session.schemas() == before
