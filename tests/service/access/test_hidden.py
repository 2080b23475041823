"""A steward of one ward finds nothing of the other: each request reads as if what it names were not there."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tableveil.access import AccessRole
from tableveil.server.call import declared
from tableveil.server.services import DESCRIPTORS
from tableveil.v1 import job_service_pb2, policy_pb2, worksheet_service_pb2
from tableveil.v1.dry_run_service_pb2 import DryRun
from tests.service.access.house import Fields, House, opened, policy, proposal, submitted, table, untried
from tests.tried import tried_here

GHOSTS = {"ward_b": "ward_g", "patients": "patience", "zips": "zaps", "rows.csv": "rose.csv", "look": "loop"}
"""Names of the other ward, each with one that nothing has and that is as long."""

REAL = {name: name for name in GHOSTS}

GAME: Fields = {
    "game": {"publisher_benefit": "1200", "publisher_loss": "300", "adversary_gain": "300", "adversary_cost": "4"},
    "privacy_models": [{"profitability": {}}],
}

Asked = dict[str, tuple[str, Fields]]
"""Methods and the fields of their requests, by what is named in them."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """In the other ward there is a hierarchy, a release, and an outcome of nearly each kind."""
    with tried_here(), opened(tmp_path_factory.mktemp("hidden")) as house:
        house.clients["bob"].create_hierarchy("ward_b/zips", [("0", "*"), ("1", "*")])
        submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b"))
        asked = {"policy": policy("ward_b"), "k": [3], "suppression_limits": ["0.5"]}
        submitted(house, "bob", "DryRunService/SubmitDryRun", policy=policy("ward_b", "other"))
        submitted(house, "bob", "FrontierService/SubmitFrontier", **asked)
        risk = {"table": table("ward_b"), "quasi_identifiers": ["age", "ward"], "records": True}
        submitted(house, "bob", "RiskService/SubmitRiskAnalysis", risk=risk)
        loaded = policy_pb2.TableReference(**table("ward_b", "loaded"))
        submitted_worksheet(house)
        house.clients["bob"].load_file(house.files / "rows.csv", loaded)
        submitted(house, "bob", "UtilityService/SubmitUtilityReport", utility={"release": "releases/1"})
        submitted(house, "bob", "ProposalService/SubmitProposal", proposal=untried("ward_b"))
        assessed: Fields = {"release": "releases/1", "classes": ["illness"], "folds": 2}
        assessed["classifiers"] = ["CLASSIFIER_NAIVE_BAYES"]
        submitted(house, "bob", "ClassificationService/AssessClassifiers", classification=assessed)
        submitted(house, "bob", "PayoutService/SubmitPayoutSweep", policy=policy("ward_b", **GAME), gains=["300"])
        yield house


def submitted_worksheet(house: House) -> None:
    kept = worksheet_service_pb2.Worksheet(table=policy_pb2.TableReference(**table("ward_b")))
    house.clients["bob"].create_worksheet(kept)


def by_policy(n: Mapping[str, str]) -> Asked:
    b, patients, zips, look = n["ward_b"], n["patients"], n["zips"], n["look"]

    def hierarchy(**definition: Any) -> Fields:
        found = policy("ward_a")
        found["attributes"][1]["hierarchy"] = definition
        return found

    found = {
        "a source": policy("ward_a", source=table(b, patients)),
        "a source in capitals": policy("ward_a", source=table(b.upper(), patients)),
        "a source in full": policy("ward_a", source={**table(b, patients), "catalog": "clinic"}),
        "a target": policy("ward_a", release={"schema": b, "name": "mine"}),
        "a target in place": policy("ward_a", release={"schema": b, "name": patients, "if_exists": 2}),
        "a population": policy("ward_a", population={"table": table(b, patients)}),
        "a hierarchy table": hierarchy(table={"table": table(b, zips)}),
        "a stored hierarchy": hierarchy(stored={"name": f"{b}/{zips}"}),
        "events": of_events(b, patients),
        "zip codes": hierarchy(
            safe_harbor_zip={"population": table(b, zips), "zip_column": "ward", "population_column": "code"}
        ),
    }
    for how, query in {
        "": f"SELECT * FROM {b}.{patients}",
        " quoted": f'SELECT * FROM "{b}"."{patients}"',
        " in capitals": f"SELECT * FROM {b.upper()}.{patients.upper()}",
        " in full": f"SELECT * FROM clinic.{b}.{patients}",
        " joined": f"SELECT p.* FROM ward_a.patients p JOIN {b}.{patients} o ON p.code = o.code",
        " nested": f"SELECT * FROM ward_a.patients WHERE code IN (SELECT code FROM {b}.{patients})",
        " in a common table": f"WITH o AS (FROM {b}.{patients}) SELECT * FROM o",
        " in a union": f"FROM ward_a.patients UNION ALL FROM {b}.{patients}",
        " by a macro": f"SELECT * FROM {b}.{look}()",
        " by a function": f"SELECT {b}.{look}(code) AS code FROM ward_a.patients",
        " by a type": f"SELECT NULL::{b}.secret AS code FROM ward_a.patients",
        " by the values of a type": f"SELECT enum_range(NULL::{b}.secret)::VARCHAR AS code FROM ward_a.patients",
    }.items():
        found[f"a query{how}"] = policy("ward_a", source_query=query)
    asked: Asked = {}
    for how, one in found.items():
        asked[f"{how}, checked"] = "JobService/CheckPolicy", {"policy": one}
        asked[f"{how}, released"] = "JobService/SubmitJob", {"policy": one}
    for how in ("a source", "a query joined", "a population", "a hierarchy table"):
        grid = {"policy": found[how], "k": [2], "suppression_limits": ["0"]}
        asked[f"{how}, for a frontier"] = "FrontierService/SubmitFrontier", grid
        asked[f"{how}, rehearsed"] = "DryRunService/SubmitDryRun", {"policy": found[how]}
        asked[f"{how}, for a sweep"] = "PayoutService/SubmitPayoutSweep", {"policy": found[how], "gains": ["300"]}
    for how in ("a target", "a target in place", "events"):
        asked[f"{how}, rehearsed"] = "DryRunService/SubmitDryRun", {"policy": found[how]}
    return asked


def of_events(schema: str, name: str) -> Fields:
    """A policy for people of one ward and events of another."""
    columns = [
        {"table": of, "column": column, "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}}
        for of, column in (("", "age"), ("events", "ward"))
    ]
    found = policy("ward_a", attributes=columns, default_role="ROLE_IDENTIFYING")
    for said in ("source", "rows_are_people", "repeat_reason"):
        del found[said]
    events = [{"name": "events", "schema": schema, "table": name}]
    tables = {"people": {**table("ward_a"), "key": "code"}, "events": events, "rows_limit": "1"}
    return {**found, "tables": tables, "privacy_models": [*found["privacy_models"], {"known_facts": {"m": 1}}]}


def by_name(n: Mapping[str, str]) -> Asked:
    b, patients, zips = n["ward_b"], n["patients"], n["zips"]
    query, stored, file = f"SELECT age FROM {b}.{patients}", {"name": f"{b}/{zips}"}, {"path": n["rows.csv"], "csv": {}}
    counted = {"table": table("ward_a"), "quasi_identifiers": ["age"], "population": {"table": table(b, patients)}}
    declared_column = {"column": "age", "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}}
    stored_column = {**declared_column, "hierarchy": {"stored": stored}}
    declare = "PrivacyService/DeclarePrivacy"
    preview = "HierarchyService/PreviewHierarchy"
    analyze = "RiskService/SubmitRiskAnalysis"
    load = "TableService/LoadTable"
    return {
        "a table described": ("TableService/DescribeTable", {"table": table(b, patients)}),
        "a table drafted": ("DraftService/DraftPolicy", {"table": table(b, patients)}),
        "a query drafted": ("DraftService/DraftPolicy", {"source_query": query}),
        "events drafted": (
            "DraftService/DraftPolicy",
            {"table": table("ward_a"), "events": [table(b, patients)], "key": "code"},
        ),
        "events proposed for": ("ProposalService/SubmitProposal", {"proposal": {"policy": of_events(b, patients)}}),
        "a table proposed for": ("ProposalService/SubmitProposal", {"proposal": proposal(b, patients)}),
        "a policy widened": ("DraftService/WidenPolicy", {"policy": policy("ward_a", source=table(b, patients))}),
        "a privacy declared": (
            declare,
            {"table": table(b, patients), "privacy": {"attributes": [declared_column], "rows_are_people": True}},
        ),
        "a privacy of a hierarchy declared": (
            declare,
            {"table": table("ward_a"), "privacy": {"attributes": [stored_column], "rows_are_people": True}},
        ),
        "a privacy described": ("PrivacyService/DescribePrivacy", {"table": table(b, patients)}),
        "a table analyzed": (analyze, {"risk": {"table": table(b, patients)}}),
        "a query analyzed": (analyze, {"risk": {"source_query": query}}),
        "a population, for an analysis": (analyze, {"risk": counted}),
        "a schema": ("AdminService/GetSchema", {"name": f"schemas/{b}"}),
        "a hierarchy": ("HierarchyService/GetHierarchy", {"name": f"hierarchies/{b}/{zips}"}),
        "a hierarchy's rows forgotten": (
            "HierarchyService/ForgetHierarchyRows",
            {"name": f"hierarchies/{b}/{zips}@1", "values": ["0"]},
        ),
        "a hierarchy read": ("HierarchyService/ReadHierarchy", {"hierarchy": stored}),
        "a hierarchy compared": ("HierarchyService/CompareHierarchies", {"earlier": stored, "later": stored}),
        "a hierarchy previewed": (preview, {"hierarchy": {"stored": stored}}),
        "a hierarchy table previewed": (preview, {"hierarchy": {"table": {"table": table(b, zips)}}}),
        "a column previewed": (
            preview,
            {"hierarchy": {"suppression_only": {}}, "table": table(b, patients), "column": "age"},
        ),
        "a hierarchy made": (
            "HierarchyService/CreateHierarchy",
            {"name": f"{b}/{zips}", "rows": [{"labels": ["0", "x"]}], "row_count": 1},
        ),
        "a worksheet made": ("WorksheetService/CreateWorksheet", {"worksheet": {"table": table(b, patients)}}),
        "a table loaded": (load, {"start": {"table": table(b, "new"), "file": file}}),
        "a table loaded again": (load, {"start": {"table": table(b, patients), "mode": 2, "file": file}}),
        "a table replaced": (load, {"start": {"table": table(b, patients), "mode": 3, "file": file}}),
        "a table truncated": ("TableService/TruncateTable", {"table": table(b, patients)}),
        "a table's people erased": (
            "TableService/ErasePersons",
            {"table": table(b, patients), "person_column": "code", "persons": ["1"]},
        ),
        "a table dropped": ("TableService/DropTable", {"table": table(b, patients)}),
        "a table loaded in place": (load, {"start": {"table": table(b, patients), "file": file}}),
        "a table loaded from afar": (load, {"start": {"table": table("ward_a", "new"), "file": file}}),
    }


def asked(names: Mapping[str, str]) -> Asked:
    return {**by_policy(names), **by_name(names)}


def by_number(i: int) -> Asked:
    release = f"releases/{i}"
    return {
        "a job": ("JobService/GetJob", {"name": f"jobs/{i}"}),
        "a job watched": ("JobService/WatchJob", {"name": f"jobs/{i}"}),
        "a job cancelled": ("JobService/CancelJob", {"name": f"jobs/{i}"}),
        "a job resubmitted": ("JobService/ResubmitJob", {"name": f"jobs/{i}"}),
        "a job deleted": ("JobService/DeleteJob", {"name": f"jobs/{i}"}),
        "a release": ("ReleaseService/GetRelease", {"name": release}),
        "an object": ("ReleaseService/ReadObject", {"release": release, "object": "released"}),
        "a release withdrawn": ("ReleaseService/WithdrawRelease", {"name": release, "reason": "a test"}),
        "a release promoted": ("ReleaseService/PromoteRelease", {"name": release}),
        "a release reported": ("ReportService/GetReport", {"name": release}),
        "a dry run reported": ("ReportService/GetReport", {"name": f"dryRuns/{i}"}),
        "releases together": ("ReleaseService/GetJointClasses", {"releases": [release, release]}),
        "a release analyzed": ("RiskService/SubmitRiskAnalysis", {"risk": {"release": release}}),
        "a release compared": ("UtilityService/SubmitUtilityReport", {"utility": {"release": release}}),
        "a release assessed": (
            "ClassificationService/AssessClassifiers",
            {"classification": {"release": release, "classes": ["illness"]}},
        ),
        "a load": ("TableService/GetLoad", {"name": f"loads/{i}"}),
        "a frontier": ("FrontierService/GetFrontier", {"name": f"frontiers/{i}"}),
        "a dry run": ("DryRunService/GetDryRun", {"name": f"dryRuns/{i}"}),
        "an analysis": ("RiskService/GetRiskAnalysis", {"name": f"riskAnalyses/{i}"}),
        "the records of an analysis": ("RiskService/ReadRecordRisks", {"name": f"riskAnalyses/{i}"}),
        "a proposal": ("ProposalService/GetProposal", {"name": f"proposals/{i}"}),
        "a worksheet": ("WorksheetService/GetWorksheet", {"name": f"worksheets/{i}"}),
        "a worksheet changed": (
            "WorksheetService/UpdateWorksheet",
            {"worksheet": {"name": f"worksheets/{i}", "etag": "1"}},
        ),
        "a worksheet deleted": ("WorksheetService/DeleteWorksheet", {"name": f"worksheets/{i}"}),
        "a utility report": ("UtilityService/GetUtilityReport", {"name": f"utilityReports/{i}"}),
        "a classification": ("ClassificationService/GetClassification", {"name": f"classifications/{i}"}),
        "a payout sweep": ("PayoutService/GetPayoutSweep", {"name": f"payoutSweeps/{i}"}),
    }


def outcome(house: House, method: str, fields: Fields) -> tuple[str, str]:
    """The steward's answer; how the job ended, if a job is what it got."""
    code, text = house.ask("ann", method, **fields)
    if code != "OK" or "Submit" not in method:
        return code, text
    *_, job = house.clients["ann"].watch_job(next(house.clients["ann"].list_jobs()).name)
    if job.result.startswith("dryRuns/"):
        return "REHEARSED", str(house.clients["ann"].get_result(DryRun, job.result).refusals)
    return job_service_pb2.JobState.Name(job.state), str(job.failure)


def plain(found: tuple[str, str]) -> tuple[str, str]:
    """With the names of ghosts in place of those of the other ward."""
    code, text = found
    for name, ghost in GHOSTS.items():
        text = text.replace(name, ghost).replace(name.upper(), ghost.upper())
    return code, text


ELSEWHERE = {"ReleaseService/GetTarget", "ReleaseService/PublishRelease", "ReleaseService/UnpublishRelease"}
"""The twins ask for these: they need a target."""


def test_every_method_of_stewards_is_asked() -> None:
    """A new one that names something cannot be forgotten."""
    named = {
        method.removeprefix("/tableveil.v1.")
        for method, access in declared(DESCRIPTORS).items()
        if access.resources and AccessRole.STEWARD in access.roles and not access.whole_server
    }
    assert named == {method for method, _ in (*asked(REAL).values(), *by_number(1).values())} | ELSEWHERE


@pytest.mark.parametrize("how", by_number(1))
def test_numbers_of_the_other_ward_read_as_if_they_were_nothing(house: House, how: str) -> None:
    """They come first: the number 9 is still nobody's."""
    (method, theirs), (_, nobodys) = by_number(1)[how], by_number(9)[how]
    code, text = house.ask("ann", method, **theirs)
    assert code == "NOT_FOUND"
    assert (code, text.replace("/1", "/9")) == house.ask("ann", method, **nobodys)
    assert house.ask("ann", method, **theirs) == (code, text), "still there, and still hidden"


UNREAL = {"nothing of the ward": {**GHOSTS, "ward_b": "ward_b"}, "not even the ward": GHOSTS}


@pytest.mark.parametrize(
    ("how", "missing"),
    [
        # In `make test` each way is held against one of both.
        pytest.param(how, missing, marks=[] if number % len(UNREAL) == place else pytest.mark.long)
        for number, how in enumerate(asked(REAL))
        for place, missing in enumerate(UNREAL)
    ],
)
def test_names_of_the_other_ward_read_as_if_they_were_nothing(house: House, how: str, missing: str) -> None:
    found = outcome(house, *asked(REAL)[how])
    assert found[0] != "OK" or "checked" in how
    assert plain(found) == plain(outcome(house, *asked(UNREAL[missing])[how]))


@pytest.mark.parametrize("method", ["JobService/CheckPolicy", "JobService/SubmitJob", "DryRunService/SubmitDryRun"])
def test_classes_of_the_other_ward_are_as_if_they_were_nothing(house: House, method: str) -> None:
    theirs, nobodys = (policy("ward_a", "again", local_recoding={"classes_of": f"releases/{i}"}) for i in (1, 9))
    code, text = house.ask("ann", method, policy=theirs)
    assert "local_recoding.classes_of" in text
    assert (code, text.replace("releases/1", "releases/9")) == house.ask("ann", method, policy=nobodys)


@pytest.mark.parametrize("method", ["JobService/CheckPolicy", "JobService/SubmitJob", "DryRunService/SubmitDryRun"])
@pytest.mark.parametrize("named", [{}, {"schema": "ward_a", "table": "patients"}])
def test_loads_of_the_other_ward_are_as_if_they_were_nothing(house: House, method: str, named: Fields) -> None:
    theirs, nobodys = (policy("ward_a", "again", source={**named, "load": f"loads/{i}"}) for i in (1, 9))
    code, text = house.ask("ann", method, policy=theirs)
    assert "source.load" in text
    assert (code, text.replace("loads/1", "loads/9")) == house.ask("ann", method, policy=nobodys)


SYSTEM = [
    "SELECT table_name AS age FROM duckdb_tables()",
    "SELECT table_name AS age FROM system.main.duckdb_tables()",
    "SELECT column_name AS age FROM duckdb_columns()",
    "SELECT view_name AS age FROM duckdb_views",
    "SELECT sql AS age FROM duckdb_views()",
    "SELECT constraint_text AS age FROM duckdb_constraints()",
    "SELECT name AS age FROM pragma_table_info('ward_a.patients')",
    "SELECT name AS age FROM pragma_show('ward_a.patients')",
    "SELECT stats AS age FROM pragma_storage_info('ward_a.patients')",
    "SELECT path AS age FROM pragma_database_list",
    "SELECT table_name AS age FROM information_schema.tables",
    "SELECT relname AS age FROM pg_catalog.pg_class",
    "SELECT name AS age FROM sqlite_master",
    "SELECT name AS age FROM (SHOW ALL TABLES)",
    "SELECT column_name AS age FROM (DESCRIBE ward_a.patients)",
    "SELECT column_name AS age FROM (SUMMARIZE ward_a.patients)",
    "SELECT value AS age FROM duckdb_settings()",
    "SELECT name AS age FROM duckdb_secrets()",
    "SELECT message AS age FROM duckdb_logs()",
    "SELECT age FROM query('SELECT age FROM ward_a.patients')",
    "SELECT age FROM query_table('ward_a.patients')",
    "SELECT age FROM query_table(['ward_a.patients', 'ward_a.copied'])",
    "SELECT content AS age FROM read_text('/etc/hostname')",
    "SELECT file AS age FROM glob('*')",
    "SELECT age FROM '/etc/hostname'",
    "SELECT getenv('HOME') AS age FROM ward_a.patients",
    "SELECT current_setting('temp_directory') AS age FROM ward_a.patients",
    "SELECT current_catalog AS age FROM ward_a.patients",
    "SELECT current_query() AS age FROM ward_a.patients",
    "SELECT pg_get_viewdef(code) AS age FROM ward_a.patients",
    "SELECT list_transform(range(9999), lambda n: pg_get_viewdef(n))::VARCHAR AS age FROM ward_a.patients",
    "SELECT pg_catalog.pg_get_viewdef(9) AS age FROM ward_a.patients",
    "SELECT pg_get_constraintdef(code) AS age FROM ward_a.patients",
    "SELECT format_type(code, 1) AS age FROM ward_a.patients",
    "SELECT get_block_size('clinic') AS age FROM ward_a.patients",
    "SELECT bin AS age FROM histogram('ward_a.patients', 'age')",
    "SELECT bin AS age FROM histogram_values(ward_a.patients, age)",
    "SELECT enum_range(NULL::ward_b.secret)::VARCHAR AS age FROM ward_a.patients",
    "SELECT current_database() AS age FROM ward_a.patients",
    "SELECT current_schemas(true)::VARCHAR AS age FROM ward_a.patients",
    "SELECT nextval('tableveil.token_numbers') AS age FROM ward_a.patients",
    "SELECT currval('tableveil.token_numbers') AS age FROM ward_a.patients",
    "SELECT 'ward_a.patients'::REGCLASS::VARCHAR AS age FROM ward_a.patients",
    "SELECT in_search_path('clinic', 'ward_a') AS age FROM ward_a.patients",
    "SELECT digest AS age FROM tableveil.tokens",
    "SELECT digest AS age FROM clinic.tableveil.tokens",
]
"""Queries for what the server, its machine, and others have."""


DOORS: dict[str, Callable[[str], Fields]] = {
    "JobService/SubmitJob": lambda query: {"policy": policy("ward_a", source_query=query)},
    "DraftService/DraftPolicy": lambda query: {"source_query": query},
    "RiskService/SubmitRiskAnalysis": lambda query: {"risk": {"source_query": query}},
}
"""Methods that take a query, and the fields by which they do. All of them read it by the same code."""


@pytest.mark.parametrize(
    ("query", "door"),
    [
        # In `make test` each query is asked at one door, and each door a third of them.
        pytest.param(query, door, marks=[] if number % len(DOORS) == place else pytest.mark.long)
        for number, query in enumerate(SYSTEM)
        for place, door in enumerate(DOORS)
    ],
)
def test_no_query_asks_the_system(house: House, query: str, door: str) -> None:
    code, told = house.ask("ann", door, **DOORS[door](query))
    assert code in ("INVALID_ARGUMENT", "NOT_FOUND"), told
    assert "source_query" in told, "refused for the query itself"
    assert not re.search("ward_b|CREATE VIEW|clinic.duckdb", told.replace("ward_b.secret", "")), told
