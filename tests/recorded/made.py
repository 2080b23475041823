"""A server with every kind of result, made the same way each time: whatever draws draws the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.backend import Database, Settings
from tableveil.pipelines import differential_privacy
from tableveil.policy import TableReference
from tableveil.state import migrate
from tableveil.state.proposals import PROPOSALS, ForecastWay
from tableveil.v1 import policy_pb2, worksheet_service_pb2
from tests.service.access.house import ADMIN, Fields, House, policy, prepare, served, submitted, table, untried
from tests.service.access.test_hidden import GAME
from tests.sql.state.test_proposals import PROPOSAL, TRIED
from tests.tried import tried_here

READERS = {"owner": "bob", "reviewer": "app", "auditor": "aud", "analyst": "eve", "stranger": "ann"}
"""Principals of the house by what they are to the releases: all of these are of ward_b."""

KEPT = "kept"
"""A schema whose releases wait for approval."""

_PEOPLE = (
    "SELECT 1000 + 7 * i AS code, 20 + (i * 7) % 30 AS age, ['Nord', 'O''Süd', 'West'][1 + (i * i) % 3] AS ward, "
    "CASE WHEN i % 17 > 0 THEN 'illness ' || i % 5 END AS illness, (i * 13) % 100 / 4 AS weight FROM range(80) r(i)"
)
_TABLES = ("people", "grouped", "recoded", "played", "drawn", "other")

_AGES = {"intervals": {"minimum": "20", "maximum": "49", "widths": ["5", "10"]}}
_POLICY = '{"privacy_models":[{"k_anonymity":{"k":3}}]}'


@contextmanager
def made(place: Path) -> Iterator[House]:
    """The server; each release is of people of its own, or says why it repeats them."""
    with pytest.MonkeyPatch.context() as patch, tried_here():
        patch.setattr(migrate, "secrets", SimpleNamespace(token_bytes=bytes))
        patch.setattr(differential_privacy.draw, "__defaults__", (Random(7).randrange,))
        prepare(place)
        with duckdb.connect(place / "clinic.duckdb") as connection:
            connection.execute(f"CREATE SCHEMA {KEPT}")
            for name in _TABLES:
                connection.execute(f"CREATE TABLE ward_b.{name} AS {_PEOPLE}")
        _propose(place)
        with served(place, needs_approval=(KEPT,)) as house:
            for who, role in (("bob", "STEWARD"), ("app", "APPROVER"), ("aud", "AUDITOR"), ("eve", "ANALYST")):
                for schema in ("ward_b", KEPT):
                    house.access.add(ADMIN, WantedGrant(who, False, AccessRole[role], Scope(schema)))
            _release(house)
            _analyse(house)
            yield house


def of_people(source: str, name: str, schema: str = "ward_b", **changes: Any) -> Fields:
    """A policy for one of the tables."""
    columns: dict[str, Fields] = {"age": {"hierarchy": _AGES}, "ward": {"hierarchy": {"suppression_only": {}}}}
    attributes = [
        *({"column": column, "role": "ROLE_QUASI_IDENTIFIER", **options} for column, options in columns.items()),
        {"column": "illness", "role": "ROLE_SENSITIVE"},
        {"column": "weight", "role": "ROLE_INSENSITIVE", "acknowledged": True},
        {"column": "code", "role": "ROLE_IDENTIFYING"},
    ]
    asked = policy(schema, name, source=table("ward_b", source), attributes=attributes, person_column="code", **changes)
    del asked["rows_are_people"]
    return asked


def _submitted(house: House, method: str, **fields: Any) -> str:
    """The result of the owner's job."""
    job = submitted(house, READERS["owner"], method, **fields)
    assert job.result, (fields, job.failure)
    return job.result


def _release(house: House) -> None:
    """A release of each method, and one in each state."""
    models = [{"k_anonymity": {"k": 3}}, {"distinct_l_diversity": {"column": "illness", "l": 2}}]
    whole = of_people("people", "whole", privacy_models=models)
    aggregated = of_people("grouped", "of_groups", microaggregation={}, suppression_limit="0")
    aggregated["attributes"][0] = {
        "column": "age",
        "role": "ROLE_QUASI_IDENTIFIER",
        "aggregation": {"function": "AGGREGATE_FUNCTION_INTERVAL", "grid": "5"},
    }
    aggregated["attributes"][1]["role"] = "ROLE_SENSITIVE"
    recoded = of_people("recoded", "of_recoded", local_recoding={}, suppression_limit="0.2")
    played = of_people("played", "of_played", **GAME)
    private = of_people(
        "drawn", "of_drawn", differential_privacy={"epsilon": "1", "delta": "0.01", "scheme": {"age": 1}}
    )
    private["differential_privacy"]["scheme"]["ward"] = 0
    private["attributes"] = [one for one in private["attributes"] if one["column"] not in ("illness", "weight")]
    private |= {"default_role": "ROLE_IDENTIFYING", "suppression_limit": "0"}
    house.clients["admin"].set_privacy_budget("people", ["ward_b.drawn"], epsilon="3", delta="0.05")
    for asked in (whole, aggregated, recoded, played, private):
        _submitted(house, "JobService/SubmitJob", policy=asked)
    release = house.clients[READERS["owner"]], house.clients[READERS["reviewer"]]
    steward, approver = release
    for name in ("waits", "approved", "rejected"):
        result = _submitted(house, "JobService/SubmitJob", policy=of_people("people", name, KEPT))
        if name != "waits":
            decide = approver.approve_release if name == "approved" else approver.reject_release
            decide(result, "a note")
    for name in ("trial", "promoted"):
        result = _submitted(house, "JobService/SubmitJob", policy=of_people("other", name), trial=True)
        if name == "promoted":
            steward.promote_release(result, repeat_reason="a test")
    withdrawn = _submitted(house, "JobService/SubmitJob", policy=of_people("other", "withdrawn"))
    steward.withdraw_release(withdrawn, "a test")


def _propose(place: Path) -> None:
    """A proposal that tried policies, as a sample: to try them would take longer than all else."""
    database = Database(Settings(place / "clinic.duckdb", threads=1))
    source = TableReference("", "ward_b", "people")
    way = ForecastWay("as it is", 2, 5, 6, 20, True, TRIED.columns, _POLICY)
    with database.session() as session, session.transaction():
        number = PROPOSALS.next_number(session.ledger)
        tried = replace(PROPOSAL, number=number, job=900, source=source, ways=(way,), forecast="Of the months so far.")
        PROPOSALS.insert(session.ledger, [tried])
        session.execute("INSERT INTO tableveil.job_reads VALUES (900, '', 'ward_b', 'people')")
    database.close()


def _analyse(house: House) -> None:
    """A result of each other kind."""
    people = of_people("people", "more")
    _submitted(house, "DryRunService/SubmitDryRun", policy=people)
    _submitted(house, "DryRunService/SubmitDryRun", policy=of_people("recoded", "more", local_recoding={}))
    _submitted(house, "FrontierService/SubmitFrontier", policy=people, k=[3, 5], suppression_limits=["0", "0.5"])
    _submitted(house, "PayoutService/SubmitPayoutSweep", policy=of_people("played", "more", **GAME), gains=["0", "300"])
    risk: Fields = {"table": table("ward_b", "people"), "quasi_identifiers": ["age", "ward"], "records": True}
    risk |= {"compare": [{"columns": ["age"]}, {"columns": ["ward"]}], "thresholds": ["0.2"]}
    _submitted(house, "RiskService/SubmitRiskAnalysis", risk=risk)
    _submitted(house, "RiskService/SubmitRiskAnalysis", risk={"release": "releases/1"})
    _submitted(house, "UtilityService/SubmitUtilityReport", utility={"release": "releases/1"})
    assessed: Fields = {"release": "releases/1", "classes": ["illness"], "folds": 2}
    assessed["classifiers"] = ["CLASSIFIER_NAIVE_BAYES"]
    _submitted(house, "ClassificationService/AssessClassifiers", classification=assessed)
    _submitted(house, "ProposalService/SubmitProposal", proposal=untried("ward_b"))
    owner = house.clients[READERS["owner"]]
    owner.create_hierarchy("ward_b/zips", [("0", "*"), ("1", "*")])
    owner.load_file(house.files / "rows.csv", policy_pb2.TableReference(**table("ward_b", "loaded")))
    owner.create_worksheet(worksheet_service_pb2.Worksheet(table=policy_pb2.TableReference(**table("ward_b"))))
