"""Results of a release for an approver, over a real server: none shows a value that only suppressed people have."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from google.protobuf.message import Message

from tableveil.client import Client
from tableveil.v1 import access_pb2
from tableveil.v1 import classification_service_pb2 as classes
from tableveil.v1 import dry_run_service_pb2 as dry_run
from tableveil.v1 import report_service_pb2 as reports
from tableveil.v1 import risk_service_pb2 as risk
from tableveil.v1 import utility_service_pb2 as utility
from tests.e2e import samples
from tests.e2e.process import Serve

PEOPLE = """
    SELECT i AS id, 'about ' || 30 + i % 2 AS age, ['flu', 'cold'][1 + i % 2] AS illness, 100 + i % 3 AS charge
    FROM range(60) r(i)
    UNION ALL SELECT 1001, 'methuselah', 'rarity', 98765
"""
ROWS = [[age, "*"] for age in ("about 30", "about 31", "methuselah")]
QUERY = "SELECT * FROM people WHERE illness <> 'secret'"
POLICY = samples.policy(
    source_query=QUERY,
    attributes=[
        samples.attribute("id", "IDENTIFYING"),
        samples.attribute("age", "QUASI_IDENTIFIER", hierarchy={"inline": {"rows": ROWS}}),
        samples.attribute("illness", "SENSITIVE"),
        samples.attribute("charge", "INSENSITIVE", acknowledged=True),
    ],
)
DOCUMENT = {key: value for key, value in POLICY.items() if key != "source"}
pytestmark = pytest.mark.long

Made = tuple[Client, Client, str, dict[type[Message], str]]
"""The steward, the approver, the release, and the other results by their kinds."""

VALUES = ("methuselah", "rarity", "98765", "secret")


@pytest.fixture(scope="module")
def made(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    path = tmp_path_factory.mktemp("reviewed") / "people.duckdb"
    samples.create(path, people=PEOPLE)
    server = serve_all_along(path, "--needs-approval", "main")
    roles = {"steward": access_pb2.ACCESS_ROLE_STEWARD, "approver": access_pb2.ACCESS_ROLE_APPROVER}
    with ExitStack() as opened:
        admin = opened.enter_context(Client(server.address))
        secrets = {name: admin.create_token(name, "test", [role]).secret for name, role in roles.items()}
        steward, approver = (opened.enter_context(Client(server.address, secrets[name])) for name in roles)
        policy = samples.message(DOCUMENT)
        release = steward.wait(steward.submit(policy).name).result
        measured = utility.UtilityRequest(release=release)
        assessed = classes.ClassificationRequest(
            release=release, classes=["illness"], folds=2, classifiers=[classes.CLASSIFIER_NAIVE_BAYES]
        )
        analyzed = risk.RiskRequest(source_query=QUERY, quasi_identifiers=["age"])
        asked: dict[type[Message], Message] = {
            utility.UtilityReport: utility.SubmitUtilityReportRequest(utility=measured),
            classes.ClassificationReport: classes.AssessClassifiersRequest(classification=assessed),
            risk.RiskAnalysis: risk.SubmitRiskAnalysisRequest(risk=analyzed),
            dry_run.DryRun: dry_run.SubmitDryRunRequest(policy=policy),
        }
        made = {kind: steward.wait(steward.submit_analysis(one).name).result for kind, one in asked.items()}
        yield steward, approver, release, made


def test_nothing_that_an_approver_gets_shows_a_value_of_suppressed_people(made: Made) -> None:
    steward, approver, release, results = made
    people = (steward, approver)
    texts = {name: [str(one.get_result(kind, name)) for one in people] for kind, name in results.items()}
    texts |= {f"list of {kind.__name__}": [str(list(one.list_results(kind))) for one in people] for kind in results}
    texts[release] = [str(one.get_release(release)) for one in people]
    for name in (release, results[dry_run.DryRun]):
        texts[f"report of {name}"] = [one.get_report(name).content.decode() for one in people]
    assert {value for value in VALUES if any(value in owned for owned, _ in texts.values())} == set(VALUES)
    assert [(name, value) for name, (_, seen) in texts.items() for value in VALUES if value in seen] == []
    assert approver.get_report(release).audience == reports.REPORT_AUDIENCE_OWNER
