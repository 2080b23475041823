"""The risks that a policy accepts, and the figures of a release above them, on which somebody must decide."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from tableveil.errors import Warned, must_decide, shortened
from tableveil.policy import DistinctLDiversity, Dominance, EntropyLDiversity, Policy, ProbabilisticLDiversity
from tableveil.privacy.guarantees import SEVERAL_RECORDS, Guarantee


def highest_accepted(stated: Decimal | None, shares: Iterable[Decimal], k: int | None) -> tuple[float, str]:
    """The highest risk that a policy accepts, and by which words of it; no words if it says nothing of it.

    A threshold that is stated counts, else the shares of its dominance, else its k.
    """
    if stated is not None:
        return float(stated), "the policy accepts"
    least = min(shares, default=None)
    if least is not None:
        return float(least), "dominance allows"
    return (1 / k, f"k = {k} allows") if k else (0.0, "")


def accepted_by(policy: Policy) -> tuple[float, str]:
    """See `highest_accepted`."""
    shares = (model.share for model in policy.privacy_models if isinstance(model, Dominance))
    return highest_accepted(policy.documentation.risk_threshold, shares, policy.k)


def is_granted(chance: float, numbers: Iterable[float]) -> bool | None:
    """Whether models that ask for so many values of a column grant this chance to tell one; None without such models.

    They bound the chance of one record. A person's records together may give a higher one.
    """
    likeliest = min((1 / number for number in numbers), default=None)
    return None if likeliest is None else chance <= likeliest


def above(policy: Policy, highest: float, reached: Iterable[Guarantee]) -> Iterator[Warned]:
    """The warnings about the highest risk, and about people with several records, where the policy accepts less.

    This alone judges it. Proposals, dry runs, accounts, reports and the guard `hold_undecided` read the warnings.
    """
    most, words = accepted_by(policy)
    if words and highest > most:
        yield must_decide(
            f"Somebody who knows a person's quasi-identifiers picks a record of that person with a chance of up to "
            f"{highest:.4g}, and {words} {most:.4g} (documentation.risk_threshold).",
            field="documentation.risk_threshold",
        )
    for one in reached:
        if one.model == SEVERAL_RECORDS and one.after is not None:
            text = (
                "A reader who knows all quasi-identifiers of a person with several records can tell a value of "
                f"{shortened(one.column)} that one of them has, with a chance of up to {one.after:.1%}: the models "
                "bound the chance of one record. A source_query with one row per person prevents it."
            )
            granted = is_granted(one.after, _numbers(policy, one.column))
            yield Warned(text, field=one.column) if granted else must_decide(text, field=one.column)


def _numbers(policy: Policy, column: str) -> Iterator[float]:
    """Each number of values that the policy asks a class to have of a column."""
    for model in policy.privacy_models:
        if isinstance(model, DistinctLDiversity | ProbabilisticLDiversity | EntropyLDiversity):
            yield from (float(model.l),) * (model.column == column)
