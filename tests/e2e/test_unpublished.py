"""Publication is part of success: a target that does not take a release fails what waited for it, however it waited."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tableveil.client import Client, UnpublishedError, publications
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publications, "SECONDS_OF_FAILURES", 0.5)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    samples.create(tmp_path / "people.duckdb", people=samples.PEOPLE)
    (tmp_path / "shelf").mkdir()
    release = {"name": "released", "if_exists": "REPLACE", "publish": ["shelf"], "publish_repeat_reason": "a test"}
    policy = samples.policy(repeat_reason="a test", release=release)
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    return tmp_path / "people.duckdb"


def unpublished(outcome: Outcome) -> None:
    said = " ".join(outcome.stderr.split())
    assert (outcome.exit_code, "target 'shelf'" in said) == (11, True), said


def test_on_a_server(database: Path, serve: Serve) -> None:
    policy, shelf = str(database.with_name("policy.json")), database.with_name("shelf")
    server = serve(database, "--publish", f"shelf=directory:{shelf}")

    def run(*arguments: str) -> Outcome:
        return tableveil(*arguments, server=server.address)

    shelf.rename(shelf.with_name("away"))
    failed = run("submit", policy, "--wait", "--json", "--request-id", "night")
    unpublished(failed)
    # The release stands, and is told before the failure.
    *_, release, failure = failed.documents
    assert (release["release"]["name"], failure["failure"]["code"]) == ("releases/1", "UNPUBLISHED")
    with Client(server.address) as client, pytest.raises(UnpublishedError):
        client.wait("1")
    assert run("submit", policy, "--wait", "--request-id", "night", "--on-unpublished", "warn").exit_code == 0
    asked: list[tuple[str, ...]] = [
        ("watch", "1"),
        ("resubmit", "1", "--wait"),
        ("sql", "-c", "REFRESH ANONYMIZED TABLE released"),
        ("publish", "releases/3", "--to", "shelf"),
    ]
    for command in asked:
        unpublished(run(*command))
    warned = run("sql", "--on-unpublished", "warn", "-c", "REFRESH ANONYMIZED TABLE released")
    assert (warned.exit_code, "TARGET_UNWRITABLE" in warned.stderr) == (0, True)
    shelf.with_name("away").rename(shelf)
    assert run("publish", "releases/4", "--to", "shelf").exit_code == 0
    assert run("submit", policy, "--wait").exit_code == 0
    assert [path.name for path in shelf.iterdir()] == ["releases-5.duckdb"]
    # Nobody ever got the first release, and nobody ever will.
    replaced = run("submit", policy, "--wait", "--request-id", "night")
    assert (replaced.exit_code, "replaced or withdrawn" in " ".join(replaced.stderr.split())) == (11, True)


@pytest.mark.long
def test_without_a_server(database: Path, run_once: Callable[..., Outcome]) -> None:
    shelf = database.with_name("shelf")
    assert run_once().exit_code == 0
    assert [path.name for path in shelf.iterdir()] == ["releases-1.duckdb"]
    # The file of the release cannot get its name.
    for number in (2, 3):
        (shelf / f"releases-{number}.duckdb").mkdir()
    unpublished(run_once())
    assert run_once("--on-unpublished", "warn").exit_code == 0


@pytest.fixture
def run_once(database: Path) -> Callable[..., Outcome]:
    """Runs the policy on the database, without a server."""
    target = f"shelf=directory:{database.with_name('shelf')}"

    def run(*options: str) -> Outcome:
        policy = str(database.with_name("policy.json"))
        return tableveil("run", policy, "--database", str(database), "--publish", target, *options)

    return run
