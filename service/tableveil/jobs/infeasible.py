"""What a request that nothing meets is told: which model fails, and the nearest that would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tableveil.errors import Fault, InfeasibleError
from tableveil.policy import Policy, PrivacyModel
from tableveil.privacy import Conjunction
from tableveil.search import Candidate, Infeasible, Problem, Refusal
from tableveil.search.problem import may_be_kept


def nothing_valid(policy: Policy, models: Sequence[PrivacyModel], why: Infeasible) -> InfeasibleError:
    """The error for a search that found nothing; `models` are those of the problem's rules, in their order."""
    share = why.suppressed / why.records
    suppressed = f"{why.suppressed} of {why.records} records ({share:.2%}) would have to be suppressed"
    where = "at the levels that search.levels gives" if policy.search.levels else "even at the most general one"
    failing = "; ".join(_refused(policy, models[refusal.rule], refusal) for refusal in why.refusals)
    found = f"no transformation that meets them: {where} {suppressed}"
    return InfeasibleError.of(
        "INFEASIBLE",
        "privacy_models",
        f"{found} ({failing})" if failing else found,
        f"at most {why.allowed} suppressed records, as suppression_limit {policy.suppression_limit} allows",
        f"{_beyond_the_limit(why)}{_feasible(list(_hints(policy, models, why)))}",
    )


def check_limit(policy: Policy, suppressed: int, records: int, why: str) -> None:
    """Raises `InfeasibleError` if more records have to be suppressed than the policy allows, whatever is chosen."""
    allowed = policy.suppressible(records)
    if suppressed <= allowed:
        return
    # Suppressing everything releases nothing.
    hints = [f"a suppression_limit of at least {_rounded_up(suppressed, records)}"] if suppressed < records else []
    raise InfeasibleError.of(
        "INFEASIBLE",
        "suppression_limit",
        f"{suppressed} of {records} records ({suppressed / records:.2%}) that have to be suppressed: {why}",
        f"at most {allowed} suppressed records, as suppression_limit {policy.suppression_limit} allows",
        _feasible(hints),
    )


def _feasible(hints: list[str]) -> str:
    return f"Feasible would be {', or '.join(hints)}." if hints else "Nothing less of a single model would do."


def _refused(policy: Policy, model: PrivacyModel, refusal: Refusal) -> str:
    field = f"privacy_models[{policy.privacy_models.index(model)}]"
    if refusal.vetoes:
        return f"{field}, {model}, cannot hold whatever is suppressed"
    return f"{field}, {model}, refuses {refusal.records}"


def _hints(policy: Policy, models: Sequence[PrivacyModel], why: Infeasible) -> Iterator[str]:
    vetoes = any(refusal.vetoes for refusal in why.refusals)
    if why.within_limit and not vetoes:
        yield "suppressed records that are dropped"
    # Suppressing everything releases nothing.
    elif not why.within_limit and why.suppressed < why.records:
        dropping = ", with suppressed records that are dropped" if why.kept else ""
        yield f"a suppression_limit of at least {_rounded_up(why.suppressed, why.records)}{dropping}"
    # Whether what a parameter would suppress may be kept is not known.
    refusals = () if why.kept else why.refusals
    sufficient = [refusal for refusal in refusals if refusal.suffices and refusal.nearest]
    for refusal in sufficient:
        yield _named(policy, models, refusal)
    if not sufficient:
        together = [_named(policy, models, refusal) for refusal in refusals if refusal.nearest]
        if len(together) > 1:
            yield f"less of several models (by themselves the nearest are {' and '.join(together)})"
    if policy.search.levels:
        yield "other levels"
    elif why.more_general:
        yield "higher maximum levels"
    elif vetoes:
        yield "another population"


def _named(policy: Policy, models: Sequence[PrivacyModel], refusal: Refusal) -> str:
    """The parameter, and whose it is if there are several models; what the game says belongs to none of them."""
    if refusal.nearest is not None and refusal.nearest.startswith("game."):
        return refusal.nearest
    of = f" for privacy_models[{policy.privacy_models.index(models[refusal.rule])}]"
    return f"{refusal.nearest}{of if len(policy.privacy_models) > 1 else ''}"


def _beyond_the_limit(why: Infeasible) -> str:
    """What is wrong if it is not the number of suppressed records."""
    if not why.within_limit:
        return ""
    if any(refusal.vetoes for refusal in why.refusals):
        return "More suppression would not help. "
    return "The suppressed records, kept with their values, do not meet the models together. "


def _rounded_up(part: int, whole: int) -> str:
    """The least decimal of four places that is not below part / whole."""
    return f"{-(-part * 10_000 // whole) / 10_000:.4f}"


def check_values(
    policy: Policy, problem: Problem, best: Candidate, models: Sequence[PrivacyModel], judge: Conjunction
) -> None:
    """Raises `InfeasibleError` if a model refuses a class that was chosen without asking it.

    `models` are those that were not asked, `judge` has their rules in the same order.
    """
    classes = problem.counter.classes(best.transformation)
    kept = problem.privacy.releasable(classes)
    released = classes.selected(kept)
    faults = []
    for model, rule in zip(models, judge.rules, strict=True):
        refused = ~rule.releasable(released)
        if refused.any():
            nearest = rule.nearest(released, 0)
            faults.append(
                Fault(
                    f"privacy_models[{policy.privacy_models.index(model)}]",
                    f"{model} violated in {np.count_nonzero(refused)} of {len(refused)} classes, which were chosen by "
                    "quasi-identifiers only",
                    "a model that every released class meets",
                    f"Choose by all models, or relax it{f' to {nearest}' if nearest else ''}.",
                )
            )
    if problem.keeps_suppressed and not may_be_kept(judge, problem.counter, classes, kept):
        found = "KEEP, of suppressed records whose values do not meet the models together"
        expected = "suppressed records that do, because they were chosen by quasi-identifiers only"
        faults.append(Fault("suppressed_records.handling", found, expected, "Drop them, or choose by all models."))
    if faults:
        message = "what was chosen by quasi-identifiers only does not protect the sensitive values"
        raise InfeasibleError.about("VALUES_UNPROTECTED", message, faults)
