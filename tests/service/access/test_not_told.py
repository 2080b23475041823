"""The parts of trials, waiting releases, dry runs and jobs that only some of their readers are told."""

from collections.abc import Iterator

import duckdb
import pytest

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.v1.dry_run_service_pb2 import DryRun
from tests.service.access.house import ADMIN, Fields, House, policy, prepare, served, submitted, table

VISITS = (
    "SELECT 1000 + i AS id, CASE WHEN i < 29 THEN 31 ELSE 40 + i % 7 END AS age, "
    "'W' || CASE WHEN i < 27 THEN 0 WHEN i < 29 THEN 1 ELSE i % 3 END AS ward, 'illness ' || i % 5 AS illness "
    "FROM range(120) r(i)"
)
"""Two people aged 31 are alone in their ward, and others of that age are not."""

DECADES = {"intervals": {"minimum": "0", "maximum": "99", "widths": ["10"]}}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Releases into ward_b wait for approval. Pat is another steward of ward_a, whose reviewers are app and aud."""
    place = tmp_path_factory.mktemp("not_told")
    prepare(place)
    with duckdb.connect(place / "clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE ward_b.visits AS {VISITS}")
    with served(place, needs_approval=("ward_b",)) as house:
        for who, role in (("pat", AccessRole.STEWARD), ("app", AccessRole.APPROVER), ("aud", AccessRole.AUDITOR)):
            house.access.add(ADMIN, WantedGrant(who, False, role, Scope("ward_a")))
        yield house


def of_visits(name: str, **changes: object) -> Fields:
    """A policy that releases ages as they are, and suppresses some of those of 31 years."""
    document = policy("ward_b", name, source=table("ward_b", "visits"), **changes)
    for attribute in document["attributes"][:2]:
        attribute["maximum_level"] = 0
    document["attributes"][-1]["column"] = "id"
    return document


MEASURED: list[tuple[str, str, str, Fields]] = [
    ("UtilityService/SubmitUtilityReport", "GetUtilityReport", "ListUtilityReports", {"utility": {}}),
    ("RiskService/SubmitRiskAnalysis", "GetRiskAnalysis", "ListRiskAnalyses", {"risk": {"records": True}}),
    (
        "ClassificationService/AssessClassifiers",
        "GetClassification",
        "ListClassifications",
        {"classification": {"classes": ["illness"]}},
    ),
]
"""For each kind of figures of a release the methods that ask for them, get and list them, and what is asked for."""


def test_figures_of_a_trial_are_told_to_its_maker_alone(house: House) -> None:
    """They are until it is promoted: then they are those of a release."""
    trial = submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a", "tried"), trial=True).result
    names = []
    for submit, _, _, fields in MEASURED:
        ((field, options),) = fields.items()
        names.append(submitted(house, "ann", submit, **{field: {**options, "release": trial}}).result)

    def reads(who: str) -> list[bool]:
        read = []
        for name, (submit, get, list_, _) in zip(names, MEASURED, strict=True):
            service = submit.partition("/")[0]
            read.append(house.ask(who, f"{service}/{get}", name=name)[0] == "OK")
            assert (name in house.ask(who, f"{service}/{list_}")[1]) is read[-1], (who, name)
        code, _ = house.ask(who, "RiskService/ReadRecordRisks", name=names[1])
        assert (code == "OK") is (read[1] and who != "app")
        return read

    for who in ("ann", "pat", "tab", "admin", "app"):
        assert reads(who) == [who == "ann"] * len(MEASURED), who
    house.clients["ann"].promote_release(trial)
    for who in ("ann", "pat", "tab", "app"):
        assert reads(who) == [True] * len(MEASURED), who


def test_auditors_are_told_no_labels_of_rows_that_nobody_approved(house: House) -> None:
    """At level 0 a label is a value. Approvers read the rows themselves until they decide."""

    def labels(who: str, release: str) -> set[str]:
        found = house.clients[who].get_release(release)
        suppressed = {one.label for one in found.suppressed_labels if one.HasField("label")}
        return suppressed | {one.label for one in found.costs if one.HasField("label")}

    recoded = of_visits("recoded", local_recoding={}, suppression_limit="0.01")
    recoded["attributes"][0].update(maximum_level=1, hierarchy=DECADES)
    del recoded["attributes"][1]["maximum_level"]
    names = [
        submitted(house, "bob", "JobService/SubmitJob", policy=asked).result
        for asked in (of_visits("levels"), recoded, of_visits("approved"))
    ]
    for name in names:
        assert labels("app", name) == labels("bob", name) != set()
        assert labels("aud", name) == set()
        assert house.clients["aud"].get_release(name).records == 120
    for name in names[:2]:
        house.clients["app"].reject_release(name, "a test")
        assert labels("aud", name) == set()
    house.clients["app"].approve_release(names[2], "a test")
    assert labels("aud", names[2]) == labels("bob", names[2])


def test_approvers_are_told_no_labels_of_dry_runs(house: House) -> None:
    """Nothing is released, so that nobody reads them anywhere else."""
    name = submitted(house, "bob", "DryRunService/SubmitDryRun", policy=of_visits("dry")).result
    for who, is_told in (("bob", True), ("app", False)):
        found = house.clients[who].get_result(DryRun, name)
        assert (bool(found.rows), bool(found.release.suppressed_labels)) == (is_told, is_told)
        assert found.release.suppressed_records > 0


def test_stewards_alone_are_told_the_codings_of_aggregates(house: House) -> None:
    """They are often the least and the greatest value that may be told, as the ends of intervals are."""
    codings = {"function": "AGGREGATE_FUNCTION_MEAN", "bottom_coding": "-3117", "top_coding": "9731"}
    asked = policy("ward_b", "coded", microaggregation={}, suppression_limit="0")
    asked["attributes"][0] = {"column": "age", "role": "ROLE_QUASI_IDENTIFIER", "aggregation": codings}
    del asked["attributes"][1]["hierarchy"]
    asked["attributes"][1]["role"] = "ROLE_IDENTIFYING"
    name = submitted(house, "bob", "JobService/SubmitJob", policy=asked).result
    measured = submitted(house, "bob", "UtilityService/SubmitUtilityReport", utility={"release": name}).result
    house.clients["app"].approve_release(name, "a test")
    house.access.add(ADMIN, WantedGrant("eve", False, AccessRole.ANALYST, Scope("ward_b")))
    for who, is_told in (("bob", True), ("app", False), ("aud", False), ("eve", False)):
        shown = str(house.clients[who].get_release(name)) + house.clients[who].get_report(name).content.decode()
        shown += house.ask(who, "UtilityService/GetUtilityReport", name=measured)[1]
        assert "aggregated: mean" in shown
        assert [coding in shown for coding in ("-3117", "9731")] == [is_told, is_told]


def test_operators_cannot_keep_the_best_of_jobs_of_others(house: House) -> None:
    """The refusal of one that has none would tell of its source, and what is kept is released."""
    job = submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a", "kept")).name
    for who, wanted in (("ops", "PERMISSION_DENIED"), ("pat", "NOT_FOUND"), ("ann", "OK")):
        assert house.ask(who, "JobService/CancelJob", name=job, keep_best=True)[0] == wanted, who
