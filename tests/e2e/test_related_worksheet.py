"""A policy of related tables in the console: written into a worksheet, edited, rehearsed, tried, and promoted."""

import re
from pathlib import Path

from starlette.testclient import TestClient

from tableveil.client import Client
from tableveil.v1 import access_pb2, dry_run_service_pb2, policy_pb2, proposal_service_pb2
from tests.e2e.commands import tableveil
from tests.e2e.process import ServerProcess
from tests.e2e.test_related import POLICY, browsing, made, place, server, words

__all__ = ["place", "server"]


def posted(browser: TestClient, page: str, to: str = "", **fields: object) -> str:
    """Sends a form of a page with the secret and the etag that stand there; returns the path to which it leads."""
    text = browser.get(page).text
    hidden = {name: re.findall(f'name="{name}" value="([^"]*)"', text)[:1] for name in ("csrf", "etag")}
    answer = browser.post(to or page, data={**hidden, **fields}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_a_worksheet_holds_a_policy_of_related_tables(server: ServerProcess) -> None:
    roles = [access_pb2.ACCESS_ROLE_STEWARD, access_pb2.ACCESS_ROLE_OPERATOR]
    with Client(server.address) as admin, browsing(server.address) as browse:
        secret = admin.create_token("ann", "test", roles).secret
        ann = browse(secret)
        client = Client(server.address, secret)
        kept = posted(ann, "/tables/upload", "/worksheets", schema="main", table="patients")
        assert "begin a worksheet of all of them" in words(ann, kept)
        assert posted(ann, f"{kept}/policy", policy=POLICY, action="save") == f"{kept}/policy"

        decide = words(ann, kept)
        assert "|pid numbers the people of patients, whose events are in visits, labs." in decide
        assert all(f"|{column}|" in decide for column in ("pid", "visits.pid", "lab.pid", "lab.code"))
        assert "2023-01" in words(ann, f"{kept}/labels?column=visits.began")
        assert "|rows|of the tables patients, visits, labs|" in words(ann, f"{kept}/release")

        # Each column keeps its table: a role is given, taken, and given again with labels of a draft.
        columns = [f"{one.table}.{one.column}" for one in client.get_worksheet("worksheets/1").policy.attributes]
        code = f"role-{columns.index('lab.code')}"
        for role in (policy_pb2.ROLE_IDENTIFYING, policy_pb2.ROLE_QUASI_IDENTIFIER):
            assert posted(ann, kept, action="save", **{code: str(int(role))}) == kept
            policy = client.get_worksheet("worksheets/1").policy
            assert [f"{one.table}.{one.column}" for one in policy.attributes] == columns
            assert policy.attributes[columns.index("lab.code")].role == role
        assert policy.attributes[columns.index("lab.code")].HasField("hierarchy")

        job = posted(ann, f"{kept}/release", f"{kept}/rehearse")
        dry_run = client.get_result(dry_run_service_pb2.DryRun, client.wait(job.partition("?")[0][1:]).result)
        assert dry_run.release.policy.tables.events[1].table == "labs"
        assert "Rows of 'lab' per person" in words(ann, f"/dry-runs/{dry_run.name.partition('/')[2]}")
        trial = posted(ann, f"{kept}/release", f"{kept}/submit", action="trial", target="main.clinic")
        tried = client.wait(trial.partition("?")[0][1:]).result
        promoted = posted(ann, f"/{tried}", f"/{tried}/promote", target="main.clinic")
        objects = client.get_release(promoted[1:]).objects
        assert {"clinic", "clinic_visits", "clinic_lab"} <= {each.name for each in objects}
        client.close()


def test_a_worksheet_of_people_and_their_events_compares_known_facts(server: ServerProcess, place: Path) -> None:
    roles = [access_pb2.ACCESS_ROLE_STEWARD, access_pb2.ACCESS_ROLE_OPERATOR]
    with Client(server.address) as admin, browsing(server.address) as browse:
        secret = admin.create_token("ann", "test", roles).secret
        ann, client = browse(secret), Client(server.address, secret)
        table = "/tables/one?schema=main&table=patients"
        assert all(f'name="events" value="{name}"' in ann.get(table).text for name in ("visits", "labs"))
        begun = {"schema": "main", "table": "patients", "events": ["visits", "labs"]}
        kept = posted(ann, table, "/worksheets", **begun)
        drafted = client.get_worksheet(kept[1:]).policy
        assert [one.table for one in drafted.tables.events] == ["visits", "labs"]
        readers = str(int(proposal_service_pb2.READERS_CONTRACT))
        job = posted(ann, kept, action="propose", readers=readers)
        name = client.wait(job.partition("?")[0][1:]).result
        compared = words(ann, f"{kept}/compare")
        assert "Recommended is full domain, two known facts, with k = 5" in compared
        assert compared.count("Rows of 'visits' per person: 2.50 in the source") == 2
        chosen = posted(ann, f"{kept}/compare", f"{kept}/choose", alternative="0", proposal=name)
        assert chosen == f"{kept}/release"
        policy = client.get_worksheet(kept[1:]).policy
        assert [one.known_facts.m for one in policy.privacy_models if one.HasField("known_facts")] == [2]
        trial = posted(ann, f"{kept}/release", f"{kept}/submit", action="trial", target="main.clinic")
        assert client.wait(trial.partition("?")[0][1:]).result
        made(client, place)
        offered = re.findall('name="events" value="([^"]*)"', ann.get(table).text)
        assert offered == ["labs", "visits"], "released tables are no events of these people"
        client.close()


def test_figures_of_the_people_of_a_release_name_their_events(server: ServerProcess, place: Path) -> None:
    with Client(server.address) as client:
        name = made(client, place).name
    for command in ("risk", "utility"):
        told = tableveil(command, name, server=server.address)
        assert told.exit_code == 0, told.stderr
        text = " ".join((told.stdout + told.stderr).split())
        assert ("'clinic_known_rows' counts whom few keys fit" in text) == (command == "risk")
        assert ("Rows of 'visits' and 'lab' are not measured here" in text) == (command == "utility")
