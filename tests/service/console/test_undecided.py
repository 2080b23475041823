"""A release has one set of open points: proposal, dry run, account, console, report and guard tell the same one."""

import html
import io
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from google.protobuf import json_format
from rich.console import Console
from starlette.testclient import TestClient

from tableveil.cli.account import account
from tableveil.cli.dry_run import account_of
from tableveil.client import Client
from tableveil.v1.dry_run_service_pb2 import DryRun, SubmitDryRunRequest
from tableveil.v1.job_service_pb2 import Job
from tableveil.v1.policy_pb2 import Policy
from tableveil.v1.proposal_service_pb2 import (
    READERS_CONTRACT,
    READERS_INSIDE,
    READERS_PUBLIC,
    READERS_UNSPECIFIED,
    Proposal,
    ProposalRequest,
    Readers,
    SubmitProposalRequest,
)
from tableveil.v1.release_service_pb2 import Release
from tableveil.v1.worksheet_service_pb2 import Worksheet
from tests.once import once
from tests.service.access.house import Fields, House, prepare, served
from tests.service.console.conftest import browsing

ROWS = {
    "people": """SELECT hash(i, 9, {0}) AS id, 20 + (hash(i, 1, {0}) % 60)::INT AS age,
      ['f', 'm'][1 + (hash(i, 8, {0}) % 2)::INT] AS sex, (hash(i, 2, {0}) % 4)::VARCHAR AS zip,
      ['flu', 'cancer', 'asthma'][1 + (hash(i, 3, {0}) % 3)::INT] AS illness,
      (DATE '1950-01-01' + (hash(i, 4, {0}) % 9000)::INT) AS born, strftime(born, '%d.%m.%Y') AS seen,
      ['A|B', 'B|C', 'A|C', 'C'][1 + (hash(i, 5, {0}) % 4)::INT] AS codes, (hash(i, 6, {0}) % 100000) / 7 AS amount,
      CASE WHEN i % 40 = 0 THEN DATE '2024-01-01' + (hash(i, 7, {0}) % 300)::INT END AS died FROM range(600) r(i)""",
    "visits": """SELECT hash(i % 150, 9, {0}) AS id, 20 + (hash(id, {0}) % 60)::INT AS age,
      ['f', 'm'][1 + (id % 2)::INT] AS sex,
      ['flu', 'cancer', 'asthma', 'fracture'][1 + (hash(i, 3, {0}) % 4)::INT] AS illness FROM range(600) r(i)""",
}

AGE: Fields = {"intervals": {"minimum": "0", "maximum": "99", "widths": ["10", "50"]}}
HIDDEN: Fields = {"suppression_only": {}}
DATES: Fields = {
    "dates": {"minimum": "1940-01-01", "maximum": "1989-12-31", "units": ["DATE_UNIT_YEAR", "DATE_UNIT_DECADE"]}
}


def generalized(name: str, hierarchy: Fields = HIDDEN, **changes: Any) -> Fields:
    return {"column": name, "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": hierarchy, **changes}


def sensitive(name: str, **changes: Any) -> Fields:
    return {"column": name, "role": "ROLE_SENSITIVE", **changes}


def policy(
    *columns: Fields, table: str = "people", k: int = 5, models: tuple[Fields, ...] = (), **changes: Any
) -> Fields:
    return {
        "source": {"schema": "ward_b", "table": table},
        "attributes": [generalized("age", AGE), generalized("sex"), *columns],
        "default_role": "ROLE_IDENTIFYING",
        "privacy_models": [*([{"k_anonymity": {"k": k}}] * bool(k)), *models],
        "suppression_limit": "0.2",
        **({} if "person_column" in changes else {"rows_are_people": True}),
        **changes,
    }


DIVERSE: Fields = {"distinct_l_diversity": {"column": "illness", "l": 3}}
MEANS = {"role": "ROLE_QUASI_IDENTIFIER", "aggregation": {"function": "AGGREGATE_FUNCTION_MEAN"}}
STATED = {"purpose": "A study", "recipient": "The institute", "legal_basis": "Consent", "risk_threshold": "0.5"}

KINDS: dict[str, tuple[Fields, bool]] = {
    "several records of a person tell more than their models grant": (
        policy(sensitive("illness"), table="visits", person_column="id", models=(DIVERSE,)),
        True,
    ),
    "full domain": (policy(), False),
    "a threshold that is met": (policy(documentation=STATED), False),
    "a threshold that is not": (policy(documentation={**STATED, "risk_threshold": "0.01"}), True),
    "local recoding": (policy(local_recoding={}), False),
    "local recoding above a threshold": (policy(local_recoding={}, documentation={"risk_threshold": "0.01"}), True),
    "a sensitive column without a model": (
        policy(sensitive("illness"), generalized("zip"), generalized("codes"), k=2, suppression_limit="1"),
        False,
    ),
    "a copy that is acknowledged": (
        policy(generalized("born", DATES), sensitive("seen", acknowledged=True, reason="needed")),
        True,
    ),
    "an amount that nearly names": (
        policy(sensitive("amount", acknowledged=True), documentation={"context": "RELEASE_CONTEXT_PUBLIC"}),
        True,
    ),
    "lists that nobody called lists": (policy(sensitive("codes"), k=3), True),
    "lists by element": (
        policy(
            sensitive("codes", elements={"delimiter": "|"}, acknowledged=True, reason="needed"),
            models=({"probabilistic_l_diversity": {"column": "codes", "l": "1.2"}},),
        ),
        True,
    ),
    "a group that is lost": (policy(generalized("died", HIDDEN), suppression_limit="0.1"), True),
    "microaggregation": (
        {**policy(microaggregation={}), "attributes": [{"column": "age", **MEANS}, {"column": "amount", **MEANS}]},
        False,
    ),
    "microaggregation above a threshold": (
        {
            **policy(microaggregation={}, documentation={"risk_threshold": "0.001"}),
            "attributes": [{"column": "age", **MEANS}, {"column": "amount", **MEANS}],
        },
        True,
    ),
    "record level": (
        policy(
            k=0,
            models=({"profitability": {"success": "SUCCESS_JOURNALIST"}},),
            record_level={},
            game={"publisher_benefit": "1200", "publisher_loss": "300", "adversary_gain": "300", "adversary_cost": "4"},
            quality_model={"publisher_payout": {"success": "SUCCESS_JOURNALIST"}},
            suppression_limit="1",
        ),
        False,
    ),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    place = tmp_path_factory.mktemp("undecided")
    prepare(place)
    with duckdb.connect(place / "clinic.duckdb") as connection:
        # Each kind has people of its own: nobody is released twice.
        for number, (fields, _) in enumerate(KINDS.values()):
            rows = ROWS[fields["source"]["table"]].format(number)
            connection.execute(f"CREATE TABLE ward_b.source_{number} AS {rows}")
    with served(place) as house:
        yield house


@pytest.fixture(scope="module")
def steward(house: House) -> Iterator[TestClient]:
    with browsing(house) as browser:
        yield browser("bob")


def source(kind: str) -> Fields:
    return {"schema": "ward_b", "table": f"source_{[*KINDS].index(kind)}"}


def done(client: Client, job: Job) -> Job:
    *_, ended = client.watch_job(job.name)
    return ended


def rehearsed(client: Client, made: Policy) -> DryRun:
    job = done(client, client.submit_analysis(SubmitDryRunRequest(policy=made)))
    assert job.result, job.failure
    return client.get_result(DryRun, job.result)


def by_message(warned: Release) -> set[str]:
    """The warnings that must be decided, as any client of the service gets them."""
    ranks = zip(warned.warnings, warned.warning_ranks, strict=True)
    return {" ".join(text.split()) for text, rank in ranks if rank == 1}


def by_account(shown: Any) -> tuple[set[str], str]:
    """The texts that must be decided by an account, and the statements that it misses."""
    file = io.StringIO()
    Console(file=file, width=10_000, markup=False, highlight=False, emoji=False).print(shown)
    lines = [line.strip() for line in file.getvalue().splitlines()]
    must = {line.partition(": ")[2] for line in lines if line.startswith("must be decided: ")}
    unstated = [line.partition("  ")[2].strip() for line in lines if line.startswith("not stated  ")]
    return must, "".join(unstated)


def by_page(steward: TestClient, name: str) -> tuple[set[str], str]:
    """The texts that must be decided by the page of a dry run, and the statements that it misses."""
    page = html.unescape(steward.get(f"/dry-runs/{name.rpartition('/')[2]}").text)
    must = re.findall(r"<li><strong>must be decided</strong>: (.*?)</li>", page)
    return set(must), "".join(re.findall(r"Nobody has stated in documentation: ([^.]*)\.", page))


def by_report(client: Client, name: str) -> tuple[set[str], set[str], str]:
    """The texts of "To be decided" of a report, those that its annex says must be decided, and the whole report."""
    whole = html.unescape(client.get_report(name).content.decode())
    section = whole.partition("To be decided</h2>")[2].partition("</section>")[0]
    first = set(re.findall(r'<th role="rowheader"[^>]*>(.*?)</th>', section, re.DOTALL))
    annex = re.findall(r">must be decided</th>\s*<td[^>]*>(.*?)</td>", whole, re.DOTALL)
    return first, {" ".join(text.split()) for text in annex}, whole


def shown_on_page_one(first: set[str], decisions: set[str], unstated: str) -> None:
    """Page one has all decisions, or as many as it has room for, and counts the others."""
    wanted = decisions | ({f"Nobody has stated in documentation: {unstated}."} if unstated else set())
    rest = [int(text.split()[0]) for text in first if text.endswith("more: see Warnings.")]
    told = {text for text in first if not text.endswith("more: see Warnings.")}
    assert len(told) + sum(rest) == len(wanted), (first, wanted)
    for text in told:
        begin = text.partition(" … (see Warnings)")[0]
        assert any(one.startswith(begin) for one in wanted), (text, wanted)


@pytest.mark.parametrize("kind", once(KINDS))
def test_the_same_is_open_wherever_it_is_told(house: House, steward: TestClient, kind: str) -> None:
    client, (fields, is_open) = house.clients["bob"], KINDS[kind]
    name = re.sub("[^a-z]", "_", kind)
    target = {"schema": "ward_b", "name": name}
    made = json_format.ParseDict({**fields, "source": source(kind), "release": target}, Policy())
    dry_run = rehearsed(client, made)
    assert not dry_run.refusals
    decisions = by_message(dry_run.release)
    assert bool(decisions) is is_open, decisions
    must, unstated = by_account(account_of(dry_run, everything=True))
    assert must == decisions
    assert bool(unstated) is (made.documentation.purpose == "")
    assert by_page(steward, dry_run.name) == (decisions, unstated)
    first, annex, whole = by_report(client, dry_run.name)
    assert annex == decisions
    shown_on_page_one(first, decisions, unstated)
    assert ("ABOVE" in whole) <= is_open, whole
    # Nothing that is held back is above what is accepted, and the reverse.
    made.release.guards.hold_undecided = True
    held = done(client, client.submit(made))
    assert bool(held.failure.code) is is_open
    assert {fault.found for fault in held.failure.faults} == {text.rstrip(".") for text in decisions}
    if not is_open:
        return
    made.release.guards.hold_undecided = False
    job = done(client, client.submit(made))
    assert {text for text, rank in zip(job.warnings, job.warning_ranks, strict=True) if rank == 1} == decisions
    release = client.get_release(job.result)
    assert by_message(release) == decisions
    assert by_account(account(release, everything=True)) == (decisions, unstated)
    first, annex, whole = by_report(client, release.name)
    assert annex == decisions
    shown_on_page_one(first, decisions, unstated)
    assert "no warning asks for a decision" not in whole


@pytest.mark.parametrize("kind", once([one for one in KINDS if "microaggregation" not in one and "record" not in one]))
@pytest.mark.parametrize("readers", once([READERS_CONTRACT, READERS_PUBLIC, READERS_INSIDE, READERS_UNSPECIFIED]))
def test_a_proposal_says_what_its_releases_will_say(
    house: House, steward: TestClient, kind: str, readers: Readers.ValueType
) -> None:
    client, table = house.clients["bob"], source(kind)
    target = {"schema": "ward_b", "name": "tried"}
    begun = json_format.ParseDict({**KINDS[kind][0], "source": table, "release": target}, Policy())
    asked = ProposalRequest(table=begun.source, readers=readers, policy=begun, time_limit_seconds="40")
    job = done(client, client.submit_analysis(SubmitProposalRequest(proposal=asked)))
    proposal = client.get_result(Proposal, job.result)
    made = [one for one in proposal.alternatives if one.HasField("score")]
    assert made or kind.startswith("lists"), "a model that a proposal adds may allow no release"
    assert [one.recommended for one in made] == [
        place == 0 and not one.decisions and readers != READERS_UNSPECIFIED for place, one in enumerate(made)
    ]
    for one in made[:2]:
        kept = Worksheet(table=begun.source, policy=one.policy, proposal=proposal.name)
        kept.request.readers, kept.request.rows_are_people = readers, one.policy.rows_are_people
        page = html.unescape(steward.get(f"/{client.create_worksheet(kept).name}/release").text)
        opened = page.partition("To be decided</h2>")[2].partition("</section>")[0]
        listed = {text for text in re.findall("<li>(.*?)</li>", opened) if not text.startswith("Nobody has stated")}
        assert listed == {*one.decisions}
        dry_run = rehearsed(client, one.policy)
        assert {*dry_run.refusals} | by_message(dry_run.release) == {*one.decisions}
        _, _, whole = by_report(client, dry_run.name)
        assert not (one.recommended and "ABOVE" in whole)
