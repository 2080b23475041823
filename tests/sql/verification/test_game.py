"""The verification holds a release to the game: by what a direct look at the rows says of attacks and payouts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InternalError
from tableveil.policy import (
    BreakEven,
    Game,
    Inclusion,
    NoAttack,
    PrivacyModel,
    Profitability,
    PublisherPayoutModel,
    Success,
)
from tableveil.verification import verify
from tests.once import once
from tests.sql.verification.cases import Case, drop, written_case

BILLIONTH = Decimal("1e-9")
INCLUSION = Inclusion()


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@dataclass(frozen=True)
class Alike:
    """Records that are released alike: how many, how many people could be each, what generalization loses of each."""

    size: int
    people: int
    loss: Fraction
    pool: bool


def alike(case: Case) -> list[Alike]:
    """Both hierarchies have four values in two pairs: a level loses one of the four bits that the two have together."""
    lost = Fraction(sum(case.plan.transformation), 4)
    found = [Alike(size, max(people, 1), lost, False) for size, people in case.people]
    if case.pool:
        found[-1] = replace(found[-1], loss=Fraction(1), pool=True)
    return found


def probabilities(classes: list[Alike], success: Success) -> list[Fraction]:
    """The probabilities of success on a record of each; those of the pool are judged by themselves."""
    each = [Fraction(1, one.size if success is Success.PROSECUTOR else one.people) for one in classes]
    if success is not Success.MARKETER:
        return each
    averages = {}
    for pool in {one.pool for one in classes}:
        those = [(one.size, p) for one, p in zip(classes, each, strict=True) if one.pool is pool]
        averages[pool] = sum((size * p for size, p in those), Fraction(0)) / sum(size for size, _ in those)
    return [averages[one.pool] for one in classes]


def payouts(classes: list[Alike], game: Game, success: Success) -> list[Fraction]:
    benefit, loss, gain, cost = (
        Fraction(amount)
        for amount in (game.publisher_benefit, game.publisher_loss, game.adversary_gain, game.adversary_cost)
    )
    return [
        benefit * (1 - one.loss) - (loss * p if p * gain > cost else 0)
        for one, p in zip(classes, probabilities(classes, success), strict=True)
    ]


def said(session: Session, case: Case, game: Game, *models: PrivacyModel) -> str:
    """The verification's findings for the release under a policy with this game and these models."""
    try:
        policy = replace(case.policy, privacy_models=models, game=game)
        verify(session, policy, case.plan.records, case.written)
    except InternalError as error:
        return error.message
    return ""


# Suppressed records are shown, dropped, blank, and shown again, with a column at its top; most have several classes.
@pytest.fixture(params=once([101, 104, 302, 305]))
def case(session: Session, request: pytest.FixtureRequest) -> Iterator[Case]:
    found = written_case(session, request.param)
    yield found
    drop(session, found)


def just_unattacked(case: Case, success: Success) -> Game:
    """The attack that is most likely to succeed breaks even."""
    worst = max(probabilities(alike(case), success))
    return Game(Decimal(1), Decimal(1), Decimal(worst.denominator), Decimal(worst.numerator))


def just_profitable(case: Case, success: Success) -> Game:
    """All are attacked, and one more thousandth of a loss would be too much."""
    classes = alike(case)
    game = Game(Decimal(1000), Decimal(0), Decimal(10**6), Decimal(1))
    worth = zip(payouts(classes, game, success), probabilities(classes, success), strict=True)
    most = min(payout / p for payout, p in worth)
    loss = (Decimal(most.numerator) / most.denominator).quantize(BILLIONTH, ROUND_DOWN)
    return replace(game, publisher_loss=loss)


def paying(case: Case, game: Game, success: Success) -> Case:
    """The case under a policy that minimizes the unpaid benefit, which is its score."""
    classes = alike(case)
    each = zip(classes, payouts(classes, game, success), strict=True)
    paid = sum((one.size * payout for one, payout in each if not one.pool), Fraction(0))
    score = float(len(case.rows) * Fraction(game.publisher_benefit) - paid)
    policy = replace(case.policy, quality_model=PublisherPayoutModel(success))
    return replace(case, policy=policy, written=replace(case.written, score=score))


def test_what_just_holds_and_what_just_does_not(session: Session, case: Case) -> None:
    check_that_an_attack_that_breaks_even_is_none(session, case)
    check_that_no_record_may_cost_more_than_it_gains(session, case)
    check_that_what_says_nothing_breaks_even(session, case)
    check_that_the_payout_is_recomputed(session, case)


def check_that_an_attack_that_breaks_even_is_none(session: Session, case: Case) -> None:
    for success in Success:
        game = just_unattacked(case, success)
        assert said(session, case, game, NoAttack(success)) == ""
        more = replace(game, adversary_gain=game.adversary_gain + BILLIONTH)
        assert f"classes are not of {NoAttack(success)}" in said(session, case, more, NoAttack(success))


def check_that_no_record_may_cost_more_than_it_gains(session: Session, case: Case) -> None:
    for success in Success:
        model = Profitability(success)
        game = just_profitable(case, success)
        assert said(session, case, game, model) == ""
        more = replace(game, publisher_loss=game.publisher_loss + Decimal("0.001"))
        assert f"classes are not of {model}" in said(session, case, more, model)
        # Nobody attacks for a gain that is the cost, and without attacks there is nothing to lose.
        unattacked = replace(more, publisher_loss=Decimal(10**9), adversary_gain=Decimal(1))
        assert said(session, case, unattacked, model) == ""


def check_that_what_says_nothing_breaks_even(session: Session, case: Case) -> None:
    game = Game(Decimal(1), Decimal(0), Decimal(2), Decimal(1))
    assert said(session, case, game, Profitability()) == ""
    strictly = Profitability(break_even=BreakEven.SUPPRESS)
    nothing = any(one.loss == 1 for one in alike(case))
    assert (f"1 classes are not of {strictly}" in said(session, case, game, strictly)) is nothing


def check_that_the_payout_is_recomputed(session: Session, case: Case) -> None:
    game = Game(Decimal(1200), Decimal("299.5"), Decimal(300), Decimal("44.4"))
    for success in Success:
        right = paying(case, game, success)
        assert said(session, right, game, INCLUSION) == ""
        assert right.written.score is not None
        wrong = replace(right, written=replace(right.written, score=right.written.score + 0.001))
        assert "the rows pay the publisher" in said(session, wrong, game, INCLUSION)


FEWER_RECORDS = "DELETE FROM released WHERE rowid IN (SELECT min(rowid) FROM released GROUP BY a, b)"
FEWER_PEOPLE = "DELETE FROM everybody WHERE rowid % 2 = 0"


@pytest.mark.parametrize(
    ("success", "statement"),
    [(Success.PROSECUTOR, FEWER_RECORDS), (Success.JOURNALIST, FEWER_PEOPLE), (Success.MARKETER, FEWER_PEOPLE)],
)
def test_fewer_to_hide_among_are_noticed(session: Session, success: Success, statement: str) -> None:
    case = written_case(session, 104)
    try:
        attacked, profitable = just_unattacked(case, success), just_profitable(case, success)
        paid = paying(case, profitable, success)
        session.execute(statement)
        assert f"classes are not of {NoAttack(success)}" in said(session, case, attacked, NoAttack(success))
        assert f"classes are not of {Profitability(success)}" in said(session, case, profitable, Profitability(success))
        assert "the rows pay the publisher" in said(session, paid, profitable, NoAttack(success))
    finally:
        drop(session, case)


def test_a_label_of_another_level_is_noticed(session: Session) -> None:
    case = written_case(session, 101)
    try:
        game = replace(just_profitable(case, Success.PROSECUTOR), publisher_loss=Decimal(0))
        assert said(session, case, game, Profitability()) == ""
        session.execute("UPDATE released SET b = '*' WHERE NOT gone")
        assert f"classes are not of {Profitability()}" in said(session, case, game, Profitability())
    finally:
        drop(session, case)
