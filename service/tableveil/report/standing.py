"""How a release stands against each of the three risks of Opinion 05/2014 (WP216), with the number."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from tableveil import wording
from tableveil.errors import listed
from tableveil.privacy.accepted import highest_accepted, is_granted
from tableveil.privacy.guarantees import SEVERAL_RECORDS
from tableveil.report.model import Grid
from tableveil.report.reached import reached
from tableveil.report.threats import Situation
from tableveil.report.words import INFERENCE, LINKABILITY, SINGLING_OUT, column_of, named
from tableveil.v1.faults_pb2 import WARNING_RANK_SHOULD_BE_LOOKED_AT
from tableveil.v1.release_service_pb2 import Exposure, Guarantee, JointClasses, Release
from tableveil.wording.exposures import counted, following, unit

WITHIN, ABOVE, UNMEASURED = "within the policy's threshold", "ABOVE the policy's threshold", "not measured"

_OF_NUMBERS = frozenset({"distinct_l_diversity", "probabilistic_l_diversity", "entropy_l_diversity"})
"""Models that ask for a number of values."""

KNOWN_EVENTS, REMOVED_EVENTS = "To somebody who knows ", " rows of events are not released"
"""The words of the warnings on related tables."""

Standing = tuple[str, str, str]
"""A risk, how the release stands, and the number with its threshold."""


def standings(situation: Situation, release: Release, joint: JointClasses | None, maker: str) -> Grid:
    """A row for each of the three risks."""
    rows = (_singling_out(situation, release, maker), _linkability(release, joint), _inference(situation, release))
    return Grid("The three risks of Opinion 05/2014 (WP216)", ("risk", "stands", "number"), rows)


def accepted(release: Release, maker: str) -> tuple[float, str]:
    """The highest risk that the policy accepts, by its statement or else by its models, and whose words that is.

    The statement is the maker's, who submitted the policy: no law or standard set it.
    """
    policy = release.policy
    stated = policy.documentation.risk_threshold
    shares = [Decimal(model.dominance.share) for model in policy.privacy_models if model.HasField("dominance")]
    most, words = highest_accepted(Decimal(stated) if stated else None, shares, _k(release))
    return most, f"the policy of {wording.short(maker)} accepts" if stated and maker else words


def _k(release: Release) -> int:
    models = release.policy.privacy_models
    return max((model.k_anonymity.k for model in models if model.HasField("k_anonymity")), default=0)


def _singling_out(situation: Situation, release: Release, maker: str) -> Standing:
    after, before = release.risk_after, release.risk_before
    most, words = accepted(release, maker)
    number = (
        f"Somebody who knows a person's quasi-identifiers picks a record of that person with a chance of at most "
        f"{wording.share(after.highest)} (before: {wording.share(before.highest)}), on average "
        f"{wording.share(after.average)} (before: {wording.share(before.average)})."
    )
    follows = following(counted(release.exposures))
    if follows:
        number = f"{number} {_told(follows[0])}"
    nearly = [one for one in counted(release.exposures) if len(one.columns) == 1 and 2 * one.found >= one.total]
    if nearly:
        one = max(nearly, key=lambda each: each.found)
        number = (
            f"{number} Somebody who knows a person's {listed(one.columns)} finds {wording.count(one.found)} "
            f"{unit(one)} by the labels."
        )
    known, alone = _known_events(release)
    number = " ".join([number, *known])
    if not words:
        return SINGLING_OUT, UNMEASURED, f"{number} The policy states no threshold."
    standing = ABOVE if after.highest > most else WITHIN
    if standing == WITHIN and follows:
        standing = f"{WITHIN} by quasi-identifiers; ABOVE it with {listed(follows[0].columns)}"
    elif standing == WITHIN and alone:
        standing = f"{WITHIN} by the people's quasi-identifiers; ABOVE it with more known events"
    return SINGLING_OUT, standing, f"{number} {words[0].upper()}{words[1:]} {wording.share(most)}."


def _known_events(release: Release) -> tuple[list[str], bool]:
    """The sentences on events that somebody knows or that are not released, and whether one key alone may be left."""
    ranks = dict(zip(release.warnings, release.warning_ranks, strict=False))
    known = [text for text in ranks if text.startswith(KNOWN_EVENTS)]
    removed = [f"{text.partition(' Rows are missing')[0]}" for text in ranks if REMOVED_EVENTS in text]
    return [*known, *removed], any(ranks[text] == WARNING_RANK_SHOULD_BE_LOOKED_AT for text in known)


def _told(one: Exposure) -> str:
    """The people who are among few by what follows of a column."""
    rule = "rules" if len(one.knows) == 1 else "rule"
    return (
        f"Exact {listed(one.knows)} {rule} out values of {listed(one.columns)}: {wording.count(one.few)} "
        f"of {wording.count(one.total)} {unit(one)} are then among fewer than {wording.count(one.least)}."
    )


def counts_people(release: Release) -> bool:
    """Whether people may have several records: the guarantees are of people then."""
    return any(one.model == "dominance" for one in release.guarantees)


def _linkability(release: Release, joint: JointClasses | None) -> Standing:
    repeated = [one for one in release.guarantees if one.model.startswith("joint_k")]
    if any(not one.HasField("after") for one in repeated):
        told = "These people were released before. Nobody could count whom readers of both releases tell apart."
        return LINKABILITY, UNMEASURED, told
    k = max(
        (model.k_anonymity.k for model in release.policy.privacy_models if model.HasField("k_anonymity")), default=2
    )
    fewest = min((one.after for one in repeated), default=joint.smallest if joint is not None else 0)
    if fewest:
        told = f"Readers of the earlier releases of these people, too, are left with {reached(fewest)} or more of them."
        return LINKABILITY, ABOVE if fewest < k else WITHIN, f"{told} The policy asks for {k}."
    for one in release.guarantees:
        if one.model.partition(" ")[0] == "k_map" and one.after:
            told = f"Every class has at least {reached(one.after)} people of the population that the policy names."
            return LINKABILITY, WITHIN, told
    return LINKABILITY, UNMEASURED, "Tables that others hold of these people were not compared with this release."


def _inference(situation: Situation, release: Release) -> Standing:
    if not situation.sensitive:
        return INFERENCE, UNMEASURED, "The policy names no sensitive column."
    kinds = {model.WhichOneof("kind"): model for model in release.policy.privacy_models if column_of(model)}
    figures = [
        f"{one.parameter} = {reached(one.after)} for {one.column}"
        for one in release.guarantees
        if one.column in situation.protected and one.HasField("after") and one.model in kinds
    ]
    sentences = [f"{named(kinds.values())}: reached {', '.join(figures)}."] if figures else []
    standing, told = _told_by_several(release) or (WITHIN, "")
    sentences += [told] * bool(told)
    if not situation.unprotected:
        return INFERENCE, standing, " ".join(sentences)
    left = ", ".join(situation.unprotected)
    sentences.append(f"No model looks at {left}.")
    if alike := _valued_alike(situation, release):
        sentences.append(f"Everybody in some class has one value of {', '.join(alike)}.")
        return INFERENCE, ABOVE, " ".join(sentences)
    if standing == ABOVE:
        return INFERENCE, ABOVE, " ".join(sentences)
    first = f"{standing} for {', '.join(situation.protected)}; " if situation.protected else ""
    return INFERENCE, f"{first}{UNMEASURED} for {left}", " ".join(sentences)


def _valued_alike(situation: Situation, release: Release) -> list[str]:
    """The sensitive columns without a model of which everybody in some class has one value."""
    lists = situation.facts.lists
    return [
        one.column
        for one in release.guarantees
        if one.model == ("probabilistic_l_diversity" if one.column in lists else "distinct_l_diversity")
        and one.column in situation.unprotected
        and one.after == 1
    ]


def _told_by_several(release: Release) -> tuple[str, str] | None:
    """How the worst that all records of a person tell stands, and a sentence; None if they tell no more than one does.

    Models bound the chance of one record. It is above their threshold if they would not grant it one record; a model
    without a bound of a chance has none for several.
    """
    figures = [one for one in release.guarantees if one.model == SEVERAL_RECORDS and one.HasField("after")]
    order = [*_OF_SEVERAL]
    worst = max(figures, key=lambda one: (order.index(_granted(release, one)), one.after), default=None)
    if worst is None:
        return None
    text = (
        f"Somebody who knows all quasi-identifiers of a person with several records can tell a value of {worst.column} "
        f"with a chance of up to {wording.share(worst.after)}: the models bound that of one record."
    )
    return _OF_SEVERAL[_granted(release, worst)], text


_OF_SEVERAL: dict[bool | None, str] = {
    True: WITHIN,
    None: f"{WITHIN} for one record, and {UNMEASURED} against one for several",
    False: ABOVE,
}
"""How what several records tell may stand, by whether models grant it; the worst last."""


def _granted(release: Release, chance: Guarantee) -> bool | None:
    return is_granted(chance.after, _values_asked(release, chance.column))


def _values_asked(release: Release, column: str) -> Iterator[float]:
    """Each number of values that the policy asks a class to have of a column."""
    for model in release.policy.privacy_models:
        kind = model.WhichOneof("kind") or ""
        if kind in _OF_NUMBERS and column_of(model) == column:
            yield float(getattr(model, kind).l)


def undecided(release: Release, refusals: Sequence[str]) -> Iterator[str]:
    """Everything that is open about a release; what stands above a threshold is among its warnings."""
    yield from refusals
    yield from wording.undecided(release.policy, release.warnings, release.warning_ranks)
    yield from wording.matches(release)


def others_stated(release: Release, maker: str) -> Iterator[str]:
    """The statements that releases are of other people, each with the one who made it."""
    stated = [(maker, "", release.policy.other_people)]
    stated += [(one.requested_by, f" for {one.target}", one.other_people) for one in release.publications]
    for who, where, others in stated:
        if others:
            by = f" by {wording.short(who)}" if who else ""
            yield f"Stated{by}{where}, and not counted: {', '.join(others)} are of other people."
