"""Names of targets tell recipients: who may see all releases sees them, others see those of their own releases."""

import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.errors import DeniedError, InvalidError
from tests.service.access.house import ADMIN, House, policy, prepare, served, submitted

NAMES = ("acme_insurance", "ministry")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A release of ward_b is published to the ministry, and nothing to the insurance."""
    place = tmp_path_factory.mktemp("targets")
    prepare(place)
    for name in NAMES:
        (place / name).mkdir()
    with served(place, publish=tuple(f"{name}=directory:{place / name}" for name in NAMES)) as house:
        document = policy("ward_b")
        document["release"]["publish"] = ["ministry"]
        submitted(house, "bob", "JobService/SubmitJob", policy=document)
        submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a"))
        deadline = time.monotonic() + 60
        while not house.clients["admin"].list_targets()[1].published:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        house.access.add(ADMIN, WantedGrant("ops", False, AccessRole.AUDITOR, Scope()))
        house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.STEWARD, Scope()))
        house.access.add(ADMIN, WantedGrant("rel", False, AccessRole.ADMIN, Scope("ward_a")))
        yield house


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        *((who, [(NAMES[0], 0), (NAMES[1], 1)]) for who in ("admin", "ops", "pat")),
        *((who, [(NAMES[1], 1)]) for who in ("bob", "aud")),
        *((who, []) for who in ("ann", "tab", "rel")),
    ],
)
def test_targets_are_told_to_those_who_may_know_the_recipients(
    house: House, who: str, seen: list[tuple[str, int]]
) -> None:
    found = house.clients[who].list_targets()
    assert [(one.name, one.published) for one in found] == seen
    assert all(one.declared and not one.waiting and not one.failed for one in found)


@pytest.mark.parametrize("who", ["eve", "app", "non"])
def test_nobody_else_gets_the_list(house: House, who: str) -> None:
    with pytest.raises(DeniedError):
        house.clients[who].list_targets()


@pytest.mark.parametrize(("who", "told"), [("ann", False), ("bob", True)])
def test_a_misspelt_target_is_corrected_for_those_alone_who_know_it(house: House, who: str, told: bool) -> None:
    number = {"bob": 1, "ann": 2}[who]
    with pytest.raises(InvalidError) as error:
        house.clients[who].publish_release(f"releases/{number}", "ministri")
    assert error.value.code == "TARGET_UNKNOWN"
    assert ("ministry" in str(error.value.faults)) == told


def test_a_target_that_was_taken_away_is_still_told(tmp_path: Path) -> None:
    """Its readers still have what was published there."""
    prepare(tmp_path)
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute(
            "INSERT INTO tableveil.publications BY NAME SELECT 1 AS release, 'ministry' AS target, 'bob' AS "
            "requested_by, now()::TIMESTAMP AS requested_at, '' AS repeat_reason, true AS wanted, "
            "'PUBLISHED' AS state, 0 AS attempts, '' AS code, '' AS problem, now()::TIMESTAMP AS published_at"
        )
    with served(tmp_path) as house:
        (target,) = house.clients["admin"].list_targets()
        assert (target.name, target.declared, target.published) == ("ministry", False, 1)
        assert not house.clients["ann"].list_targets()
