"""Releases by local recoding as readers see them: suppressed rows, mixed widths, and what classes tell."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, Session
from tableveil.policy import ClassificationModel, EntropyLDiversity, KAnonymity, SuppressedRecords
from tableveil.policy.methods.local_recoding import LocalRecoding
from tests.once import once
from tests.service.jobs import test_local_recoding
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_local_recoding import POLICY, Row, Run, create, drawn, holds, released

database, clean = test_local_recoding.database, test_local_recoding.clean


@pytest.mark.parametrize("seed", once(range(4)))
def test_suppressed_rows_are_shown_as_one_class_that_holds(
    database: Database, session: Session, run: Run, seed: int
) -> None:
    people = drawn(20 + seed, 150)
    create(session, people)
    models = (KAnonymity(4), EntropyLDiversity("illness", Decimal("1.8")))
    finest = tuple(replace(a, maximum_level=1) if a.hierarchy else a for a in POLICY.attributes)
    policy = replace(
        POLICY,
        attributes=finest,
        suppression_limit=Decimal("0.6"),
        suppressed_records=SuppressedRecords.KEEP,
        marker_column="gone",
        privacy_models=models,
    )
    release = run(database, policy)
    shown = session.rows("SELECT letter, age, illness FROM out WHERE gone")
    assert len(shown) == release.suppressed_records > 0
    assert {row[:2] for row in shown} == {(None, None)}
    source = Counter(illness for *_, illness in people)
    assert all(holds(model, [illness for *_, illness in shown], source) for model in models)


def test_suppressed_rows_are_blank(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(9, 100))
    policy = replace(
        POLICY,
        suppression_limit=Decimal("0.2"),
        suppressed_records=SuppressedRecords.BLANK,
        marker_column="gone",
        privacy_models=(KAnonymity(6),),
    )
    release = run(database, policy)
    assert session.value("SELECT count(*) FROM out WHERE gone") == release.suppressed_records
    assert session.value("SELECT count(*) FROM out WHERE gone AND coalesce(letter, age, illness) IS NOT NULL") == 0


def shares_of_the_worst(rows: Sequence[Row], records: int, features: Sequence[int]) -> float:
    """Iyengar's penalties by their definition, counted from the released rows: 0.5 if suppressed, else 1."""
    votes: dict[Row, Counter[str]] = defaultdict(Counter)
    for row in rows:
        votes[tuple(row[j] for j in features)][row[2]] += 1
    penalty = 0.5 * (records - len(rows))
    for spread in votes.values():
        (_, most), *others = spread.most_common()
        penalty += spread.total() - most if not others or others[0][1] < most else spread.total()
    return penalty / records


@pytest.mark.long
def test_classes_that_tell_more_than_the_best_transformation(database: Database, session: Session, run: Run) -> None:
    create(session, [(letter, age, "flu" if age % 4 < 2 else "cold") for letter, age, _ in drawn(4, 120)])
    local = run(database, replace(POLICY, quality_model=ClassificationModel(("illness",))))
    assert local.score == pytest.approx(shares_of_the_worst(released(session), 120, (0, 1)))
    assert local.proof.strategy.startswith("local recoding: cheapest first by cell")


@pytest.mark.parametrize(("features", "at"), once([((), (0, 1)), (("age",), (1,))], several=True))
@pytest.mark.parametrize("held", once([LocalRecoding(), LocalRecoding((("age", 1),))]))
def test_the_score_of_classification_is_counted_from_the_rows(
    database: Database, session: Session, run: Run, features: tuple[str, ...], at: tuple[int, ...], held: LocalRecoding
) -> None:
    create(session, drawn(4, 120))
    policy = replace(
        POLICY,
        quality_model=ClassificationModel(("illness",), features),
        methods=(held,),
        suppression_limit=Decimal("0.1"),
    )
    local = run(database, policy)
    assert local.score == pytest.approx(shares_of_the_worst(released(session), 120, at))
    assert local.quality_model.endswith("; minimized: arithmetic mean of loss")
    assert (local.proof.optimal, local.proof.lower_bound) == (False, 0)
    whole = replace(policy, methods=(), release=plain_target("main", "whole"), repeat_reason="to compare")
    assert local.score <= run(database, whole).score
