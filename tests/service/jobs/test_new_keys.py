"""People who have other keys than in the release that theirs is judged together with, and newcomers who have not."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InternalError, InvalidError
from tableveil.policy import LeftBehind, TableReference
from tableveil.state.releases import Release
from tests.service.jobs.managed import OF_KNOWN_PEOPLE
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
SAME = "'age', 'ward' and 'zip'"

REGISTER = (
    "CREATE OR REPLACE TABLE register AS SELECT (hash(i, 7) % 1000000000)::BIGINT AS id, "
    "(20 + hash(i, 1) % 60)::INTEGER AS age, (hash(i, 2) % 2)::INTEGER AS ward, "
    "'illness ' || hash(i, 3 + month) % 5 AS illness, hash(i, 4) % 40 AS zip FROM range(from_, till) r(i), "
    "(SELECT {} AS month)"
)


def released(database: Database, session: Session, run: Run, month: int, left: LeftBehind | None) -> Release:
    attributes = (*OF_KNOWN_PEOPLE.attributes, replace(OF_KNOWN_PEOPLE.attributes[0], column="zip"))
    return run(
        database,
        replace(
            OF_KNOWN_PEOPLE,
            attributes=attributes,
            source=TableReference("", "main", "register"),
            release=plain_target("main", f"month_{month}", left_behind=left),
        ),
    )


def hold(session: Session, month: int, first: int, last: int) -> None:
    session.execute(REGISTER.format(month).replace("from_", str(first)).replace("till", str(last)))


def renew(session: Session, share: int) -> None:
    """Gives so many percent of the people other keys."""
    session.execute(f"UPDATE register SET id = id + 5000000000 WHERE hash(id, 9) % 100 < {share}")


@pytest.mark.parametrize("share", [50, 15])
def test_people_with_new_keys_are_found(
    database: Database, session: Session, run: Run, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joint classes promise them nothing: REQUIRE is refused, and REPORT tells how many they are."""
    hold(session, 1, 0, 200)
    first = released(database, session, run, 1, None).number
    hold(session, 2, 0, 200)
    renew(session, share)
    new = session.value("SELECT count(*) FROM register WHERE id >= 5000000000")
    told = f"{new} of {new} people whom releases/{first} does not know have the same {SAME} as one of {new}"
    with pytest.raises(InvalidError) as refused:
        released(database, session, run, 2, LeftBehind.REQUIRE)
    assert refused.value.code == "TOGETHER_NEW_KEYS"
    (fault,) = refused.value.faults
    assert fault.found.startswith(told)
    assert "under the keys that they had there" in fault.hint
    assert "left_behind: REPORT" in fault.hint
    if share == 50:
        with monkeypatch.context() as blind:
            # The verification counts by itself what is beyond doubt.
            blind.setattr(import_module("tableveil.lifecycle.together"), "new_keys", lambda *_: None)
            with pytest.raises(InternalError, match="recur under keys"):
                released(database, session, run, 2, LeftBehind.REQUIRE)
    warnings = released(database, session, run, 3, LeftBehind.REPORT).warnings
    assert any(f"People seem to have new keys: {told}" in warning for warning in warnings), warnings


def test_newcomers_are_no_people_with_new_keys(database: Database, session: Session, run: Run) -> None:
    hold(session, 1, 0, 200)
    released(database, session, run, 1, None)
    hold(session, 2, 60, 270)
    warnings = released(database, session, run, 2, LeftBehind.REQUIRE).warnings
    assert not [warning for warning in warnings if "new keys" in warning]


@pytest.mark.parametrize("others", [False, True])
def test_births_show_the_same_people_under_new_keys(
    database: Database, session: Session, run: Run, others: bool
) -> None:
    """Days of birth are nearly unique among few people, and yet number no rows, as days of visits in turn do."""
    attributes = (*OF_KNOWN_PEOPLE.attributes, replace(OF_KNOWN_PEOPLE.attributes[0], column="birth"))

    def release(month: int) -> Release:
        person = 10 * month if others else 10
        session.execute(
            f"CREATE OR REPLACE TABLE register_{month} AS SELECT (hash(i, {month}) % 1000000000)::BIGINT AS id, "
            f"DATE '1930-01-01' + (hash(i, {person + 1}) % 27000)::INTEGER AS birth, (20 + hash(i, {person + 2}) % 4)"
            f"::INTEGER AS age, (hash(i, {person + 3}) % 2)::INTEGER AS ward, 'illness ' || hash(i, {month}) % 5 AS "
            "illness FROM range(300) r(i)"
        )
        source, target = TableReference("", "main", f"register_{month}"), plain_target("main", f"month_{month}")
        return run(database, replace(OF_KNOWN_PEOPLE, attributes=attributes, source=source, release=target))

    release(1)
    if others:
        release(2)
        return
    with pytest.raises(InvalidError) as refused:
        release(2)
    assert refused.value.code == "REPEATED_RELEASE"
    assert "'birth'" in refused.value.faults[0].found


@pytest.mark.parametrize("others", [False, True])
def test_rows_show_the_same_people_under_new_keys_and_names(
    database: Database, session: Session, run: Run, others: bool
) -> None:
    """Columns are the same by their values, where most have other names; other people have them in other rows."""
    hold(session, 1, 0, 300)
    released(database, session, run, 1, None)
    hold(session, 2, 300 * others, 300 * others + 300)
    renew(session, 100)
    session.execute(
        "CREATE TABLE renamed AS SELECT id AS person, age AS lebensalter, ward AS station, illness AS krank, "
        "zip AS plz FROM register ORDER BY hash(id)"
    )
    names = {"id": "person", "age": "lebensalter", "ward": "station", "illness": "krank"}
    attributes = [replace(a, column=names[a.column]) for a in OF_KNOWN_PEOPLE.attributes]
    policy = replace(
        OF_KNOWN_PEOPLE,
        attributes=(*attributes, replace(attributes[0], column="plz")),
        source=TableReference("", "main", "renamed"),
        person_column="person",
        release=plain_target("main", "month_2"),
    )
    if others:
        run(database, policy)
        return
    with pytest.raises(InvalidError) as refused:
        run(database, policy)
    assert refused.value.code == "REPEATED_RELEASE"
    assert "300 of 300 rows have the same" in refused.value.faults[0].found
