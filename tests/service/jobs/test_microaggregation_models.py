"""Releases by microaggregation of which models of sensitive columns hold."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tableveil.backend import Database, Session
from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.errors import InfeasibleError
from tableveil.policy import (
    AbsentValues,
    DeltaDisclosure,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    KAnonymity,
    PrivacyModel,
    TCloseness,
    validate_policy,
)
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Microaggregation
from tableveil.privacy.entropy_diversity import entropy_l
from tests.once import once
from tests.service.jobs import test_microaggregation
from tests.service.jobs.aggregated_rows import Row, equal_distance, ordered_distance, within
from tests.service.jobs.test_microaggregation import POLICY, Run, check, refused

database, clean, people = test_microaggregation.database, test_microaggregation.clean, test_microaggregation.people


@pytest.mark.parametrize("closeness", once(ClosenessAlgorithm))
def test_every_class_is_close(
    database: Database, session: Session, run: Run, people: list[Row], closeness: ClosenessAlgorithm
) -> None:
    t = Decimal("0.12")
    policy = replace(
        POLICY,
        privacy_models=(KAnonymity(3), KAnonymity(2), TCloseness("charge", t, Distance.ORDERED)),
        methods=(Microaggregation(closeness=closeness),),
    )
    release = run(database, policy)
    classes = check(policy, session, people, k=3)
    charges = [row["charge"] for row in people]
    distances = [ordered_distance([row["charge"] for row in part], charges) for part in classes.values()]
    assert all(within(distance, t) for distance in distances)
    assert len(classes) > 1
    reached = {(g.model, g.column): g.after for g in release.guarantees}
    assert reached["t_closeness (ordered)", "charge"] == pytest.approx(float(max(distances)), rel=1e-9)
    # Columns that no model looks at are not counted.
    assert {column for _, column in reached} == {"", "charge"}


def test_several_sensitive_columns_at_once(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    models = (
        KAnonymity(3),
        DistinctLDiversity("illness", 3),
        TCloseness("charge", Decimal("0.3"), Distance.ORDERED),
        TCloseness("illness", Decimal("0.25"), Distance.EQUAL),
    )
    policy = replace(POLICY, privacy_models=models)
    release = run(database, policy)
    classes = check(policy, session, people, k=3)
    charges, illnesses = [row["charge"] for row in people], [row["illness"] for row in people]
    for part in classes.values():
        assert len({row["illness"] for row in part}) == 3
        assert ordered_distance([row["charge"] for row in part], charges) <= Fraction("0.3")
        assert equal_distance([row["illness"] for row in part], illnesses) <= Fraction("0.25")
    assert len(classes) > 1
    assert "merged" in release.proof.strategy
    assert not release.proof.optimal


def test_a_model_that_not_even_everybody_meets(database: Database, session: Session, people: list[Row]) -> None:
    models = (KAnonymity(3), EntropyLDiversity("illness", Decimal(3)))
    fault = refused(InfeasibleError, database, session, replace(POLICY, privacy_models=models)).faults[0]
    assert fault.field.startswith("privacy_models")
    assert "3" in fault.found


@pytest.mark.parametrize(
    ("model", "field"),
    [
        (EntropyLDiversity("illness", Decimal(2), EntropyEstimator.GRASSBERGER), "entropy_l_diversity.estimator"),
        (DeltaDisclosure("illness", Decimal(2), AbsentValues.IGNORE), "delta_disclosure.absent_values"),
    ],
)
def test_models_of_which_a_union_need_not_hold_are_refused(model: PrivacyModel, field: str) -> None:
    faults = validate_policy(replace(POLICY, privacy_models=(KAnonymity(2), model)))
    assert [fault.field for fault in faults] == [f"privacy_models[1].{field}"]


def test_a_union_may_not_meet_what_its_parts_do() -> None:
    """Two clusters of six people with the same illnesses, as they are and as one class."""
    part, codes = np.array([1, 1, 4]), np.arange(3)
    column = SensitiveColumn("illness", 2 * part)
    parts = ClassValues(np.repeat([0, 1], 3), np.tile(codes, 2), np.tile(part, 2))
    union = ClassValues(np.zeros(3, np.intp), codes, 2 * part)
    estimates = [entropy_l(values, column, EntropyEstimator.GRASSBERGER) for values in (parts, union)]
    assert estimates[1].min() < 2.5 < estimates[0].min()
