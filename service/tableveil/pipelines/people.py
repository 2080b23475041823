"""Risks and warnings for the owner where people have several records in a release."""

from collections.abc import Iterator
from fractions import Fraction

from tableveil.classes import EquivalenceClasses
from tableveil.errors import Warned, must_decide, note, sole
from tableveil.policy import DistinctLDiversity, Dominance, Policy, ProbabilisticLDiversity, SensitiveModel
from tableveil.privacy import Facts, with_pool
from tableveil.privacy.people import achieved_risk
from tableveil.privacy.repeating import repeating
from tableveil.risk import ProsecutorRisk


def people_risks(
    policy: Policy,
    facts: Facts,
    before: EquivalenceClasses | None,
    released: EquivalenceClasses,
    pool: EquivalenceClasses | None = None,
    *,
    joint: bool = False,
) -> tuple[ProsecutorRisk | None, ProsecutorRisk | None]:
    """The risks of the source's and of the shown records; None where sizes of classes are all that is known.

    The released classes may be `joint` ones. Suppressed records that are shown are the class `pool`: who knows that no
    class has a person's labels looks for the person there.
    """
    thresholds = policy.risk_thresholds
    shown = released if pool is None else with_pool(released, pool)
    if facts.people is None:
        return None, None if pool is None else achieved_risk(shown, facts, thresholds)
    return (
        achieved_risk(before, facts, thresholds) if before is not None else None,
        achieved_risk(shown, facts, thresholds, joint=joint),
    )


def people_warnings(
    policy: Policy, facts: Facts, released: EquivalenceClasses, pool: EquivalenceClasses | None = None
) -> Iterator[Warned]:
    """Warnings about the released classes and the pool; none if all records are other people."""
    if facts.people is None or not len(released.counts):
        return
    position, people = facts.people
    asked = Fraction(1, policy.k or 2)
    shown = released if pool is None else with_pool(released, pool)
    repeated, lost = (repeating(classes, position, people, asked) for classes in (shown, released))
    bounded = min((Fraction(m.share) for m in policy.privacy_models if isinstance(m, Dominance)), default=Fraction(1))
    if bounded > asked and repeated.above:
        yield must_decide(
            f"One person has {repeated.largest_share:.1%} of the records of a class, and {_people(repeated.above)} "
            f"more than 1/{asked.denominator} of one: a row there is theirs with that chance. Add to privacy_models: "
            f"dominance: {{share: {10**6 // asked.denominator / 10**6:g}}}.",
            repeated.above,
            policy.person_column or "",
        )
    yield note(
        f"Class sizes and risks in the public tables count the {shown.counts.sum():,} records, since rows do not say "
        "whose they are: the people in classes and their shares are among the guarantees.",
        int(shown.counts.sum()),
    )
    if lost.lost_all or lost.lost_some:
        parts = [f"all records of {lost.lost_all:,}"] * (lost.lost_all > 0)
        parts += [f"some records of {lost.lost_some:,}"] * (lost.lost_some > 0)
        yield note(
            f"Suppression takes {', and '.join(parts)} of {_people(lost.people)}.", lost.lost_all + lost.lost_some
        )
    of_records = {
        f"privacy_models[{i}]": str(model)
        for i, model in enumerate(policy.privacy_models)
        if isinstance(model, SensitiveModel) and not isinstance(model, DistinctLDiversity | ProbabilisticLDiversity)
    }
    if of_records:
        yield Warned(
            f"These models hold of records, not of people: {', '.join(of_records.values())}. Ask for "
            "distinct_l_diversity or probabilistic_l_diversity as well: they count people.",
            field=sole(of_records),
        )


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"
