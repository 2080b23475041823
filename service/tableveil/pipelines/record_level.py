"""Record-level generalization: every combination of values has the transformation that pays most for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from tableveil import game
from tableveil.control import Control, Progress
from tableveil.counting import read_combinations
from tableveil.errors import InfeasibleError, InvalidError, Warned, by_rank
from tableveil.game.record_level import best_transformations, solve_against_inversion
from tableveil.hierarchy import UncountableError
from tableveil.lattice import Lattice
from tableveil.lifecycle import Solution
from tableveil.pipelines.advice import is_empty, says_nothing
from tableveil.pipelines.infeasible import too_few_released
from tableveil.pipelines.lattice import check_enumerable, lattice_of
from tableveil.pipelines.own_levels import erased_columns, own_losses, plan_of
from tableveil.pipelines.quality import uncountable
from tableveil.pipelines.read import Counted, Dictionaries, count_classes
from tableveil.pipelines.relaxing import seconds_for
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import JobContext
from tableveil.policy import NoAttack, Policy, Profitability, described
from tableveil.policy.methods.record_level import RECORD_LEVEL
from tableveil.policy.methods.record_level import RecordLevel as RecordLevelOptions
from tableveil.privacy.guarantees import Guarantee
from tableveil.release import ReleasePlan, check_one_meaning, mixed_levels
from tableveil.release.by_combination import ByCombination
from tableveil.search.relaxing import Relaxed, UnmetPolicy, relax_judged
from tableveil.state.releases import Proof, Searched

STRATEGY = "every transformation was tried for each combination of values, because of record_level"

AGAINST_INVERSION = (
    f"{STRATEGY}; the best of several assignments that allow for an adversary who knows the method, not proven optimal"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """The choice, including people who are not in the source.

    Success has the probability 1 / `people` for the published adversary, and 1 / `pre_images` for the one who `knows`
    the method, whichever of them the choice is for. `optimum` is the payout of the best choice against the first.
    """

    own: ByCombination
    assignment: game.Assignment
    stakes: game.Stakes
    knows: bool
    people: NDArray[np.int64]
    pre_images: NDArray[np.int64]
    optimum: float
    seconds: float


class RecordLevelMethod(Method[Counted]):
    """See `Method`."""

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> Counted:
        """The combinations of values."""
        return count_classes(job.rows, policy, read)

    def solve(self, job: JobContext, counts: Counted) -> Solution:
        """The transformation that pays most for every combination of values."""
        policy = counts.policy
        check_one_meaning(job.session, policy, counts.dictionaries, counts.lattice)
        options = RECORD_LEVEL.options(policy)
        solved = _solve(job, counts, options)
        plan = plan_of(counts, solved.own)
        if plan.suppressed_records > policy.suppressible(plan.records):
            raise _too_many_suppressed(job, counts, options, solved.own.combinations, plan)
        # The score is the part of the benefit per record that is not paid.
        most = plan.records * solved.stakes.benefit
        score = most - float(solved.own.combinations.records @ solved.assignment.payouts)
        return Solution(
            plan=plan,
            score=score,
            parts=(),
            proof=_proof(counts, solved, lower_bound=min(score, most - solved.optimum)),
            losses=own_losses(solved.own, plan.records),
            quality_model=described(policy.quality_model),
            chosen_by=policy.privacy_models,
            explanation=None,
            sizes_before=counts.sizes_before,
            guarantees=tuple(_guarantees(solved)),
            warnings=by_rank(_warnings(plan, solved.own)),
        )


def _solve(job: JobContext, counted: Counted, options: RecordLevelOptions) -> _Solved:
    policy, lattice = counted.policy, counted.lattice
    started = job.control.now()
    check_enumerable(counted.base, lattice)
    combinations = read_combinations(job.session, counted.base)

    def progress(done: int, transformations: int) -> None:
        job.report.on_progress(Progress(done, transformations, None, None, None))

    try:
        published, chosen = _assigned(combinations, lattice, policy, options, job.control, progress)
    except UncountableError as error:
        raise uncountable(policy, error, described(policy.quality_model)) from None
    knows = options.adversary_knows_method
    return _Solved(
        own=ByCombination(combinations, chosen.transformations, chosen.chosen, partition=False),
        assignment=chosen,
        stakes=game.Stakes.of(policy.stakes),
        knows=knows,
        people=game.people_of_labels(combinations, chosen) if knows else chosen.sizes,
        pre_images=chosen.sizes if knows else game.pre_image_sizes(combinations, chosen),
        optimum=float(combinations.records @ published.payouts),
        seconds=job.control.now() - started,
    )


def _assigned(
    combinations: game.Combinations,
    lattice: Lattice,
    policy: Policy,
    options: RecordLevelOptions,
    control: Control,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[game.Assignment, game.Assignment]:
    """The assignment that pays most if the adversary does not know the method, and the chosen one; often equal."""
    stakes, choice = game.Stakes.of(policy.stakes), choice_of(policy)
    # An adversary who knows the method also knows its choices for people who are not in the source.
    [published] = best_transformations(
        combinations, lattice, [stakes], choice, control, everyone=True, on_progress=on_progress
    )
    if not options.adversary_knows_method:
        return published, published
    return published, solve_against_inversion(combinations, lattice, stakes, choice, control)


def _too_many_suppressed(
    job: JobContext, counted: Counted, options: RecordLevelOptions, combinations: game.Combinations, plan: ReleasePlan
) -> InfeasibleError:
    """The error for more suppressed records than the policy allows, with relaxations."""

    def suppressed_by(policy: Policy, lattice: Lattice) -> int:
        _, chosen = _assigned(combinations, lattice, policy, options, job.control)
        return plan.records - int(combinations.records[chosen.chosen != game.SUPPRESSED].sum())

    relaxed = _relaxed(job, counted, suppressed_by)
    withheld = plan.records - int(combinations.records.sum())
    return too_few_released(counted.policy, plan.suppressed_records, plan.records, withheld, relaxed)


def _relaxed(job: JobContext, counted: Counted, suppressed_by: Callable[[Policy, Lattice], int]) -> Relaxed:
    """The relaxations of the policy; `suppressed_by` gives the number of records that another one suppresses.

    Raises:
        CancelledError: `control` was cancelled.
    """
    tops = [dictionary.levels.top for dictionary in counted.dictionaries]
    # The suppressed records do not depend on the limit.
    suppressed = lru_cache(maxsize=None)(suppressed_by)

    @cache
    def possible(lattice: Lattice) -> bool:
        try:
            check_enumerable(counted.base, lattice)
            check_one_meaning(job.session, counted.policy, counted.dictionaries, lattice)
        except InvalidError:
            return False
        return True

    def feasible(policy: Policy) -> bool | None:
        lattice, faults = lattice_of(policy, tops)
        if lattice is None or faults:
            return False
        if not possible(lattice):
            return None
        lost = suppressed(replace(policy, suppression_limit=Decimal(0)), lattice)
        return lost <= policy.suppressible(counted.base.records)

    policy = counted.policy
    return relax_judged(UnmetPolicy(policy, tops, counted.base.records), feasible, job.control, seconds_for(policy))


def choice_of(policy: Policy) -> game.Choice:
    """The transformations that the policy's privacy models allow; Safe Harbor's part is in the lattice."""
    profitable = any(isinstance(model, Profitability) for model in policy.privacy_models)
    return game.Choice(
        policy.break_even if profitable else None, any(isinstance(model, NoAttack) for model in policy.privacy_models)
    )


# --- the evidence ---------------------------------------------------------------------------------------------------


def _proof(counted: Counted, solved: _Solved, lower_bound: float) -> Proof:
    size = counted.lattice.size
    return Proof(
        optimal=not solved.knows,
        lower_bound=lower_bound,
        strategy=AGAINST_INVERSION if solved.knows else STRATEGY,
        seconds=solved.seconds,
        counter="numpy",
        counting=f"every transformation from the next finer one, {len(solved.own.kept)} combinations in all",
        searched=Searched(str(size), checked=size, counted=size),
    )


def _guarantees(solved: _Solved) -> Iterator[Guarantee]:
    """The payouts of the source at level 0 and of the release, and the attacked records, by each journalist."""
    combinations, assignment = solved.own.combinations, solved.assignment
    # At level 0 all people who share the labels would get them, and nothing is lost.
    nothing_lost = np.zeros(len(combinations.people))
    before = float(combinations.records @ solved.stakes.payouts(nothing_lost, combinations.people))
    exposed = _attacked(combinations, solved.stakes, combinations.people, np.ones_like(solved.own.kept))
    adversaries = (("journalist", solved.people), ("journalist who knows the method", solved.pre_images))
    for adversary, sizes in adversaries:
        paid = float(combinations.records @ game.payouts_against(combinations, assignment, solved.stakes, sizes))
        yield Guarantee(f"publisher_payout ({adversary})", "", "payout", before, paid)
        attacked = _attacked(combinations, solved.stakes, sizes, solved.own.kept)
        yield Guarantee(f"no_attack ({adversary})", "", "attacked_records", exposed, attacked)


def _attacked(
    combinations: game.Combinations, stakes: game.Stakes, sizes: NDArray[np.int64], released: NDArray[np.bool_]
) -> float:
    return float(combinations.records[stakes.attacked(sizes) & released].sum())


def _warnings(plan: ReleasePlan, own: ByCombination) -> Iterator[Warned]:
    yield from mixed_levels(plan)
    if plan.kept_records == 0:
        yield is_empty(plan.records)
    else:
        yield from map(says_nothing, erased_columns(plan, own))
