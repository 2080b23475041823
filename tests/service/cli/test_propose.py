"""The command `propose`: what it asks for, what it shows, and the files that it writes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tableveil.document import load_policy
from tableveil.statements.render import create_statement
from tableveil.v1 import job_service_pb2, policy_pb2
from tableveil.v1 import proposal_service_pb2 as v1
from tests.file_modes import open_to_others
from tests.service.cli.conftest import Run
from tests.service.client.fake_service import FakeService

NAME = "proposals/2"


def policy(name: str) -> policy_pb2.Policy:
    return policy_pb2.Policy(release=policy_pb2.ReleaseTarget(schema="main", name=name))


@pytest.fixture(autouse=True)
def proposal(service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> v1.Proposal:
    """A job that has made it; files are written to a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    service.jobs["jobs/1"] = job_service_pb2.Job(name="jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED, result=NAME)
    columns = [
        v1.ColumnLeft(column="age", labels=12, loss=0.2),
        v1.ColumnLeft(column="zip\x1b[1m", labels=3, hidden=0.25, loss=0.3),
        v1.ColumnLeft(column="sex", labels=1, hidden=1, erased=True, loss=1),
    ]
    found = service.proposals[NAME] = v1.Proposal(
        name=NAME,
        job="jobs/1",
        source=policy_pb2.TableReference(schema="main", table="visits"),
        records=1200,
        notes=["'patient' numbers the people by its name."],
        findings=[v1.DoubtfulValues(column="age", kind=v1.DOUBT_KIND_SENTINEL, records=7, repair="nullif(age, 999)")],
        repair_query='SELECT nullif("age", 999) AS "age" FROM "visits"',
        alternatives=[
            v1.TriedPolicy(
                policy=policy("best"),
                method="local recoding",
                k=5,
                score=0.25,
                highest_risk=0.2,
                columns=columns,
                recommended=True,
            ),
            v1.TriedPolicy(
                policy=policy("second"),
                method="full domain",
                k=5,
                score=0.5,
                suppressed_records=1100,
                highest_risk=0.2,
                decisions=["'sex' was to be kept."],
            ),
            v1.TriedPolicy(policy=policy("no"), method="full domain", k=10, failure="Nothing meets it.\nWiden it."),
        ],
        recommendation="Recommended is local recoding with k = 5.",
    )
    return found


def asked(service: FakeService) -> v1.ProposalRequest:
    [request] = [one for one in service.requests if isinstance(one, v1.SubmitProposalRequest)]
    return request.proposal


def test_what_people_read(run: Run, tmp_path: Path) -> None:
    result = run("propose", "clinic.visits")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "proposals/2 main.visits, 1,200 records, nothing was released"
    assert "age 7 (0.58 %) a value that stands for none" in lines
    assert "1 local recoding 5 0.2500 0 20 % 1 0" in lines
    assert "2 full domain 5 0.5000 1,100 20 % 0 1" in lines
    assert r"zip\x1b[1m 3, 25 %" in lines
    assert "sex erased" in lines
    assert "full domain, k = 5: 'sex' was to be kept." in lines
    assert lines[lines.index("full domain, k = 10: Nothing meets it.") + 1] == "Widen it."
    assert "Recommended is local recoding with k = 5." in lines
    assert lines[-1] == "Release it with `tableveil submit visits-1.yaml --wait`."
    shown = run("show", NAME).stdout
    assert result.stdout.startswith(shown.rstrip("\n"))


def test_without_a_recommendation_it_names_the_next_answer(run: Run, proposal: v1.Proposal) -> None:
    first = proposal.alternatives[0]
    first.recommended = False
    first.decisions.append("A reader can tell a value of 'diagnosis'.")
    last = run("propose", "clinic.visits").stdout.splitlines()[-1]
    assert last == (
        "Next, decide what is said of local recoding, k = 5 above. Then release it with "
        "`tableveil submit visits-1.yaml --wait`."
    )
    proposal.decisions.append("Nobody has said who gets the release.")
    last = run("propose", "clinic.visits", "--overwrite").stdout.splitlines()[-1]
    assert last == "Next, answer by an option what is to be decided of all policies, and propose again."
    proposal.decisions.clear()
    for one in proposal.alternatives:
        one.ClearField("score")
    assert "Next, " not in run("propose", "clinic.visits", "--overwrite").stdout


def test_the_files(run: Run, proposal: v1.Proposal, tmp_path: Path) -> None:
    assert run("propose", "clinic.visits").exit_code == 0
    policies = ["visits-1.sql", "visits-1.yaml", "visits-2.sql", "visits-2.yaml"]
    assert sorted(os.listdir(tmp_path)) == [*policies, "visits-repaired.sql"]
    assert (tmp_path / "visits-1.sql").read_text().startswith("-- proposals/2: local recoding")
    assert (tmp_path / "visits-1.sql").read_text().endswith(create_statement(policy("best")) + "\n")
    assert load_policy(tmp_path / "visits-1.yaml") == (policy("best"), [])
    assert load_policy(tmp_path / "visits-2.yaml") == (policy("second"), [])
    assert (tmp_path / "visits-repaired.sql").read_text() == proposal.repair_query + "\n"
    assert not any(open_to_others(path) for path in tmp_path.iterdir())


def test_files_are_not_replaced_unasked_and_none_of_an_earlier_proposal_stays(
    run: Run, service: FakeService, proposal: v1.Proposal, tmp_path: Path
) -> None:
    (tmp_path / "visits-4.yaml").write_text("mine")
    assert run("propose", "visits").exit_code != 0
    assert service.requests == []
    proposal.repair_query = ""
    assert run("propose", "visits", "--overwrite").exit_code == 0
    assert sorted(os.listdir(tmp_path)) == ["visits-1.sql", "visits-1.yaml", "visits-2.sql", "visits-2.yaml"]
    assert run("propose", "visits", "--output", str(tmp_path / "other")).exit_code == 0
    assert (tmp_path / "other-1.yaml").exists()


def test_the_query_that_is_proposed_for_stays(run: Run, proposal: v1.Proposal, tmp_path: Path) -> None:
    (tmp_path / "v-repaired.sql").write_text("SELECT 1 AS a\n")
    proposal.repair_query = ""
    assert run("propose", "--query", "v-repaired.sql", "--output", "v", "--overwrite").exit_code == 0
    assert (tmp_path / "v-repaired.sql").read_text() == "SELECT 1 AS a\n"


def test_a_table_of_any_name_makes_files_in_the_directory(run: Run, tmp_path: Path) -> None:
    assert run("propose", "../a/b c", "--schema", "main").exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"_a_b_c-1.yaml"}


def test_what_it_asks_for(run: Run, service: FakeService, tmp_path: Path) -> None:
    run("propose", "clinic.visits")
    assert asked(service) == v1.ProposalRequest(table=policy_pb2.TableReference(schema="clinic", table="visits"))
    service.requests.clear()
    said = ["--readers", "public", "--recurs", "--keep", "sex", "--keep", "zip=2", "--keep", "a=b", "--leave-out", "c"]
    run("propose", "v", *said, "--person", "patient", "--record", "nr", "--seconds", "12.5", "--acknowledge", "x")
    assert asked(service) == v1.ProposalRequest(
        table=policy_pb2.TableReference(table="v"),
        readers=v1.READERS_PUBLIC,
        recurs=True,
        keep=[v1.KeptColumn(column="sex"), v1.KeptColumn(column="zip", maximum_level=2), v1.KeptColumn(column="a=b")],
        leave_out=["c"],
        person_column="patient",
        record_column="nr",
        time_limit_seconds="12.5",
        acknowledge=["x"],
    )
    service.requests.clear()
    (tmp_path / "rows.sql").write_text("SELECT 1 AS a")
    run("propose", "--query", "rows.sql", "--rows-are-people")
    assert (asked(service).source_query, asked(service).rows_are_people) == ("SELECT 1 AS a", True)


def test_answers_in_the_terminal(run: Run, service: FakeService, tmp_path: Path) -> None:
    result = run(
        "propose", "visits", "--ask", "--leave-out", "nr", stdin="inside\ny\nsex, age\n\n\nArt. 9 GDPR\n\n\n\n"
    )
    assert result.exit_code == 0, result.output
    (made, _), (other, _) = (load_policy(tmp_path / f"visits-{number}.yaml") for number in (1, 2))
    assert made.documentation == policy_pb2.Documentation(legal_basis="Art. 9 GDPR")
    assert other.documentation.legal_basis == "Art. 9 GDPR"
    found = asked(service)
    assert (found.readers, found.recurs) == (v1.READERS_INSIDE, True)
    assert ([kept.column for kept in found.keep], list(found.leave_out)) == (["sex", "age"], ["nr"])


def test_documentation_by_options(run: Run, service: FakeService, tmp_path: Path) -> None:
    assert run("propose", "v", "--documentation", "purpose=research=yes", "--output", "visits").exit_code == 0
    made, _ = load_policy(tmp_path / "visits-1.yaml")
    assert made.documentation.purpose == "research=yes"
    for wrong in ("purpse=x", "purpose", "purpose=", "context=PUBLIC"):
        refused = run("propose", "v", "--documentation", wrong)
        assert refused.exit_code != 0
        assert "legal_basis" in refused.output + refused.stderr


def test_as_json(documents: Callable[..., list[Any]]) -> None:
    *_, found = documents("propose", "visits")
    assert found["proposal"]["name"] == NAME
    assert found["proposal"]["alternatives"][0]["recommended"] is True


def test_months_are_asked_for_and_the_table_says_how_long_each_way_lasts(
    run: Run, service: FakeService, proposal: v1.Proposal, tmp_path: Path
) -> None:
    left = [v1.ColumnLeft(column="age", labels=4), v1.ColumnLeft(column="zip", labels=3, hidden=0.25)]
    erased = [v1.ColumnLeft(column="age", labels=1, hidden=1, erased=True)]
    proposal.forecast = "From 4 months of 'month': about 3.0% of a month's people are new."
    proposal.ways.extend(
        [
            v1.ForecastWay(way="every month", fewest_releases=1, most_releases=1, months_each=1, refused=True),
            v1.ForecastWay(
                way="every third month", fewest_releases=2, most_releases=3, months_each=3, refused=True, columns=left
            ),
            v1.ForecastWay(way="16 labels", fewest_releases=3, most_releases=4, months_each=1, policy=policy("short")),
            v1.ForecastWay(way="8 labels", fewest_releases=12, months_each=1, columns=erased, policy=policy("coarser")),
        ]
    )
    said = ("propose", "visits", "--recurs", "--person", "nr", "--record", "visit")
    result = run(*said, "--period", "month")
    assert result.exit_code == 0, result.output
    asked_for = asked(service)
    assert (asked_for.recurs, asked_for.period_column, asked_for.record_column) == (True, "month", "visit")
    assert (asked_for.coming_share, asked_for.leaving_share) == ("", "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    start = lines.index("How long releases of the same people last")
    assert lines[start + 1] == proposal.forecast
    table = lines[start + 2 :]
    assert any(line == "way releases months left of each column in the last one" for line in table)
    for row in (
        "every month 1 1 nothing",
        "every third month 2 to 3 6 to 9 age 4, zip 3, 25 %",
        "16 labels at least 3 at least 3 nothing",
        "8 labels at least 12 at least 12 age erased",
    ):
        assert row in table
    # The way that lasts longest is ready to submit.
    assert load_policy(tmp_path / "visits-coarser.yaml") == (policy("coarser"), [])
    assert (tmp_path / "visits-coarser.sql").read_text().startswith("-- proposals/2: 8 labels.")
    assert any(line.startswith("Written: visits-coarser.yaml and .sql (8 labels)") for line in lines)
    assert run("show", NAME).stdout.rstrip("\n") in result.stdout

    service.requests.clear()
    assert run(*said, "--coming", "0.03", "--leaving", "0.04", "--overwrite").exit_code == 0
    asked_for = asked(service)
    assert (asked_for.period_column, asked_for.coming_share, asked_for.leaving_share) == ("", "0.03", "0.04")
