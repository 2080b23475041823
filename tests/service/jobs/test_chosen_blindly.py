"""With `choose: QUASI_IDENTIFIERS_ONLY`, sensitive values decide nothing but whether there is a release."""

import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database
from tableveil.control import Control
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, SuppressionOnly
from tableveil.pipelines import full_domain as run
from tableveil.pipelines.full_domain import chosen_plan
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    AverageRisk,
    BetaLikeness,
    Choose,
    ClassificationModel,
    DistinctLDiversity,
    EntropyModel,
    KAnonymity,
    KLDivergenceModel,
    LossModel,
    NullHandling,
    Policy,
    Role,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    TableReference,
)
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.contexts import context, count
from tests.service.jobs.plain import plain_target

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "20", "40"))),
        AttributePolicy("height", Role.QUASI_IDENTIFIER, Intervals("1", "3", ("0.25", "0.5"))),
        AttributePolicy(
            "born", Role.QUASI_IDENTIFIER, Dates("2000-01-01", "2003-12-31", (DateUnit.QUARTER, DateUnit.YEAR))
        ),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly(), nulls=NullHandling.SUPPRESS),
        AttributePolicy("illness", Role.SENSITIVE),
        AttributePolicy("salary", Role.SENSITIVE),
        AttributePolicy("ward", Role.INSENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(4), DistinctLDiversity("illness", 2), BetaLikeness("salary", Decimal(4))),
    release=plain_target("main", "released"),
    suppression_limit=Decimal("0.2"),
    search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY),
)

AGGREGATED = tuple(
    replace(a, hierarchy=None, nulls=NullHandling.ERROR, aggregation=Aggregation()) if a.column == "height" else a
    for a in POLICY.attributes
)

VARIANTS: dict[str, dict[str, Any]] = {
    "loss": {},
    "entropy": {"quality_model": EntropyModel()},
    "divergence": {
        "attributes": tuple(a for a in POLICY.attributes if a.column != "height"),
        "default_role": Role.IDENTIFYING,
        "quality_model": KLDivergenceModel(),
    },
    "classification of an insensitive column": {"quality_model": ClassificationModel(("ward",), ("age", "sex"))},
    "anytime": {"search": replace(POLICY.search, strategy=Strategy.ANYTIME, seed=3)},
    "kept": {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "gone"},
    "averages": {"privacy_models": (AverageRisk(Decimal("0.2")), *POLICY.privacy_models[1:])},
    "aggregates": {"attributes": AGGREGATED, "quality_model": LossModel()},
}

Row = tuple[int, float, str, str | None, str | None, int | None, str]


def people(random: random.Random) -> list[Row]:
    """People whose sensitive values depend on their age."""
    rows: list[Row] = []
    for _ in range(60):
        age = random.choice([20, 23, 35, 38, 52, 71])
        illness = None if random.random() < 0.1 else f"illness {age // 20}"
        salary = None if random.random() < 0.1 else age * 100 + random.randrange(3)
        born = f"200{random.randrange(4)}-{random.randrange(1, 13):02}-15"
        sex = random.choice(["f", "m", None]) if random.random() < 0.1 else random.choice("fm")
        rows.append((age, round(random.uniform(1, 3), 2), born, sex, illness, salary, random.choice("ab")))
    return rows


def with_values_permuted(rows: list[Row], random: random.Random) -> list[Row]:
    others = random.sample(rows, len(rows))
    return [(*row[:4], *other[4:6], row[6]) for row, other in zip(rows, others, strict=True)]


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


def chosen(database: Database, policy: Policy, rows: list[Row]) -> tuple[Any, ...]:
    """The levels, and of every class whether it is released."""
    with database.session() as session:
        session.control = Control()
        session.execute(
            "CREATE OR REPLACE TABLE people "
            "(age INTEGER, height DOUBLE, born DATE, sex VARCHAR, illness VARCHAR, salary INTEGER, ward VARCHAR)"
        )
        insert(session, "people", rows)
        job = context(session)
        plan = chosen_plan(job, count(job, policy))
        return plan.transformation, plan.classes.counts.tolist(), plan.kept.tolist()


@pytest.mark.parametrize("variant", once(VARIANTS))
def test_permuted_sensitive_values_change_nothing_that_is_chosen(
    database: Database, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    # The models that judge afterwards would hide the choice.
    monkeypatch.setattr(run, "judging_models", lambda policy: ())
    drawing = random.Random(0)
    policy, rows = replace(POLICY, **VARIANTS[variant]), people(drawing)
    first = chosen(database, policy, rows)
    assert any(level > 0 for level in first[0])
    for _ in range(2):
        assert chosen(database, policy, with_values_permuted(rows, drawing)) == first
