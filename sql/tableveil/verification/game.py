"""Checks models of the game and the publisher's payout: over the written rows, by equations of its own.

Whole numbers decide whether an attack pays; payouts are compared with a slack, because information losses are made of
logarithms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tableveil.backend import Session, WarehouseSession
from tableveil.numeric.rounding import HARDLY
from tableveil.policy import BreakEven, Game, NoAttack, Policy, Profitability, PublisherPayoutModel, Success
from tableveil.policy.game import AMOUNT_PLACES
from tableveil.verification.domains import count_losses
from tableveil.verification.text import SLACK
from tableveil.verification.written import Written

DIGITS = 10**40
"""Average probabilities are rounded down to so many digits: one that equals a threshold is not above it."""


def needs_people(policy: Policy) -> bool:
    """Whether the game is about people of a population that can be counted."""
    has_rows = policy.population is not None and policy.population.has_rows
    return has_rows and any(success is not Success.PROSECUTOR for success in _asked(policy))


def check_game(rows: WarehouseSession, policy: Policy, source_records: int, written: Written) -> list[str]:
    """The models of the game that do not hold; `judged_classes` has the classes, the suppressed records' pool as one.

    If it `needs_people`, `peopled` has the population of each. The pool is a class whose labels say nothing.
    """
    if not list(_asked(policy)):
        return []
    session, people, peopled = rows.embedded, "c.size", ""
    if needs_people(policy):
        people, peopled = "p.population", " JOIN peopled AS p USING (class)"
    levels = [f"CASE WHEN c.pool THEN {labels.top} ELSE {labels.level} END" for labels in written.labels]
    classes = f"(SELECT c.*, greatest({people}, 1) AS people FROM judged_classes AS c{peopled})"
    if _pays(policy):
        count_losses(rows, policy, written, classes, "played", levels)
    else:
        session.stage("played", f"FROM {classes}")
    problems = check_played(session, policy, source_records, written)
    session.execute("DROP TABLE temp.main.played")
    return problems


def check_played(session: Session, policy: Policy, source_records: int, written: Written) -> list[str]:
    """The models of the game that do not hold for the temporary table `played`, and whether the score is the payout's.

    A row of it is a group of records that are released alike: `size` of them; `people` of the population could be each,
    at least 1; `loss` is the information loss of each, needed for payouts only; `pool` says whether they are suppressed
    records that are released without labels, which are judged by themselves.
    """
    assert policy.game is not None, "the game is asked for, so there is one"
    problems = []
    for model in policy.privacy_models:
        match model:
            case NoAttack(success):
                refused = _attack(session, policy.game, success).pays
            case Profitability(success, break_even):
                refused = _unprofitable(policy.game, break_even, _attack(session, policy.game, success))
            case _:
                continue
        classes = session.value(f"SELECT count(*) FROM played WHERE {refused}")
        problems += [f"{classes} classes are not of {model}"] if classes else []
    if isinstance(policy.quality_model, PublisherPayoutModel) and written.score is not None:
        attack = _attack(session, policy.game, policy.quality_model.success)
        problems += _check_score(session, policy.game, attack, source_records, written.score)
    return problems


def _asked(policy: Policy) -> Iterator[Success]:
    """The success of an attack in each model and quality model of the game."""
    for model in (*policy.privacy_models, policy.quality_model):
        if isinstance(model, NoAttack | Profitability | PublisherPayoutModel):
            yield model.success


def _pays(policy: Policy) -> bool:
    """Whether the policy needs payouts: attacks alone do not depend on the loss by generalization."""
    models = (*policy.privacy_models, policy.quality_model)
    return any(isinstance(model, Profitability | PublisherPayoutModel) for model in models)


# --- attacks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Attack:
    """An attack on a record of a row of `played`, in SQL: the probability of success, and whether attacking pays."""

    probability: str
    pays: str


def _attack(session: Session, game: Game, success: Success) -> _Attack:
    """An attack pays if probability * gain > cost, strictly: with one of 75, a gain of 300 does not pay a cost of 4."""
    if success is Success.MARKETER:
        (pool, pool_pays), (others, others_pays) = (_average(session, game, pool) for pool in (True, False))
        return _Attack(
            f"CASE WHEN pool THEN {pool!r}::DOUBLE ELSE {others!r}::DOUBLE END",
            f"CASE WHEN pool THEN {pool_pays} ELSE {others_pays} END",
        )
    people = "people" if success is Success.JOURNALIST else "size"
    gain, cost = _whole(game.adversary_gain), _whole(game.adversary_cost)
    return _Attack(f"(1::DOUBLE / {people})", f"{people}::HUGEINT * {cost}::HUGEINT < {gain}::HUGEINT")


def _average(session: Session, game: Game, pool: bool) -> tuple[float, bool]:
    """The average probability over the released records, or those of the pool, and whether attacking one pays."""
    rows = session.rows("SELECT people, sum(size)::BIGINT FROM played WHERE pool = ? GROUP BY people", [pool])
    records = sum(size for _, size in rows)
    total = sum(size * DIGITS // people for people, size in rows)
    # A sum of quotients that is hardly above the threshold counts as equal to it: docs/explanations/models.md.
    least = 0 if total % DIGITS == 0 else total // HARDLY
    pays = (total - least) * _whole(game.adversary_gain) > records * DIGITS * _whole(game.adversary_cost)
    return total / (records * DIGITS) if records else 0.0, pays


def _whole(amount: Decimal) -> int:
    return int(amount.scaleb(AMOUNT_PLACES))


# --- payouts --------------------------------------------------------------------------------------------------------


def _payout(game: Game, attack: _Attack) -> str:
    """The payout of a record of a row of `played`, in SQL: benefit * (1 - loss), less the expected cost of an attack.

    Source: Wan et al. 2015, the publisher's payoff.
    """
    expected = f"CASE WHEN {attack.pays} THEN {float(game.publisher_loss)!r}::DOUBLE * {attack.probability} ELSE 0 END"
    return f"({float(game.publisher_benefit)!r}::DOUBLE * (1 - loss) - {expected})"


def _unprofitable(game: Game, break_even: BreakEven, attack: _Attack) -> str:
    """The condition for rows that pay less than allowed, or whose payout is unknown because of an unknown label.

    Breaking even differs from paying a little only where every label stands for its whole domain: there nothing is
    gained.
    """
    largest = f"({float(game.publisher_benefit)!r}::DOUBLE + {float(game.publisher_loss)!r} * {attack.probability})"
    below = f"loss IS NULL OR {_payout(game, attack)} < -{SLACK!r}::DOUBLE * {largest}"
    return below if break_even is BreakEven.KEEP else f"{below} OR loss >= 1"


def _check_score(session: Session, game: Game, attack: _Attack, source_records: int, score: float) -> list[str]:
    """The score is the part of the benefit per record that is not paid; suppressed records pay nothing."""
    paid = session.value(f"SELECT coalesce(fsum(size * {_payout(game, attack)}), 0) FROM played WHERE NOT pool")
    most = source_records * float(game.publisher_benefit)
    # The missing part consists of losses and attacks, none of which is below 0: the score shows how large these are.
    if abs(most - paid - score) <= SLACK * (most + score):
        return []
    return [f"the rows pay the publisher {paid:.10g}, not the {most - score:.10g} that the search says"]
