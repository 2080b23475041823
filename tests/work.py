"""Every kind of work that a server does, on one small table of the adversary's."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tableveil.client import Client
from tableveil.v1 import classification_service_pb2, hierarchy_service_pb2, risk_service_pb2
from tableveil.v1.frontier_service_pb2 import SubmitFrontierRequest
from tableveil.v1.payout_service_pb2 import SubmitPayoutSweepRequest
from tableveil.v1.utility_service_pb2 import SubmitUtilityReportRequest, UtilityRequest
from tests.adversary import samples
from tests.adversary.publishing import Document, changed, create_source, policy_of
from tests.adversary.samples import attribute, canary

PAY, WEIGHT, STATES = 480_151_623, 48.1516234375, [canary("state", i) for i in range(4)]

Work = Callable[[Client, str], object]
"""Does some work under a name that is new each time; a returned text names the job that does it."""


def source() -> pa.Table:
    """The patients, with numbers and dates that occur nowhere else."""
    table = samples.patients()
    rows = range(len(table))
    table = table.append_column("pay", pa.array([PAY + 7_919 * i for i in rows], pa.int64()))
    return table.append_column("weight", pa.array([WEIGHT + i for i in rows], pa.float64()))


def values() -> set[str]:
    """All pay, weights and states, as texts."""
    rows = range(len(source()))
    return {str(PAY + 7_919 * i) for i in rows} | {repr(WEIGHT + i) for i in rows} | set(STATES)


def policy(name: str, **fields: object) -> Document:
    """The columns pay, weight and state are sensitive."""
    document = samples.policy()
    document["attributes"] += [attribute(column, "SENSITIVE", acknowledged=True) for column in ("pay", "weight")]
    document["attributes"].append(attribute("state", "SENSITIVE"))
    document["privacy_models"].append({"distinct_l_diversity": {"column": "state", "l": 2}})
    return changed(document, release={"name": name}, repeat_reason="a test", **fields)


def view(name: str) -> Document:
    return changed(policy(name), release={"name": name, "kind": "VIEW"}, suppressed_records=samples.BLANK)


def clustered(name: str) -> Document:
    document = policy(name, microaggregation={})
    age, sex, city = document["attributes"][2:5]
    for column in (age, sex, city):
        column.pop("minimum_level", None)
        column.pop("maximum_level", None)
    del age["hierarchy"]
    age["aggregation"] = {"function": "INTERVAL", "grid": "5"}
    sex["aggregation"] = city["aggregation"] = {"scale": "NOMINAL", "function": "COMMON_LABEL"}
    return document


def game(name: str) -> Document:
    stakes = {"publisher_benefit": "100", "publisher_loss": "400", "adversary_gain": "400", "adversary_cost": "60"}
    document = policy(name)
    document["attributes"][-1] = attribute("state", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}})
    return changed(
        document,
        privacy_models=[{"profitability": {"success": "JOURNALIST"}}],
        quality_model={"publisher_payout": {"success": "JOURNALIST"}},
        game=stakes,
        population={"table": {"table": "everybody"}},
    )


def submit(document: Callable[[str], Document]) -> Work:
    return lambda client, name: client.submit(policy_of(document(name))).name


def risks(client: Client, _: str) -> str:
    asked = risk_service_pb2.RiskRequest(quasi_identifiers=["age", "city", "pay", "weight"], records=True)
    asked.table.table = "patients"
    return client.submit_analysis(risk_service_pb2.SubmitRiskAnalysisRequest(risk=asked)).name


def oldest(client: Client) -> str:
    """The first release that was made; attempts that failed may have taken numbers."""
    *_, release = client.list_releases()
    return release.name


def classifiers(client: Client, _: str) -> str:
    asked = classification_service_pb2.ClassificationRequest(
        release=oldest(client),
        classes=["state"],
        features=["pay", "weight", "city"],
        classifiers=[classification_service_pb2.CLASSIFIER_DECISION_TREE],
        folds=3,
    )
    return client.submit_analysis(classification_service_pb2.AssessClassifiersRequest(classification=asked)).name


def preview(client: Client, _: str) -> None:
    asked = hierarchy_service_pb2.PreviewHierarchyRequest(column="city")
    asked.table.table = "patients"
    asked.hierarchy.redaction.length, asked.hierarchy.redaction.alphabet_size = 20, 99
    client.preview_hierarchy(asked)


def withdraw(client: Client, _: str) -> None:
    newest = next(release for release in client.list_releases() if release.current)
    client.withdraw_release(newest.name, "a test")


# The first one makes the release that the others are about.
JOBS: dict[str, Work] = {
    "a release": submit(policy),
    "a view": submit(view),
    "microaggregation": submit(clustered),
    "record level": submit(lambda name: changed(game(name), record_level={})),
    "a frontier": lambda client, name: (
        client.submit_analysis(SubmitFrontierRequest(policy=policy_of(policy(name)), k=[2, 3])).name
    ),
    "a payout sweep": lambda client, name: (
        client.submit_analysis(SubmitPayoutSweepRequest(policy=policy_of(game(name)), gains=["0", "300"])).name
    ),
    "a utility report": lambda client, _: (
        client.submit_analysis(SubmitUtilityReportRequest(utility=UtilityRequest(release=oldest(client)))).name
    ),
    "a risk analysis": risks,
    "an assessment of classifiers": classifiers,
}

CALLS: dict[str, Work] = {
    "a load": lambda client, name: client.load(source(), name),
    "a check": lambda client, name: client.checked(policy_of(policy(name))),
    "a draft": lambda client, _: client.draft_policy("SELECT * FROM patients"),
    "a description": lambda client, _: client.describe_table("patients"),
    "a preview": preview,
    "a withdrawal": withdraw,
}


def create(path: Path) -> None:
    """A database with the table, and with the same people as a population."""
    members = ", ".join("'" + state.replace("'", "''") + "'" for state in STATES)
    create_source(
        path,
        source(),
        f"ALTER TABLE patients ADD COLUMN state ENUM({members})",
        f"UPDATE patients SET state = ([{members}])[1 + pay % 4]",
        "CREATE TABLE everybody AS SELECT * REPLACE (state::VARCHAR AS state) FROM patients",
    )
