"""Releases by local recoding: valid by brute force, never worse than full-domain, verified, with a true bound."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InfeasibleError, InternalError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.infeasible import Asked, nothing_valid
from tableveil.pipelines.work import JobReport
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    BetaLikeness,
    Choose,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    LossModel,
    NullHandling,
    Policy,
    Population,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    Role,
    SearchOptions,
    TableReference,
    TCloseness,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.release import by_combination
from tableveil.search.findings import Infeasible
from tableveil.search.relaxing import Relaxed
from tableveil.state.dry_runs import DryRun
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
Row = tuple[Any, ...]

LETTERS = InlineLevels(tuple((c, "vowel" if c in "aei" else "other", "*") for c in "abcdefghi"))
MEAN = LossModel(Aggregate.ARITHMETIC_MEAN)

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("letter", Role.QUASI_IDENTIFIER, LETTERS),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "39", ("10", "20"))),
        AttributePolicy("illness", Role.SENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(4),),
    release=plain_target("main", "out"),
    quality_model=MEAN,
    methods=(LocalRecoding(),),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal"):
        session.execute(f'DROP TABLE "{name}"')
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")


def drawn(seed: int, rows: int) -> list[Row]:
    random = Random(seed)
    return [
        (
            random.choice("aaaabbbcdefghi"),
            min(int(random.expovariate(0.1)), 39),
            random.choices(["flu", "cold", "gout"], [5, 3, 2])[0],
        )
        for _ in range(rows)
    ]


def create(session: Session, rows: Sequence[Row], name: str = "people") -> None:
    columns = dict(zip(("letter", "age", "illness"), zip(*rows, strict=True), strict=True))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")


def released(session: Session) -> list[Row]:
    rows: list[Row] = session.rows("SELECT letter, age, illness FROM out")
    return rows


def fits(row: Row, labels: Row) -> bool:
    """Whether the labels are the row's at some levels."""
    letter, age = row[:2]
    low = [age // width * width for width in (10, 20)]
    ages = {str(age), f"[{low[0]}, {low[0] + 9}]", f"[{low[1]}, {low[1] + 19}]", "*"}
    return labels[0] in (letter, "vowel" if letter in "aei" else "other", "*") and str(labels[1]) in ages


def loss(labels: Row) -> float:
    letter = {"vowel": 2 / 8, "other": 5 / 8, "*": 1.0}.get(labels[0], 0.0)
    text = str(labels[1])
    width = 39 if text == "*" else 0
    if text.startswith("["):
        first, last = map(int, text.strip("[]").split(", "))
        width = last - first
    return (letter + width / 39) / 2


def holds(model: PrivacyModel, values: list[str], source: Counter[str]) -> bool:
    """The model by its definition, for one class."""
    spread, size, whole = Counter(values), len(values), sum(source.values())
    shares = sorted((count / size for count in spread.values()), reverse=True)
    match model:
        case KAnonymity(k):
            return size >= k
        case DistinctLDiversity(_, l):
            return len(spread) >= l
        case ProbabilisticLDiversity(_, l):
            return shares[0] <= 1 / float(l) + 1e-9
        case EntropyLDiversity(_, l):
            return -sum(p * math.log(p) for p in shares) >= math.log(float(l)) - 1e-9
        case RecursiveCLDiversity(_, c, l):
            return shares[0] < float(c) * sum(shares[l - 1 :])
        case TCloseness(_, t):
            return sum(abs(spread[v] / size - n / whole) for v, n in source.items()) / 2 <= float(t) + 1e-9
        case BetaLikeness(_, beta):
            return all(spread[v] / size <= (1 + float(beta)) * n / whole + 1e-9 for v, n in source.items())
        case DeltaDisclosure(_, delta):
            return all(
                spread[v] and abs(math.log2(spread[v] / size / (n / whole))) < float(delta) for v, n in source.items()
            )
    raise AssertionError(model)


MODELS: list[tuple[PrivacyModel, ...]] = [
    (KAnonymity(4),),
    (KAnonymity(2), DistinctLDiversity("illness", 2)),
    (ProbabilisticLDiversity("illness", Decimal(2)), KAnonymity(3)),
    (EntropyLDiversity("illness", Decimal("1.8")),),
    (RecursiveCLDiversity("illness", Decimal(3), 2), KAnonymity(2)),
    (KAnonymity(3), TCloseness("illness", Decimal("0.3"))),
    (BetaLikeness("illness", Decimal("0.8")), KAnonymity(2)),
    (DeltaDisclosure("illness", Decimal("1.5")), KAnonymity(2)),
]


@pytest.mark.parametrize("models", once(MODELS), ids=lambda models: str(models[0]))
def test_every_class_meets_every_model_and_every_label_is_its_records(
    database: Database, session: Session, run: Run, models: tuple[PrivacyModel, ...]
) -> None:
    people = drawn(3, 150)
    create(session, people)
    limit = Decimal("0.05")
    policy = replace(POLICY, privacy_models=models, suppression_limit=limit)
    release = run(database, policy)
    rows = released(session)
    assert len(rows) == release.records - release.suppressed_records >= 150 * (1 - limit)
    classes = defaultdict(list)
    for *labels, illness in rows:
        classes[tuple(labels)].append(illness)
    source = Counter(illness for *_, illness in people)
    assert all(holds(model, values, source) for model in models for values in classes.values())
    # A matching of people to rows exists only if every label is some person's, as often as people have it.
    assert all(any(fits(person, row) and person[2] == row[2] for person in people) for row in rows)
    score = (sum(loss(row) for row in rows) + release.suppressed_records) / 150
    assert release.score == pytest.approx(score, abs=1e-9)
    assert release.proof.lower_bound <= release.score
    assert release.proof.searched is None


@pytest.mark.parametrize("seed", once(range(3)))
def test_never_worse_than_full_domain(database: Database, session: Session, run: Run, seed: int) -> None:
    create(session, drawn(seed, 80))
    local = run(database, replace(POLICY, release=plain_target("main", "out")))
    whole = run(
        database, replace(POLICY, release=plain_target("main", "whole"), methods=(), repeat_reason="to compare")
    )
    assert local.score <= whole.score + 1e-12


def test_held_columns_have_few_levels(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(1, 200))
    held = LocalRecoding((("age", 1), ("letter", 2)))
    release = run(database, replace(POLICY, methods=(held,)))
    letter, age = release.attributes
    assert len(age.levels) == 1
    assert 1 <= len(letter.levels) <= 2


def test_a_column_that_must_not_be_erased(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(1, 60))
    attributes = (POLICY.attributes[0], replace(POLICY.attributes[1], maximum_level=2), POLICY.attributes[2])
    run(database, replace(POLICY, attributes=attributes))
    assert "*" not in {age for _, age, _ in released(session)}


def test_k_map_counts_the_people_of_all_labels(database: Database, session: Session, run: Run) -> None:
    people = drawn(5, 60)
    create(session, people)
    create(session, people + drawn(6, 300), "everyone")
    population = Population(TableReference("", "main", "everyone"))
    models = (KMap(6),)
    run(database, replace(POLICY, privacy_models=models, population=population))
    everyone = people + drawn(6, 300)
    for labels in {row[:2] for row in released(session)}:
        assert sum(fits(person, labels) for person in everyone) >= 6


@pytest.mark.long
def test_another_aggregate_says_what_was_minimized(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(2, 80))
    release = run(database, replace(POLICY, quality_model=LossModel(Aggregate.GEOMETRIC_MEAN)))
    assert "minimized: arithmetic mean" in release.quality_model
    product = math.prod(1 + attribute.loss for attribute in release.attributes)
    assert release.score == pytest.approx(product**0.5 - 1, abs=1e-9)
    assert release.proof.lower_bound == 0
    assert any("minimized was" in warning for warning in release.warnings)


def test_nulls_are_values_or_suppressed(database: Database, session: Session, run: Run) -> None:
    create(session, [*drawn(2, 80), (None, 3, "flu"), ("a", None, "flu")])
    suppress = replace(POLICY.attributes[1], nulls=NullHandling.SUPPRESS)
    attributes = (POLICY.attributes[0], suppress, POLICY.attributes[2])
    release = run(database, replace(POLICY, attributes=attributes, suppression_limit=Decimal("0.1")))
    assert 1 <= release.suppressed_records <= 8


@pytest.mark.long
def test_all_records_are_withheld(database: Database, session: Session, run: Run) -> None:
    session.execute("CREATE TABLE people AS SELECT NULL::VARCHAR AS letter, 3 AS age, 'flu' AS illness FROM range(5)")
    attributes = (replace(POLICY.attributes[0], nulls=NullHandling.SUPPRESS), *POLICY.attributes[1:])
    release = run(database, replace(POLICY, attributes=attributes, suppression_limit=Decimal(1)))
    assert (release.suppressed_records, release.score, release.proof.lower_bound) == (5, 1, 1)


def test_classes_that_fail_together_are_not_released_when_time_is_over(
    database: Database, session: Session, run: Run
) -> None:
    create(session, [("abcdefghi"[i % 9], i % 40, "flu") for i in range(300)])
    finest = tuple(replace(a, maximum_level=0) if a.hierarchy else a for a in POLICY.attributes)
    at_once = SearchOptions(time_limit_seconds=Decimal("0.001"))
    with pytest.raises(InfeasibleError):
        run(database, replace(POLICY, attributes=finest, search=at_once))


@pytest.mark.long
def test_extreme_tables(database: Database, session: Session, run: Run) -> None:
    create(session, [("a", 3, "flu")] * 6)
    release = run(database, POLICY)
    assert (release.score, release.classes, release.proof.optimal) == (0, 1, True)
    create(session, [(letter, 4 * i, "flu") for i, letter in enumerate("abcdefgh")])
    other = replace(POLICY, release=plain_target("main", "other"), repeat_reason="a test")
    assert run(database, other).classes >= 1
    create(session, [("a", 3, "flu")])
    with pytest.raises(InfeasibleError):
        run(database, replace(other, release=plain_target("main", "third")))


def test_limits_of_levels_that_make_it_infeasible(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(1, 40))
    finest = tuple(replace(a, maximum_level=0) if a.hierarchy else a for a in POLICY.attributes)
    with pytest.raises(InfeasibleError) as raised:
        run(database, replace(POLICY, attributes=finest))
    assert raised.value.faults


def test_infeasibility_says_that_equal_records_stay_together(database: Database, session: Session, run: Run) -> None:
    """Two of the four equal records could be released without the others."""
    create(session, [("a", 3, illness) for illness in ("flu", "flu", "flu", "cold")])
    models = (EntropyLDiversity("illness", Decimal(2)),)
    with pytest.raises(InfeasibleError) as raised:
        run(database, replace(POLICY, privacy_models=models, suppression_limit=Decimal("0.5")))
    assert "without the others" in next(fault for fault in raised.value.faults if fault.field == "local_recoding").hint


def test_no_levels_are_offered_that_the_policy_may_not_give() -> None:
    why = Infeasible((0, 0), 40, 0, 40, ())
    too_late = nothing_valid(Asked(POLICY, POLICY.privacy_models), why, 0, Relaxed((1, 1), False))
    assert (too_late.relaxations, too_late.faults[0].hint) == ((), "Give more.")
    whole = replace(POLICY, methods=())
    assert nothing_valid(Asked(whole, whole.privacy_models), why, 0, Relaxed((1, 1), False)).relaxations


@pytest.mark.long
def test_chosen_by_quasi_identifiers_only(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(4, 200))
    blindly = replace(
        POLICY,
        privacy_models=(KAnonymity(8), ProbabilisticLDiversity("illness", Decimal("1.8"))),
        search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY),
    )
    with pytest.raises(InfeasibleError) as raised:
        run(database, blindly)
    assert raised.value.code == "VALUES_UNPROTECTED"
    model, choose = raised.value.faults
    assert (model.field, choose.field) == ("privacy_models[1]", "search.choose")
    assert "classes: they were chosen by quasi-identifiers only" in model.found
    less, by_all = raised.value.relaxations
    [change] = less.changes
    assert change.field == "privacy_models[1].probabilistic_l_diversity.l"
    assert [(change.field, change.value) for change in by_all.changes] == [("search.choose", "ALL_MODELS")]
    # Both do, and less alone does not.
    for number, value in enumerate((Decimal(change.value), Decimal(change.value) + Decimal("0.0001"))):
        lenient = (KAnonymity(8), ProbabilisticLDiversity("illness", value))
        policy = replace(blindly, privacy_models=lenient, release=plain_target("main", f"again_{number}"))
        if number == 0:
            run(database, replace(policy, repeat_reason="a test"))
        else:
            with pytest.raises(InfeasibleError):
                run(database, replace(policy, repeat_reason="a test"))
    run(database, replace(blindly, search=SearchOptions(), repeat_reason="a test"))


def test_its_loss_is_explained(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(5, 200))
    release = run(database, replace(POLICY, suppression_limit=Decimal("0.1")))
    columns = [part for part in release.costs if part.label is None]
    assert sorted(part.column for part in columns if part.column) == ["age", "letter"]
    assert sum(part.share for part in columns) == pytest.approx(1)
    # A label's records are those that have it in the release; values are no labels.
    rows, labels = released(session), [part for part in release.costs if part.label is not None]
    assert labels
    for part in labels:
        assert part.label is not None
        assert part.label not in "abcdefghi"
        assert part.records == sum(row[part.column == "age"] == part.label for row in rows)
    assert release.alternatives == ()


@pytest.mark.long
def test_a_dry_run_tells_what_else_was_reached(
    database: Database, session: Session, run: Run, tried: Callable[[Policy], DryRun]
) -> None:
    create(session, drawn(5, 200))
    policy = replace(POLICY, suppression_limit=Decimal("0.1"))
    release = tried(policy)
    assert tried(policy).alternatives == release.alternatives
    lower, higher = release.alternatives
    assert (lower.k, lower.suppression_limit) == (2, Decimal("0.1"))
    assert (higher.k, higher.suppression_limit) == (4, Decimal("0.15"))
    assert lower.score < release.score
    assert max(lower.score, higher.score) <= release.score + 1e-12
    # A release with that policy has no bound above the score that was reached.
    other = replace(POLICY, privacy_models=(KAnonymity(2),), suppression_limit=Decimal("0.1"), repeat_reason="a test")
    again = run(database, replace(other, release=plain_target("main", "again")))
    assert again.proof.lower_bound <= lower.score
    assert again.suppressed_records <= 20 >= lower.suppressed_records


def test_what_else_is_reached_is_bounded_by_work(
    session: Session, tried: Callable[[Policy], DryRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(session, drawn(5, 200))
    monkeypatch.setattr("tableveil.pipelines.local_recoding.frontier.CHECKS_FOR_ALTERNATIVES", 0)
    release = tried(replace(POLICY, suppression_limit=Decimal("0.1")))
    assert [one.score for one in release.alternatives] == pytest.approx([release.score] * 2), "no work improved them"


def test_nothing_is_promised_that_models_may_refuse(session: Session, tried: Callable[[Policy], DryRun]) -> None:
    create(session, drawn(5, 200))
    models = (KAnonymity(4), DistinctLDiversity("illness", 1))
    blindly = SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY)
    assert tried(replace(POLICY, privacy_models=models, search=blindly)).alternatives == ()


def test_nothing_is_tried_that_takes_long(
    session: Session, tried: Callable[[Policy], DryRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(session, drawn(5, 50))
    monkeypatch.setattr("tableveil.pipelines.local_recoding.frontier.LARGEST_BY_CELL", 20)
    assert tried(POLICY).alternatives == ()


def test_labels_that_mean_two_things_are_refused(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(4, 50))
    rows = tuple((c, "a" if c in "ab" else c, "*") for c in "abcdefghi")
    attributes = (replace(POLICY.attributes[0], hierarchy=InlineLevels(rows)), *POLICY.attributes[1:])
    with pytest.raises(InvalidError) as raised:
        run(database, replace(POLICY, attributes=attributes))
    assert raised.value.code == "LABELS_AMBIGUOUS"
    assert "local_recoding" in raised.value.faults[0].expected


def test_a_wrong_level_is_found(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verification labels the source's rows anew from the plan."""
    create(session, drawn(7, 120))
    label_at = by_combination.label_at_own_level

    def coarser(labels: Any, attribute: int) -> Any:
        return label_at(dict.fromkeys(labels, labels[max(labels)]) if attribute == 1 else labels, attribute)

    monkeypatch.setattr("tableveil.release.by_combination.label_at_own_level", coarser)
    with pytest.raises(InternalError) as raised:
        run(database, POLICY)
    assert raised.value.code == "VERIFICATION_FAILED"
    assert "levels that were chosen" in str(raised.value)


def test_it_can_be_stopped_and_limited(database: Database, session: Session, run: Run) -> None:
    create(session, drawn(8, 300))
    release = run(database, replace(POLICY, search=SearchOptions(time_limit_seconds=Decimal("0.001"))))
    assert release.proof.lower_bound <= release.score
    with database.session() as own:
        own.control = control = Control()
        stop = JobReport(on_phase=lambda phase: control.cancel() if phase == "SEARCHING" else None)
        policy = replace(POLICY, release=plain_target("main", "other"), repeat_reason="a test")
        with pytest.raises((CancelledError, Stopped)):
            anonymize(context(own, database, 99, stop), policy)
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name LIKE 'other%'") == []
