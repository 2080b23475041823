"""A small table in a warehouse, a policy for it, and jobs that run it."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

from tableveil.backend import Database, WarehouseSession
from tableveil.control import Control
from tableveil.convert.drafts import policy_draft_to_proto
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, SuppressionOnly
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.pipelines.frontier import frontier_work
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.pipelines.work import Work
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    Game,
    KAnonymity,
    NullHandling,
    Policy,
    Population,
    Profitability,
    PublisherPayoutModel,
    ReleaseTarget,
    Role,
    Success,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.requests.frontier import FrontierGrid
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.runtime import Job, JobSettings, open_jobs
from tableveil.state.decisions import Decision
from tableveil.state.dry_runs import DRY_RUNS
from tableveil.state.frontiers import FRONTIERS
from tableveil.state.jobs import now
from tableveil.state.mapper import NumberedTable
from tableveil.state.risk_analyses import RISK_ANALYSES
from tableveil.state.utility_reports import UTILITY_REPORTS
from tests.service.jobs.contexts import NO_MODELS
from tests.service.jobs.managed import ended

WARDS = InlineLevels((("north", "up", "*"), ("süd", "down", "*"), ("e'ast", "down", "*")))
DAYS = Dates("2024-01-01", "2024-12-31", (DateUnit.MONTH, DateUnit.YEAR))
SEEN = Dates("1960-01-01", "1969-12-31", (DateUnit.DAY, DateUnit.YEAR))
MADE = (
    "CREATE TABLE {}.patients AS SELECT 20 + (i * 7) % 50 AS age, "
    """CASE WHEN i % 3 = 0 THEN 'north' WHEN i % 3 = 1 THEN 'süd' ELSE 'e''ast' END AS "ward é", """
    "CASE WHEN i % 11 > 0 THEN 'illness ' || (i * i // 7) % 5 END AS illness, i AS id, "
    "CASE WHEN i % 7 > 0 THEN DATE '2024-01-30' + (i % 60)::INTEGER END AS day, "
    "TIMESTAMP '1961-12-31 23:59:59.999999' + INTERVAL (i % 40) HOUR AS seen, "
    "(i % 9 * 1.25)::DECIMAL(8,2) AS amount, i % 2 = 0 AS smoker, (i * i) % 7 < 3 AS hobby FROM range(200) r(i)",
    "CREATE TABLE {}.everybody AS SELECT * FROM {}.patients UNION ALL SELECT * FROM {}.patients",
)
POLICY = Policy(
    source=TableReference("lake", "clinic", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("ward é", Role.QUASI_IDENTIFIER, WARDS),
        AttributePolicy("illness", Role.SENSITIVE),
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("day", Role.QUASI_IDENTIFIER, DAYS, nulls=NullHandling.VALUE),
        AttributePolicy("seen", Role.QUASI_IDENTIFIER, SEEN),
        AttributePolicy("amount", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("5", "20"))),
        AttributePolicy("smoker", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("hobby", Role.IDENTIFYING),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=ReleaseTarget("clinic", "released"),
    suppression_limit=Decimal("0.1"),
    repeat_reason="a test",
)

SECONDS = 600.0
"""How long a test waits for a job: over Spark it has a hundred statements of some tenths of a second."""


NUMBERED = replace(POLICY.release, class_id=True)
UNCHANGED = replace(
    POLICY,
    attributes=(*POLICY.attributes[:2], AttributePolicy("hobby", Role.INSENSITIVE)),
    default_role=Role.IDENTIFYING,
    release=NUMBERED,
)
SUPPRESSING = replace(POLICY, suppression_limit=Decimal("0.3"), privacy_models=(KAnonymity(4),), marker_column="gone")
FEW = replace(POLICY, attributes=POLICY.attributes[:3], default_role=Role.IDENTIFYING)
GAMED = replace(
    FEW,
    privacy_models=(Profitability(Success.JOURNALIST),),
    quality_model=PublisherPayoutModel(Success.JOURNALIST),
    game=Game(Decimal(1200), Decimal(300), Decimal(300), Decimal(4)),
    suppression_limit=Decimal(1),
)
OF_COMBINATIONS = {
    "local": replace(FEW, methods=(LocalRecoding(),)),
    "kept": replace(
        FEW,
        methods=(LocalRecoding(),),
        privacy_models=(KAnonymity(9), DistinctLDiversity("illness", 2)),
        suppression_limit=Decimal("0.3"),
        suppressed_records=SuppressedRecords.KEEP,
        marker_column="gone",
    ),
    "insensitive": replace(UNCHANGED, methods=(LocalRecoding(),)),
    "game": GAMED,
    "record-level": replace(GAMED, methods=(RecordLevel(),)),
    "inversion": replace(GAMED, methods=(RecordLevel(adversary_knows_method=True),)),
    "people": replace(
        GAMED, methods=(RecordLevel(),), population=Population(table=TableReference("", "clinic", "everybody"))
    ),
}
"""Policies whose labels depend on combinations of values, and a game."""


def done(database: Database, policy: Policy, approval: tuple[str, ...] = ()) -> Job:
    """A release's job, on a manager of its own."""
    return run(database, release_work(policy, json.dumps({})), approval)


def run(database: Database, work: Work, approval: tuple[str, ...] = ()) -> Job:
    """A job, on a manager of its own."""
    jobs = open_jobs(database, JobSettings(1, approval=approval), policy_of=lambda _: NO_MODELS)
    try:
        return ended(jobs, jobs.submit(work).request.number, SECONDS)
    finally:
        jobs.close(10)


def decided(database: Database, number: int, *, approved: bool, policy: Policy = POLICY) -> None:
    """Decides about a release that waits for approval."""
    jobs = open_jobs(database, JobSettings(1))
    try:
        jobs.releases.decide(number, Decision(approved, "bob", now(), "a note"), lambda document: policy)
    finally:
        jobs.close(10)


def here(policy: Policy) -> Policy:
    """The policy for the table of the same name in the database."""
    return replace(policy, source=replace(policy.source, catalog=""))


GRID = FrontierGrid((2, 9), (Decimal(0), Decimal("0.1")))
RISK = RiskRequest(
    TableReference("lake", "clinic", "patients"), None, ("ward é", "seen", "day", "amount"), weight_column="age"
)


def check_of_release(database: Database, there: int, own: int, policy: Policy) -> None:
    """Analyses of a release in the warehouse find what those of the same release in the database find."""
    pairs: list[tuple[NumberedTable[Any], list[Work]]] = [
        (UTILITY_REPORTS, [utility_report_work(one, "{}", lambda document: policy) for one in (there, own)]),
        (
            RISK_ANALYSES,
            [risk_analysis_work(RiskRequest(None, one, ()), "{}", lambda document: policy) for one in (there, own)],
        ),
    ]
    _check_pairs(database, pairs)


def check_analyses(database: Database, policy: Policy, first: int = 4) -> None:
    """Drafts and the first analyses of the rows in the warehouse find what those of the same rows elsewhere find."""
    policies = (policy, here(policy))
    risks = (RISK, replace(RISK, table=TableReference("", "clinic", "patients")))
    of_people = [
        replace(
            request,
            quasi_identifiers=(),
            weight_column="",
            population=Population(TableReference("", "clinic", "everybody")),
        )
        for request in risks
    ]
    pairs: list[tuple[NumberedTable[Any], list[Work]]] = [
        (RISK_ANALYSES, [risk_analysis_work(one, "{}", lambda document: POLICY) for one in risks]),
        (FRONTIERS, [frontier_work(one, GRID, "{}") for one in policies]),
        (RISK_ANALYSES, [risk_analysis_work(one, "{}", lambda document: POLICY) for one in of_people]),
        (DRY_RUNS, [dry_run_work(one, "{}") for one in policies]),
    ]
    _check_pairs(database, pairs[:first])
    drafts = [Drafts(database).draft(one.source, Control()) for one in policies]
    # Quantiles are of the database's own tables.
    there, own = (
        replace(
            draft,
            source=policy.source,
            remarks=(),
            warehouse="",
            columns=tuple(replace(one, facts=replace(one.facts, low=None, high=None)) for one in draft.columns),
        )
        for draft in drafts
    )
    assert there == own, (there, own)
    assert {remark.field for remark in drafts[1].remarks} == {remark.field for remark in drafts[0].remarks}
    proposal = policy_draft_to_proto(drafts[0]).proposal
    assert (proposal.source.catalog, proposal.HasField("local_recoding")) == ("lake", True)


def check_known_again(database: Database, warehouses: tuple[str, str]) -> None:
    """People are known again by the values of a column, in a table of another name, type, place and number of rows."""
    failures = []
    made = (("first", "id * id * 3", 0), ("second", "CAST(id * id * 3 AS VARCHAR)", 20))
    for (name, value, least), warehouse in zip(made, warehouses, strict=True):
        of = f"SELECT smoker, {value} AS number FROM clinic.patients WHERE id > {least}"
        with database.session() as session, database.rows_session(session, warehouse) as rows:
            rows.execute(f"CREATE TABLE clinic.{name} AS {of}")
        policy = replace(POLICY, attributes=POLICY.attributes[7:8], default_role=Role.IDENTIFYING, repeat_reason="")
        policy = replace(policy, source=TableReference(warehouse, "clinic", name))
        failures.append(done(database, replace(policy, release=replace(POLICY.release, name=f"of_{name}"))).failure)
    assert failures[0] is None, failures
    assert failures[1] is not None
    assert failures[1].code == "REPEATED_RELEASE", failures
    assert "'number'" in failures[1].message, failures


def _check_pairs(database: Database, pairs: Sequence[tuple[NumberedTable[Any], list[Work]]]) -> None:
    for store, works in pairs:
        done_ = [run(database, work) for work in works]
        failures = [job.failure for job in done_]
        assert failures == [None, None], failures
        assert str(done_[0].request.source).startswith("lake.clinic.")
        with database.ledger() as ledger:
            found, expected = (_figures(store.find(ledger, job.result or 0)) for job in done_)
        differing = {name: (value, expected[name]) for name, value in found.items() if value != expected[name]}
        assert not differing, differing


def _figures(result: Any) -> dict[str, Any]:
    """The figures that do not depend on the time, the engine and the job."""
    figures = {found.name: getattr(result, found.name) for found in fields(result)}
    # A dry run writes nothing in a warehouse, so that it has no rows to show.
    changing = ("created_at", "source", "source_fingerprint", "seconds", "search_seconds", "proof", "rows")
    for name in ("number", "job", "release", *changing):
        figures.pop(name, None)
    if "measures" in figures:
        # Sums of floating-point numbers depend on the order of the rows.
        figures["measures"] = [(found.model, found.measure, f"{found.value or 0:.9g}") for found in figures["measures"]]
    if "guarantees" in figures:
        # Joint classes with releases of before are counted in the database alone.
        figures["guarantees"] = [found for found in figures["guarantees"] if not found.model.startswith("joint_k")]
    if "attributes" in figures:
        figures["attributes"] = [replace(found, hierarchy="") for found in figures["attributes"]]
        # Advice depends on the time that it has.
        figures["warnings"] = [told for told in figures["warnings"] if told.startswith("No privacy model")]
    return figures


def tables(session: WarehouseSession) -> dict[str, list[tuple[Any, ...]]]:
    """All tables of the schema and their rows, but for what differs from release to release."""
    return {
        found.name: [
            row
            for row in session.rows(f'SELECT * FROM {session.catalog}.clinic."{found.name}"')
            if row[0] not in ("release", "cite")
        ]
        for found in session.listed("clinic")
    }
