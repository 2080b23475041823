"""The policy's quality and search options: they decide the release, and the evidence records them."""

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import (
    NO_LIMIT,
    AmbiguityModel,
    AttributePolicy,
    AverageClassSizeModel,
    DiscernibilityModel,
    EntropyModel,
    Game,
    HeightModel,
    IfExists,
    KAnonymity,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    Policy,
    PrecisionModel,
    Profitability,
    PublisherPayoutModel,
    QualityModel,
    Role,
    SearchOptions,
    Strategy,
    Success,
    TableReference,
)
from tableveil.state.releases import RELEASES, Release
from tests.once import once
from tests.searched import searched as search_of
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]
AtLevels = Callable[[dict[str, int]], Release]

AGES = Intervals("0", "99", ("10", "50"))
WARDS = InlineLevels(tuple((ward, ward[0], "*") for ward in ("north", "south", "east", "west", "nowhere")))
POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, WARDS),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "released", if_exists=IfExists.REPLACE, guards=UNGUARDED),
    suppression_limit=Decimal("0.2"),
    repeat_reason="a test",
    game=Game(Decimal(10), Decimal(12), Decimal(12), Decimal(2)),
)
QUALITY_MODELS: tuple[QualityModel, ...] = (
    LossModel(),
    LossModel(factor=0.2),
    EntropyModel(),
    EntropyModel(normalized=True),
    PrecisionModel(),
    HeightModel(),
    DiscernibilityModel(),
    AverageClassSizeModel(),
    AmbiguityModel(),
    KLDivergenceModel(),
    KLDivergenceModel(KLWeighting.PER_RECORD),
    PublisherPayoutModel(),
    PublisherPayoutModel(Success.MARKETER),
)


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    with shared_database.session() as session:
        session.execute(
            "CREATE TABLE patients AS SELECT (i * 37 % 90)::INTEGER AS age, "
            "['north', 'south', 'east', 'west', 'nowhere'][1 + i * 7 % 5] AS ward, "
            "CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END AS sex FROM range(200) AS r(i)"
        )
    return shared_database


@pytest.fixture(scope="module")
def usual(database: Database, run: Run) -> Release:
    """The release of the unchanged policy; its table is replaced by those of other tests."""
    return run(database, POLICY)


@pytest.fixture(scope="module")
def at_levels(database: Database, run: Run) -> AtLevels:
    """The releases with given levels, each made once."""
    released: dict[tuple[tuple[str, int], ...], Release] = {}

    def release_at(given: dict[str, int]) -> Release:
        key = tuple(sorted(given.items()))
        if key not in released:
            released[key] = run(database, searched(levels=key))
        return released[key]

    return release_at


def levels(release: Release) -> dict[str, int]:
    return {result.column: result.level for result in release.attributes}


def searched(policy: Policy = POLICY, **options: object) -> Policy:
    return replace(policy, search=SearchOptions(**options))  # type: ignore[arg-type]


def faults(run: Run, database: Database, policy: Policy) -> list[tuple[str, str]]:
    """The faults of a job, which a check finds too."""
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    with database.session() as session, pytest.raises(InvalidError) as checked:
        check_rows(context(session), policy)
    assert raised.value.faults == checked.value.faults
    return [(fault.field, fault.found) for fault in raised.value.faults]


# --- quality models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", once(QUALITY_MODELS), ids=str)
def test_every_quality_model_makes_a_release(
    database: Database, run: Run, at_levels: AtLevels, model: QualityModel
) -> None:
    release = run(database, replace(POLICY, quality_model=model))
    assert release.proof.optimal
    assert release.proof.lower_bound == release.score
    assert search_of(release).counted >= search_of(release).checked
    assert math.isfinite(release.score)
    # Losses do not depend on the model: those of the same levels are the same.
    again = at_levels(levels(release))
    assert [result.loss for result in release.attributes] == [result.loss for result in again.attributes]
    with_parts = isinstance(model, LossModel | EntropyModel | PrecisionModel | HeightModel)
    assert [result.part is not None for result in release.attributes] == [with_parts] * 3


@pytest.mark.long
def test_losses_and_parts_are_told_apart(database: Database, run: Run, usual: Release) -> None:
    release = run(database, replace(POLICY, quality_model=HeightModel()))
    assert release.quality_model == "height, sum"
    assert [result.part for result in release.attributes] == [float(level) for level in levels(release).values()]
    assert release.score == sum(levels(release).values())
    assert all(0 <= result.loss <= 1 for result in release.attributes)
    assert usual.quality_model == "loss, arithmetic mean"
    assert [result.part for result in usual.attributes] == [result.loss for result in usual.attributes]


@pytest.mark.long
def test_weights_change_the_score_and_not_the_losses(database: Database, run: Run) -> None:
    age = replace(POLICY.attributes[0], weight=0.0)
    given = (("age", 2), ("sex", 0), ("ward", 1))
    plain = run(database, searched(levels=given))
    weighted = run(database, searched(replace(POLICY, attributes=(age, *POLICY.attributes[1:])), levels=given))
    assert weighted.score < plain.score
    assert [result.loss for result in weighted.attributes] == [result.loss for result in plain.attributes]
    assert plain.attributes[0].loss > 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"quality_model": AmbiguityModel()}, "QUALITY_UNCOUNTABLE"),
        ({"quality_model": KLDivergenceModel()}, "QUALITY_UNCOUNTABLE"),
        ({"quality_model": PublisherPayoutModel()}, "QUALITY_UNCOUNTABLE"),
        ({"privacy_models": (KAnonymity(3), Profitability())}, "PRIVACY_UNCOUNTABLE"),
    ],
)
def test_what_is_measured_cannot_be_counted(
    database: Database, run: Run, session: Session, options: dict[str, Any], code: str
) -> None:
    session.execute("CREATE OR REPLACE TABLE measured AS SELECT (i % 5)::DOUBLE AS weight FROM range(50) AS r(i)")
    weight = AttributePolicy("weight", Role.QUASI_IDENTIFIER, Intervals("0", "10", ("5",)))
    policy = replace(
        POLICY,
        source=TableReference("", "main", "measured"),
        attributes=(weight,),
        release=plain_target("main", "measured_released"),
    )
    with pytest.raises(InvalidError) as raised:
        run(database, replace(policy, **options))
    assert (raised.value.code, raised.value.faults[0].field) == (code, "attributes[0].hierarchy")


# --- strategies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", once(list(Strategy), 2))
def test_every_strategy_finds_the_same_and_says_which_it_was(
    database: Database, run: Run, usual: Release, strategy: Strategy
) -> None:
    release = run(database, searched(strategy=strategy))
    assert (levels(release), release.score) == (levels(usual), usual.score)
    assert release.proof.strategy
    assert strategy is Strategy.AUTO or release.proof.strategy.startswith(strategy.lower())
    assert release.proof.counting
    found = search_of(release).best_seconds
    assert found is not None
    assert 0 <= found <= release.proof.seconds


# --- given levels ---------------------------------------------------------------------------------------------------


def test_given_levels_are_released(database: Database, run: Run, session: Session) -> None:
    release = run(database, searched(levels=(("age", 3), ("sex", 0), ("ward", 1))))
    assert levels(release) == {"age": 3, "ward": 1, "sex": 0}
    assert (search_of(release).lattice_size, search_of(release).checked, release.proof.optimal) == ("1", 1, True)
    assert release.explanation is not None
    assert release.explanation.neighbours == ()
    assert {row[0] for row in session.rows("SELECT DISTINCT ward FROM released")} == {"n", "s", "e", "w"}


def test_given_levels_that_do_not_meet_the_policy(database: Database, run: Run) -> None:
    with pytest.raises(InfeasibleError) as raised:
        run(database, searched(levels=(("age", 0), ("sex", 0), ("ward", 0))))
    assert "at the levels that search.levels gives" in raised.value.message
    fault = raised.value.faults[0]
    assert fault.field == "search.levels"
    assert "search.levels[" in fault.hint


def test_given_levels_above_the_tops(database: Database, run: Run) -> None:
    policy = searched(levels=(("age", 4), ("sex", 2), ("ward", 2)))
    assert faults(run, database, policy) == [("search.levels[age]", "4"), ("search.levels[sex]", "2")]


# --- linked columns -------------------------------------------------------------------------------------------------


def test_linked_columns_have_the_same_level(database: Database, run: Run, usual: Release) -> None:
    release = run(database, searched(linked=(("ward", "age"),)))
    assert levels(usual)["age"] != levels(usual)["ward"], "or linking them would show nothing"
    assert levels(release)["age"] == levels(release)["ward"]
    # Ages have three levels above the values and wards two: they share the levels 0 to 2.
    assert search_of(release).lattice_size == str(3 * 2)
    assert release.score >= usual.score
    assert release.explanation is not None
    assert {found.columns for found in release.explanation.neighbours} <= {("age", "ward"), ("sex",)}


def test_limits_of_linked_columns_are_intersected(database: Database, run: Run) -> None:
    age = replace(POLICY.attributes[0], minimum_level=1)
    ward = replace(POLICY.attributes[1], maximum_level=1)
    policy = replace(POLICY, attributes=(age, ward, POLICY.attributes[2]), suppression_limit=Decimal(1))
    release = run(database, searched(policy, linked=(("age", "ward"),)))
    assert search_of(release).lattice_size == "2"
    assert (levels(release)["age"], levels(release)["ward"]) == (1, 1)


def test_linked_columns_without_a_common_level(database: Database, run: Run) -> None:
    age = replace(POLICY.attributes[0], minimum_level=2)
    policy = replace(POLICY, attributes=(age, *POLICY.attributes[1:]))
    assert faults(run, database, searched(policy, linked=(("sex", "age"),))) == [
        ("search.linked[0]", "'age', from level 2 on, with 'sex', up to level 1")
    ]


# --- explanations ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_an_explanation_is_what_giving_the_levels_would_do(
    database: Database, run: Run, usual: Release, at_levels: AtLevels
) -> None:
    release = usual
    explanation = release.explanation
    assert explanation is not None
    assert explanation.complete
    assert explanation.itself.score == release.score
    assert explanation.itself.suppressed_records == release.suppressed_records
    assert explanation.itself.classes - explanation.itself.rejected_classes == release.classes
    assert {found.step for found in explanation.neighbours} == {-1, 1}
    for found in explanation.neighbours:
        (column,) = found.columns
        assert found.level is not None
        given = levels(release) | {column: found.level}
        assert found.level == levels(release)[column] + found.step
        if found.score is None:
            with pytest.raises(InfeasibleError) as raised:
                at_levels(given)
            assert f"{found.suppressed_records} of {release.records} records" in raised.value.message
            assert found.records_over_limit == found.suppressed_records - release.records // 5
            assert [rejection.binds for rejection in found.rejections] == [True]
        else:
            other = at_levels(given)
            assert (other.score, other.suppressed_records) == (found.score, found.suppressed_records)
            assert other.score >= release.score
            assert [rejection.binds for rejection in found.rejections] == [False]
        assert [rejection.privacy_model for rejection in found.rejections] == ["3-anonymity"]
        assert found.rejections[0].classes == found.rejected_classes


def test_explanations_are_stored_by_release(usual: Release, session: Session) -> None:
    release = usual
    rows = session.rows(
        "SELECT columns, step, level, score FROM tableveil.release_explanations WHERE release = ? ORDER BY position",
        [release.number],
    )
    assert release.explanation is not None
    assert [tuple(columns) for columns, *_ in rows] == [
        (),
        *(found.columns for found in release.explanation.neighbours),
    ]
    assert rows[0][1:] == (0, None, release.score)
    assert session.value(
        "SELECT count(*) FROM tableveil.release_rejections WHERE release = ?", [release.number]
    ) == len(rows)
    # Lists do without them.
    assert all(found.explanation is None for found in RELEASES.page(session.ledger, None, 5))


def test_a_time_limit_bounds_the_explanation_too(database: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableveil.pipelines.full_domain.LEAST_SECONDS_FOR_EXPLAINING", 0.0)
    monkeypatch.setattr("tableveil.pipelines.full_domain.SHARE_FOR_EXPLAINING", 0.0)
    explanation = run(database, searched(time_limit_seconds=Decimal(100))).explanation
    assert explanation is not None
    assert (explanation.complete, explanation.neighbours) == (False, ())


def wide(session: Session, columns: int, limit: Decimal | None = None) -> Policy:
    """As many columns of two values each, of which the rarer one is rare."""
    values = ", ".join(f"if(hash(i, {j}) % 9 = 0, 'B', 'A') AS q{j}" for j in range(columns))
    session.execute(f"CREATE OR REPLACE TABLE wide AS SELECT {values} FROM range(200) r(i)")
    attributes = tuple(AttributePolicy(f"q{j}", Role.QUASI_IDENTIFIER, SuppressionOnly()) for j in range(columns))
    source, search = TableReference("", "main", "wide"), SearchOptions(limit)
    return replace(POLICY, source=source, attributes=attributes, search=search, privacy_models=(KAnonymity(2),))


def test_a_search_ends_by_default_and_its_release_says_so_first(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tableveil.policy.model.DEFAULT_SECONDS", Decimal("0.05"))
    release = run(database, wide(session, 70))
    assert not release.proof.optimal
    assert release.warnings[0].startswith("The default time limit of 0.05 s ended the search at a score of ")
    assert "proven bound" in release.warnings[0]
    assert run(database, wide(session, 3, NO_LIMIT)).proof.optimal


def test_a_check_says_that_a_search_is_likely_to_reach_its_limit(database: Database, session: Session) -> None:
    def warnings(policy: Policy) -> str:
        with database.session() as own:
            return " ".join(check_rows(context(own, database), policy))

    assert warnings(wide(session, 12)) == ""
    told = warnings(wide(session, 70))
    assert told.startswith(
        "70 quasi-identifiers have 1.2e+21 transformations. The default time limit of 120 s is likely"
    )
    assert "no end" not in told
    assert "Without a time limit" in warnings(wide(session, 70, NO_LIMIT))
    assert "The time limit of 5 s" in warnings(wide(session, 70, Decimal(5)))
