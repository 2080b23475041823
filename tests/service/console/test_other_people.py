"""Releases that somebody calls those of other people: at a release, a promotion, a publication, and in the report."""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from google.protobuf import json_format
from starlette.testclient import TestClient

from tableveil.errors import InvalidError
from tableveil.v1.faults_pb2 import WARNING_RANK_MUST_BE_DECIDED
from tableveil.v1.policy_pb2 import Policy
from tableveil.v1.release_service_pb2 import RELEASE_STATE_APPROVED, RELEASE_STATE_TRIAL, Release
from tests.service.access.house import House, policy, prepare, served
from tests.service.console.conftest import browsing, csrf

STATED = "Stated by bob, and not counted: releases/1 are of other people."
ROWS = "SELECT age, ward, illness, code FROM ward_b.staff WHERE id {}"
SAME = ROWS.format("< 200")
OTHERS = iter([ROWS.format(f"BETWEEN {first} AND {first + 59}") for first in range(300, 600, 60)])
"""Others each time: rows that were released are known again."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With releases/1 of a half of the staff, which the name of the table alone takes for the other half as well."""
    place: Path = tmp_path_factory.mktemp("others")
    prepare(place)
    with duckdb.connect(place / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE ward_b.staff AS SELECT i AS id, (hash(i, 1) % 60)::INT AS age, hash(i, 2) % 4 AS ward, "
            "hash(i, 3) % 5 AS illness, hash(i, 4) AS code FROM range(600) r(i)"
        )
    (place / "shelf").mkdir()
    with served(place, publish=(f"shelf=directory:{place / 'shelf'}",)) as house:
        made(house, ROWS.format("< 300"), "first", publish=["shelf"])
        yield house


@pytest.fixture(scope="module")
def steward(house: House) -> Iterator[TestClient]:
    with browsing(house) as browser:
        yield browser("bob")


def asked(query: str, name: str, publish: list[str] | None = None, **changes: Any) -> Policy:
    release = {"schema": "ward_b", "name": name, "publish": publish or []}
    fields = policy("ward_b", source_query=query, release=release, **{"repeat_reason": "", **changes})
    return json_format.ParseDict(fields, Policy())


def made(house: House, query: str, name: str, *, trial: bool = False, **changes: Any) -> Release:
    client = house.clients["bob"]
    *_, job = client.watch_job(client.submit(asked(query, name, **changes), trial=trial).name)
    assert job.result, job.failure
    return client.get_release(job.result)


def first_page(house: House, name: str) -> str:
    page = html.unescape(house.clients["bob"].get_report(name).content.decode())
    return page.partition("To be decided</h2>")[2].partition("</section>")[0]


def test_without_it_a_release_by_the_name_of_its_table_is_refused(house: House) -> None:
    with pytest.raises(InvalidError) as refused:
        house.clients["bob"].submit(asked(ROWS.format(">= 300"), "refused"))
    (fault,) = refused.value.faults
    assert (fault.field, "If they are other people" in fault.hint) == ("repeat_reason", True)


def test_a_release_says_it_to_its_report_and_leaves_nothing_to_decide(house: House) -> None:
    release = made(house, next(OTHERS), "second", other_people=["releases/1"])
    assert not [one for one in release.guarantees if one.model.startswith("joint_k")]
    assert WARNING_RANK_MUST_BE_DECIDED not in [one.rank for one in release.ranked_warnings]
    assert STATED in first_page(house, release.name)


def promoted(steward: TestClient, name: str, **form: str) -> str:
    """The address that promotion leads to, or the page with its faults."""
    page = steward.get(f"/{name}").text
    answer = steward.post(f"/{name}/promote", data={"csrf": csrf(page), "repeat_reason": "", **form})
    return html.unescape(str(answer.headers.get("location", answer.text)))


def test_a_trial_is_promoted_by_it_in_the_console(house: House, steward: TestClient) -> None:
    trial = made(house, next(OTHERS), "by_console", trial=True)
    assert trial.state == RELEASE_STATE_TRIAL
    assert 'id="fault-repeat_reason"' in promoted(steward, trial.name)
    assert 'id="fault-other_people"' in promoted(steward, trial.name, other_people="shelf")
    known = ", ".join(f"releases/{number}" for number in range(1, int(trial.name.partition("/")[2])))
    assert promoted(steward, trial.name, other_people=known) == f"/{trial.name}"
    release = house.clients["bob"].get_release(trial.name)
    assert (release.state, list(release.policy.other_people)) == (RELEASE_STATE_APPROVED, known.split(", "))
    assert f"Stated by bob, and not counted: {known} are of other people." in first_page(house, trial.name)


def test_rows_that_recur_are_no_other_people_at_a_promotion(house: House, steward: TestClient) -> None:
    trial = made(house, SAME, "of_the_same", trial=True)
    page = promoted(steward, trial.name, other_people="releases/1")
    told = page.partition('id="fault-other_people"')[2].partition("</span>")[0]
    assert "releases/1, although" in told
    assert "expected releases of other people" in told
    for statement in (f"PROMOTE RELEASE {trial.name[9:]} OTHER PEOPLE (1)", "PROMOTE RELEASE 99 OTHER PEOPLE ()"):
        with pytest.raises(InvalidError):
            house.clients["bob"].execute(statement)
    assert house.clients["bob"].get_release(trial.name).state == RELEASE_STATE_TRIAL


def test_a_statement_promotes_by_it(house: House) -> None:
    trial = made(house, next(OTHERS), "by_statement", trial=True)
    number = int(trial.name.partition("/")[2])
    others = ", ".join(map(str, range(1, number)))
    answer = house.clients["bob"].execute(f"PROMOTE RELEASE {number} OTHER PEOPLE ({others})")
    assert answer.release.state == RELEASE_STATE_APPROVED
    assert list(answer.release.policy.other_people) == [f"releases/{one}" for one in range(1, number)]


def test_a_publication_says_it_by_the_one_who_asks(house: House) -> None:
    """Readers of the shelf have releases/1: of its people by name, or by rows."""
    client = house.clients["bob"]
    same = made(house, SAME, "of_the_same_again", repeat_reason="asked for")
    with pytest.raises(InvalidError) as refused:
        client.publish_release(same.name, "shelf", other_people=["releases/1"])
    assert (refused.value.code, refused.value.faults[0].field) == ("SAME_PEOPLE", "other_people")
    other = made(house, next(OTHERS), "of_others_again", repeat_reason="asked for")
    with pytest.raises(InvalidError) as refused:
        client.publish_release(other.name, "shelf")
    assert refused.value.code == "REPEATED_PUBLICATION"
    published = client.publish_release(other.name, "shelf", other_people=["releases/1"])
    assert [list(one.other_people) for one in published.publications] == [["releases/1"]]
    assert STATED.replace("bob", "bob for shelf") in first_page(house, other.name)
