"""From a table of which nothing is known to a release: draft, decide, submit."""

import re
from pathlib import Path

import duckdb
import pytest

from tableveil.client import Client
from tableveil.demo.discharges import create_discharges
from tableveil.errors import InvalidError
from tableveil.v1 import draft_service_pb2, policy_pb2
from tableveil.v1.risk_service_pb2 import RiskRequest, SubmitRiskAnalysisRequest
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, ServerProcess

DECIDED = re.compile(
    r"^( *)# (?=(?:role|hierarchy|rows_are_people|person_column|privacy_models|acknowledged):|  +\S)", re.MULTILINE
)
ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult" / "data.csv"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("draft") / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        create_discharges(connection, "discharges", 2000, seed=1)
        if ADULT.exists():
            connection.execute(f"CREATE TABLE adult AS FROM read_csv('{ADULT}', delim = ';', header = true)")
    return path


@pytest.fixture(scope="module")
def server(serve_all_along: Serve, database: Path) -> ServerProcess:
    return serve_all_along(database)


def test_a_draft_becomes_a_release(server: ServerProcess, database: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    drafted = tableveil("draft-policy", "discharges", "--output", str(file), server=server.address)
    assert drafted.exit_code == 0, drafted.stderr
    refused = tableveil("submit", str(file), server=server.address)
    assert refused.exit_code == 2
    assert {"person_column", "privacy_models"} <= set(re.findall(r"^  (\S+)$", refused.stderr, re.MULTILINE))
    decided = DECIDED.sub(r"\1", file.read_text())
    file.write_text(decided.replace('time_limit_seconds: "30"', 'time_limit_seconds: "2"'))
    submitted = tableveil("submit", str(file), "--wait", server=server.address)
    assert submitted.exit_code == 0, submitted.stderr
    with Client(server.address) as client:
        released = client.read_table("releases/1", "discharges_released")
    assert released.num_rows >= 1900
    assert not {"patient_id", "name"} & set(released.column_names)


def test_a_mistyped_table_is_named(server: ServerProcess) -> None:
    mistyped = tableveil("draft-policy", "discharge", server=server.address)
    assert (mistyped.exit_code, mistyped.stdout) == (8, "")
    assert "Did you mean 'discharges'" in mistyped.stderr


@pytest.mark.skipif(not ADULT.exists(), reason="the census data is not here")
def test_the_roles_of_census_data(server: ServerProcess) -> None:
    with Client(server.address) as client:
        draft = client.draft_policy(policy_pb2.TableReference(table="adult"))
    roles = {attribute.column: attribute.role for attribute in draft.policy.attributes}
    assert roles.pop("salary-class") == policy_pb2.ROLE_SENSITIVE
    assert set(roles.values()) == {policy_pb2.ROLE_QUASI_IDENTIFIER}
    left = [remark.field for remark in draft.remarks if remark.kind == draft_service_pb2.DRAFT_REMARK_KIND_DECIDE]
    assert left == ["rows_are_people", "privacy_models"]


def test_risk_first(server: ServerProcess) -> None:
    sets = ("--compare", "age,sex", "--compare", "age,sex,zip_code")
    compared = tableveil("risk", "discharges", *sets, server=server.address)
    assert compared.exit_code == 0, compared.stderr
    assert "Side by side" in compared.stdout
    guessed = tableveil("risk", "discharges", server=server.address)
    assert re.search(r"^guessed columns +.*\bage\b.*\bsex\b.*\bzip_code\b", guessed.stdout, re.MULTILINE)
    assert "are guessed by names and types" in guessed.stdout


def test_a_policy_of_last_year_is_widened(server: ServerProcess) -> None:
    """The file of the next year fails, until its days are covered."""
    policy = samples.message(
        {
            "source": {"table": "discharges"},
            "person_column": "patient_id",
            "default_role": "IDENTIFYING",
            "attributes": [
                samples.attribute(
                    "age",
                    "QUASI_IDENTIFIER",
                    hierarchy={"intervals": {"minimum": "20", "maximum": "59", "widths": ["20"]}},
                )
            ],
            "privacy_models": [{"k_anonymity": {"k": 5}}],
            "suppression_limit": "0.1",
            "repeat_reason": "a test",
            "release": {"name": "widened"},
        }
    )
    with Client(server.address) as client:
        job = client.submit(policy)
        with pytest.raises(InvalidError, match="age"):
            client.wait(job.name)
        again = client.wait(client.resubmit_job(job.name, widen=True).name)
        rule = client.get_release(again.result).policy.attributes[0].hierarchy.intervals
        assert (int(rule.minimum), int(rule.maximum) >= 79, rule.loss_range.maximum) == (0, True, "59")
        assert list(client.widen_policy(policy).columns) == ["age"]
        assert list(client.widen_policy(client.get_release(again.result).policy).columns) == []
        analysis = client.submit_analysis(SubmitRiskAnalysisRequest(risk=RiskRequest(table=policy.source)))
        client.wait(analysis.name)
        with pytest.raises(InvalidError, match="without a policy"):
            client.resubmit_job(analysis.name, widen=True)
