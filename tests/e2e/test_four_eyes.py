"""Four eyes over a real server: a steward releases, another person approves, an analyst reads, each by a token."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tableveil.client import Client
from tableveil.errors import ConflictError, DeniedError, InvalidError, NotFoundError
from tableveil.statements.render import create_statement
from tableveil.v1 import access_pb2, release_service_pb2
from tests.e2e import samples
from tests.e2e.process import Serve

ROLES = {
    "steward": [access_pb2.ACCESS_ROLE_STEWARD],
    "approver": [access_pb2.ACCESS_ROLE_APPROVER],
    "analyst": [access_pb2.ACCESS_ROLE_ANALYST],
    "both": [access_pb2.ACCESS_ROLE_STEWARD, access_pb2.ACCESS_ROLE_APPROVER],
}


@pytest.fixture(scope="module")
def people(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Client]]:
    """A client for each person, called like the role."""
    path = tmp_path_factory.mktemp("eyes") / "people.duckdb"
    samples.create(path, people=samples.PEOPLE)
    server = serve_all_along(path, "--needs-approval", "main")
    with ExitStack() as opened:
        admin = opened.enter_context(Client(server.address))
        secrets = {name: admin.create_token(name, "test", roles).secret for name, roles in ROLES.items()}
        yield {name: opened.enter_context(Client(server.address, secret)) for name, secret in secrets.items()}


def released(client: Client, name: str) -> str:
    """The name of a release that waits."""
    policy = samples.message(samples.policy(target=name, repeat_reason="a test"))
    return client.wait(client.submit(policy).name).result


def test_a_release_is_seen_once_another_person_approves_it(people: dict[str, Client]) -> None:
    steward, approver, analyst = people["steward"], people["approver"], people["analyst"]
    name = released(steward, "seen")
    assert list(analyst.list_releases()) == []
    for ask in (analyst.get_release, lambda release: analyst.read_table(release, "seen")):
        with pytest.raises(NotFoundError):
            ask(name)
    with pytest.raises(DeniedError):
        steward.approve_release(name, "agreed")
    with pytest.raises(DeniedError):
        analyst.approve_release(name, "agreed")
    assert approver.get_release(name).state == release_service_pb2.RELEASE_STATE_PENDING
    with pytest.raises(ConflictError):
        approver.read_table(name, "seen")

    approved = approver.approve_release(name, "agreed")

    assert (approved.decided_by, approved.decision_note) == ("approver", "agreed")
    assert [release.name for release in analyst.list_releases()] == [name]
    assert analyst.read_table(name, "seen").num_rows == approved.records - approved.suppressed_records


def test_a_trial_is_its_makers_alone_until_it_is_promoted(people: dict[str, Client]) -> None:
    steward, both, approver, analyst = (people[name] for name in ("steward", "both", "approver", "analyst"))
    policy = samples.message(samples.policy(target="tried", repeat_reason="a test"))
    name = steward.wait(steward.submit(policy, trial=True).name).result
    assert steward.get_release(name).state == release_service_pb2.RELEASE_STATE_TRIAL
    assert name in [release.name for release in steward.list_releases()]
    for other in (both, approver, analyst):
        assert name not in [release.name for release in other.list_releases()]
        with pytest.raises(NotFoundError):
            other.get_release(name)
        with pytest.raises(NotFoundError):
            other.read_table(name, "tried")
    with pytest.raises(NotFoundError):
        both.promote_release(name)
    with pytest.raises(NotFoundError):
        approver.approve_release(name, "fine")
    with pytest.raises(ConflictError):
        steward.read_table(name, "tried")

    assert steward.promote_release(name).state == release_service_pb2.RELEASE_STATE_PENDING
    assert approver.approve_release(name, "agreed").current
    again = create_statement(samples.message(samples.policy(target="again")))
    statement = again.replace("ANONYMIZED TABLE", "ANONYMIZED TRIAL", 1)
    tried = steward.wait(steward.execute(statement).job.name).result
    number = tried.rpartition("/")[2]
    with pytest.raises(InvalidError, match="none, although"):
        steward.execute(f"PROMOTE RELEASE {number}")
    promoted = steward.execute(f"PROMOTE RELEASE {number} BECAUSE 'another question'").release
    assert (promoted.state, promoted.policy.repeat_reason) == (
        release_service_pb2.RELEASE_STATE_PENDING,
        "another question",
    )


def test_nobody_approves_their_own_release(people: dict[str, Client]) -> None:
    name = released(people["both"], "own")
    for decide in (people["both"].approve_release, people["both"].reject_release):
        with pytest.raises(ConflictError, match="you made"):
            decide(name, "mine")
    people["approver"].reject_release(name, "not needed")
    assert people["both"].get_release(name).state == release_service_pb2.RELEASE_STATE_REJECTED
    with pytest.raises(NotFoundError):
        people["analyst"].get_release(name)
