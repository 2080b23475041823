"""Jobs under models of the game: what they release pays what they say, and nothing pays more."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import InfeasibleError, InvalidError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.frontier import run_frontier
from tableveil.policy import (
    AttributePolicy,
    BreakEven,
    Game,
    IfExists,
    KAnonymity,
    KMap,
    LossModel,
    NoAttack,
    Policy,
    Population,
    PrivacyModel,
    Profitability,
    PublisherPayoutModel,
    Role,
    Success,
    SuppressedRecords,
    TableReference,
)
from tableveil.requests.frontier import FrontierGrid
from tableveil.state import jobs
from tableveil.state.frontiers import FRONTIERS, Frontier
from tableveil.state.jobs import JobKind
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]
Row = tuple[int, str]
Labels = tuple[str, str]

GAME = Game(Decimal(1200), Decimal("2000.5"), Decimal(2000), Decimal(400))
POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
    ),
    person_column=None,
    privacy_models=(Profitability(),),
    release=plain_target("main", "released", if_exists=IfExists.REPLACE, guards=UNGUARDED),
    suppression_limit=Decimal(1),
    quality_model=PublisherPayoutModel(),
    game=GAME,
    repeat_reason="compared",
)
EVERYBODY = Population(TableReference("", "main", "people"))
DRAW = random.Random(7)
PATIENTS: list[Row] = [(min(99, int(DRAW.expovariate(1 / 25))), DRAW.choice("fm")) for _ in range(60)]
PEOPLE: list[Row] = PATIENTS + [(DRAW.randrange(100), DRAW.choice("fm")) for _ in range(200)]


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    with shared_database.session() as session:
        for name, rows in (("patients", PATIENTS), ("people", PEOPLE)):
            session.execute(f"CREATE TABLE {name} (age INTEGER, sex VARCHAR)")
            session.execute(f"INSERT INTO {name} VALUES {', '.join(map(str, rows))}")
        session.execute("CREATE TABLE nobody AS SELECT age, sex || '!' AS sex FROM people")
    return shared_database


def labels_of(row: Row, levels: Sequence[int]) -> Labels:
    age, sex = row
    width = (1, 10, 50, 100)[levels[0]]
    low = age // width * width
    return (str(age), f"[{low}, {low + 9}]", f"[{low}, {low + 49}]", "*")[levels[0]], "*" if levels[1] else sex


def loss_of(labels: Labels) -> float:
    """log(leaves) / log(|H|), of 100 ages and two sexes."""
    age, sex = labels
    low, _, high = age.strip("[]").partition(", ")
    leaves = 100 if age == "*" else int(high) - int(low) + 1 if high else 1
    return math.log(leaves * (2 if sex == "*" else 1)) / math.log(200)


def level_of(labels: Labels) -> tuple[int, int]:
    width = {0: 0, 9: 1, 49: 2}
    low, _, high = labels[0].strip("[]").partition(", ")
    return 3 if labels[0] == "*" else width[int(high) - int(low)] if high else 0, int(labels[1] == "*")


def payouts(classes: Counter[Labels], people: list[Row] | None, success: Success, game: Game) -> dict[Labels, float]:
    """The payout of a record of each released class."""
    sizes: dict[Labels, int] = dict(classes)
    if people is not None and success is not Success.PROSECUTOR:
        sizes = {labels: sum(labels_of(row, level_of(labels)) == labels for row in people) for labels in classes}
    found = {labels: Fraction(1, size) for labels, size in sizes.items()}
    if success is Success.MARKETER:
        average = sum((n * found[labels] for labels, n in classes.items()), Fraction(0)) / classes.total()
        found = dict.fromkeys(classes, average)
    return {
        labels: float(game.publisher_benefit) * (1 - loss_of(labels))
        - (float(p * Fraction(game.publisher_loss)) if p * Fraction(game.adversary_gain) > game.adversary_cost else 0)
        for labels, p in found.items()
    }


def released(session: Session) -> Counter[Labels]:
    return Counter(
        {
            (age, sex): n
            for age, sex, n in session.rows("SELECT age::VARCHAR, sex, count(*) FROM released GROUP BY 1, 2")
        }
    )


def best_of_all(people: list[Row] | None, success: Success, game: Game) -> float:
    """The highest payout of a transformation from which what does not pay is suppressed."""
    found = []
    for levels in itertools.product(range(4), range(2)):
        classes = Counter(labels_of(row, levels) for row in PATIENTS)
        each = payouts(classes, people, success, game)
        found.append(sum(n * max(each[labels], 0.0) for labels, n in classes.items()))
    return max(found)


def asking(*models: PrivacyModel, **changes: Any) -> Policy:
    return replace(POLICY, privacy_models=models, **changes)


@pytest.mark.parametrize(
    "kind",
    once(
        [
            (Success.PROSECUTOR, None),
            (Success.JOURNALIST, EVERYBODY),
            (Success.MARKETER, EVERYBODY),
            (Success.PROSECUTOR, EVERYBODY),
            (Success.JOURNALIST, None),
            (Success.MARKETER, None),
        ]
    ),
)
def test_what_is_released_pays_and_nothing_pays_more(
    database: Database, session: Session, run: Run, kind: tuple[Success, Population | None]
) -> None:
    success, population = kind
    policy = asking(Profitability(success), quality_model=PublisherPayoutModel(success), population=population)
    release = run(database, policy)
    people = None if population is None else PEOPLE
    classes = released(session)
    each = payouts(classes, people, success, GAME)
    assert 0 < classes.total() == release.records - release.suppressed_records
    assert min(each.values()) >= -1e-9
    paid = sum(n * each[labels] for labels, n in classes.items())
    assert release.score == pytest.approx(60 * 1200 - paid, rel=1e-9)
    if success is not Success.MARKETER:
        assert paid == pytest.approx(best_of_all(people, success, GAME), rel=1e-9)
        assert release.suppressed_records < 60


def test_the_game_is_one_in_which_all_that_may_happen_does() -> None:
    """By decade, some records are attacked and do not pay, some are attacked and do, some are never attacked."""
    classes = Counter(labels_of(row, (1, 0)) for row in PATIENTS)
    each = payouts(classes, None, Success.PROSECUTOR, GAME)
    assert {(n < 5, each[labels] >= 0) for labels, n in classes.items()} == {(True, False), (True, True), (False, True)}


@pytest.mark.parametrize(
    ("success", "population", "same"),
    once(
        [
            (Success.PROSECUTOR, EVERYBODY, KAnonymity(8)),
            (Success.JOURNALIST, None, KAnonymity(8)),
            (Success.JOURNALIST, EVERYBODY, KMap(8)),
        ],
        several=True,
    ),
)
def test_no_attack_is_its_k(
    database: Database, session: Session, run: Run, success: Success, population: Population | None, same: PrivacyModel
) -> None:
    # 7.5 records are not enough, and no more than 8 are needed.
    game = replace(GAME, adversary_gain=Decimal(3000))
    changes = {"population": population, "suppression_limit": Decimal("0.3")}
    unattacked = run(database, asking(NoAttack(success), game=game, **changes))
    rows = released(session)
    by_k = run(database, asking(same, game=game, **changes))
    assert released(session) == rows
    assert (unattacked.score, unattacked.suppressed_records) == (by_k.score, by_k.suppressed_records)


def test_marketers_are_kept_off_by_the_average(database: Database, session: Session, run: Run) -> None:
    policy = asking(NoAttack(Success.MARKETER), suppression_limit=Decimal("0.1"))
    run(database, policy)
    classes = released(session)
    assert len(classes) * GAME.adversary_gain <= GAME.adversary_cost * classes.total()
    assert min(classes.values()) < 5


@pytest.mark.parametrize("break_even", once(BreakEven))
def test_what_says_nothing_breaks_even(database: Database, run: Run, break_even: BreakEven) -> None:
    top = replace(POLICY.search, levels=(("age", 3), ("sex", 1)))
    release = run(database, asking(Profitability(break_even=break_even), search=top))
    assert release.suppressed_records == (0 if break_even is BreakEven.KEEP else 60)
    assert release.score == 60 * 1200


def test_suppressed_records_that_are_kept_are_a_class_that_says_nothing(
    database: Database, session: Session, run: Run
) -> None:
    keeping = asking(Profitability(), NoAttack(), suppressed_records=SuppressedRecords.KEEP, marker_column="gone")
    release = run(database, keeping)
    assert 5 <= release.suppressed_records < 60
    assert session.value("SELECT count(*) FROM released WHERE gone") == release.suppressed_records


# --- what cannot be done --------------------------------------------------------------------------------------------


def test_nothing_that_nobody_attacks(database: Database, run: Run) -> None:
    finest = tuple(replace(attribute, maximum_level=1) for attribute in POLICY.attributes)
    policy = asking(NoAttack(), attributes=finest, suppression_limit=Decimal("0.05"))
    with pytest.raises(InfeasibleError, match=r"privacy_models\[0\]") as raised:
        run(database, policy)
    fault = next(fault for fault in raised.value.faults if fault.field == "privacy_models[0]")
    assert fault.found.startswith("no attack (prosecutor), which refuses")
    sizes = sorted(Counter(labels_of(row, (1, 1)) for row in PATIENTS).values())
    # Three records may be suppressed.
    assert sizes[:4] == [1, 1, 2, 3]
    assert "adversary_gain = 800" in fault.hint
    run(database, replace(policy, game=replace(GAME, adversary_gain=Decimal(800))))


@pytest.mark.parametrize(
    ("models", "quality"),
    [
        ((NoAttack(Success.MARKETER),), PublisherPayoutModel()),
        ((Profitability(Success.JOURNALIST),), PublisherPayoutModel()),
        ((KAnonymity(2),), PublisherPayoutModel(Success.JOURNALIST)),
    ],
)
def test_a_population_that_lacks_people_of_the_source(
    database: Database, session: Session, run: Run, models: tuple[PrivacyModel, ...], quality: PublisherPayoutModel
) -> None:
    session.execute(f"CREATE OR REPLACE TABLE others AS SELECT * FROM people WHERE (age, sex) <> {PATIENTS[0]}")
    lacking = PATIENTS.count(PATIENTS[0])
    policy = asking(*models, quality_model=quality, population=Population(TableReference("", "main", "others")))
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    (fault,) = raised.value.faults
    assert fault.field == "population.table"
    assert fault.found == f"too few people for {lacking} records, in 1 combinations of the quasi-identifiers' values"


def test_a_prosecutor_attacks_the_source_whatever_the_population_lacks(
    database: Database, session: Session, run: Run
) -> None:
    session.execute(f"CREATE OR REPLACE TABLE others AS SELECT * FROM people WHERE (age, sex) <> {PATIENTS[0]}")
    lacking = Population(TableReference("", "main", "others"))
    run(database, asking(KAnonymity(2), NoAttack(), quality_model=PublisherPayoutModel(), population=lacking))


def test_values_that_are_measured_are_attacked_but_have_no_payout(
    database: Database, session: Session, run: Run
) -> None:
    session.execute("CREATE OR REPLACE TABLE measured AS SELECT age::DECIMAL(5, 2) AS age, sex FROM patients")
    source = TableReference("", "main", "measured")
    policy = asking(NoAttack(), source=source, quality_model=LossModel())
    run(database, policy)
    assert min(released(session).values()) >= 5
    with pytest.raises(InvalidError, match=r"attributes\[0\]\.hierarchy.*measured, not counted"):
        run(database, replace(policy, privacy_models=(Profitability(),)))


# --- frontiers ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_frontier_under_models_of_the_game(database: Database, run: Run) -> None:
    models = (KAnonymity(2), Profitability(Success.JOURNALIST), NoAttack(Success.MARKETER))
    policy = asking(*models, quality_model=PublisherPayoutModel(Success.JOURNALIST), population=EVERYBODY)
    grid = FrontierGrid((2, 6), (Decimal("0.25"), Decimal(1)))
    found = frontier_of(database, policy, grid)
    for point in found.points:
        alone = replace(policy, privacy_models=(KAnonymity(point.k), *models[1:]))
        release = run(database, replace(alone, suppression_limit=point.suppression_limit))
        assert point.optimal
        assert point.found is not None
        assert (point.found.score, point.found.suppressed_records) == (release.score, release.suppressed_records)
    with pytest.raises(InvalidError, match=r"population\.table"):
        frontier_of(database, replace(policy, population=Population(TableReference("", "main", "nobody"))), grid)


def frontier_of(database: Database, policy: Policy, grid: FrontierGrid) -> Frontier:
    with database.session() as session:
        session.control = Control()
        number = jobs.next_number(session.ledger)
        request = jobs.Request(number, "", "{}", "", policy.source, "", "", jobs.now(), JobKind.FRONTIER)
        jobs.insert_request(session.ledger, request)
        found = FRONTIERS.find(session.ledger, run_frontier(context(session, number=number), policy, grid))
    assert found is not None
    return found
