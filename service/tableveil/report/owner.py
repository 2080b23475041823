"""The owner's edition of a report: the evidence of a release in sections, for the people who decide upon it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tableveil import wording
from tableveil.report import proof, public
from tableveil.report.changes import changes
from tableveil.report.evidence import columns, guarantees, source, suppressed, utility
from tableveil.report.facts import PublicFacts
from tableveil.report.model import Blanks, Facts, Grid, Listing, Part, Points, Report, Section, Words
from tableveil.report.policy import in_words, source_text
from tableveil.report.reached import reached
from tableveil.report.threats import Situation
from tableveil.report.words import INFERENCE, LINKABILITY, NOT_STATED, SINGLING_OUT, column_of, named, stated
from tableveil.v1.classification_service_pb2 import ClassificationReport
from tableveil.v1.policy_pb2 import CHOOSE_QUASI_IDENTIFIERS_ONLY, Documentation
from tableveil.v1.release_service_pb2 import (
    RELEASE_STATE_PENDING,
    Guarantee,
    JointClasses,
    Publication,
    PublicationState,
    Release,
    Risk,
)
from tableveil.v1.utility_service_pb2 import UtilityReport

EDITION = "Owner's edition: it has the evidence, which describes the source. Do not give it to readers of the release."

Sizes = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the owner's edition tells beyond the public facts.

    `refusals` are the reasons why the release of a dry run would be refused. `measured` is False for readers who may
    not see what was measured of the release.
    """

    release: Release
    sizes_before: Sizes = ()
    measured: bool = True
    joint: JointClasses | None = None
    utility: UtilityReport | None = None
    classification: ClassificationReport | None = None
    earlier: Release | None = None
    refusals: tuple[str, ...] = ()
    is_dry_run: bool = False


def owner_report(facts: PublicFacts, evidence: Evidence, version: str) -> Report:
    """The report of a release or a dry run, made by a version of Tableveil."""
    release = evidence.release
    blindly = release.policy.search.choose == CHOOSE_QUASI_IDENTIFIERS_ONLY
    situation = Situation.of(
        facts, by_values=not blindly, repeating=_counts_people(release), achieved=release.risk_after
    )
    sections = (
        Section("purpose", "The release: for whom, and why", tuple(_purpose(facts, release.policy.documentation))),
        Section("source", "The source in figures", tuple(source(release))),
        Section("policy", "The policy in words", (Points(tuple(in_words(release.policy))),)),
        Section("columns", "Columns", tuple(columns(facts, release))),
        Section("risk", "Risk of being recognized", tuple(_risk(facts, evidence))),
        Section("models", "Privacy models", tuple(guarantees(release))),
        Section("suppression", "Suppression", (Words(_suppression(facts, release)), *suppressed(release))),
        Section("utility", "Utility", tuple(_utility(evidence))),
        Section("proof", "Proof and verification", tuple(_proof(release))),
        Section("earlier", "Difference from the earlier release", tuple(_earlier(evidence))),
        *_together(evidence),
        Section("limits", "Warnings and limits", (*_warnings(evidence), *public.limits(situation))),
        Section("decision", "Approvals and decision", tuple(_decision(release))),
        Section("reproduce", "Versions, checksum, and how to reproduce it", tuple(_reproduce(facts, evidence))),
    )
    return Report(
        title=f"Report of {facts.name}: {facts.target or 'a policy without a target'}",
        edition=EDITION,
        verdict=tuple(_verdict(facts, evidence)),
        risks=public.risks(situation, _measured(release)),
        sections=sections,
        made_by=f"Made by Tableveil {version}.",
    )


def _verdict(facts: PublicFacts, evidence: Evidence) -> Iterator[str]:
    release = evidence.release
    yield from evidence.refusals
    yield from public.verdict(
        facts,
        "A person who knows them takes one of a given person's with a chance of at most "
        f"{wording.share(release.risk_after.highest)}.",
    )
    threshold = release.policy.documentation.risk_threshold
    if threshold:
        over = release.risk_after.highest > float(Decimal(threshold))
        place = "ABOVE it" if over else "not above it"
        yield f"The policy accepts a risk of {threshold}: the highest risk is {place}."
    yield f"{public.suppression(facts)} The policy allows {_share(release.policy.suppression_limit)}."
    yield f"Loss: {wording.score(release.score)} ({release.quality_model}); {proof.verdict(release)}."
    effective = [one for one in release.guarantees if one.model.startswith("effective_k") and one.HasField("after")]
    least = min(effective, key=lambda one: one.after, default=None)
    fewest, rows = float(public.smallest(facts)), "of the rows"
    if _counts_people(release):
        fewest = next((one.after for one in release.guarantees if one.model == "k_anonymity"), fewest)
        rows = "of the people with rows"
    if least is not None and least.after < fewest:
        yield (
            f"The largest open risk: a person who knows somebody's own values can be left with {reached(least.after)} "
            f"{rows} of a class, by the column {least.column} (effective k, see Columns)."
        )
    if repeated := [one for one in release.guarantees if one.model.startswith("joint_k")]:
        unsure = [one for one in repeated if not one.HasField("after")]
        smallest = min((one.after for one in repeated if one.HasField("after")), default=fewest)
        if unsure or smallest < fewest:
            left = "as few people as nobody counted" if unsure else f"{reached(smallest)} {rows} of a joint class"
            yield f"Readers of earlier releases of the same people can be left with {left}: see Warnings and limits."
    if overruled := [one.column for one in release.policy.attributes if one.acknowledged]:
        yield f"The policy overrules the checks of {', '.join(overruled)}: see Columns."
    if release.warnings:
        number = len(release.warnings)
        yield f"{number} warning{'s' if number > 1 else ''} to read before the decision: see Warnings and limits."
    yield from wording.matches(release)
    yield public.NO_LAW


def _counts_people(release: Release) -> bool:
    """Whether people may have several records: the guarantees are of people then."""
    return any(one.model == "dominance" for one in release.guarantees)


def _share(text: str) -> str:
    return wording.share(Decimal(text or "0"))


def _measured(release: Release) -> dict[str, tuple[str, ...]]:
    """The figures of the evidence against each of the three risks."""
    effective = [
        f"Effective k of {one.column}: {reached(one.after)}."
        for one in release.guarantees
        if one.model.startswith("effective_k") and one.HasField("after")
    ]
    journalist = [
        f"Journalist, by the population: {wording.share(1 / one.after)}."
        for one in release.guarantees
        if one.model.partition(" ")[0] == "k_map" and one.after
    ]
    kinds = {model.WhichOneof("kind") for model in release.policy.privacy_models}
    protected = {column_of(model) for model in release.policy.privacy_models}
    of_values = [
        f"{one.model.replace('_', ' ')} of {one.column}: {one.parameter} = {reached(one.after)}."
        for one in release.guarantees
        if one.column and one.HasField("after") and one.model.removesuffix(" (people)") in kinds
    ]
    of_values += [
        f"Fewest different values of {one.column} in a class, which no model looks at: {reached(one.after)}."
        for one in release.guarantees
        if one.model == "distinct_l_diversity" and one.HasField("after") and one.column not in protected
    ]
    return {SINGLING_OUT: tuple(effective[:4]), LINKABILITY: tuple(journalist), INFERENCE: tuple(of_values[:6])}


def _purpose(facts: PublicFacts, documentation: Documentation) -> Iterator[Part]:
    first, purpose, legal_basis, *others = public.purpose(facts)
    yield Facts(
        (
            *(first, purpose, legal_basis),
            ("necessity", stated(documentation.necessity)),
            *others,
            ("accepted risk", documentation.risk_threshold or NOT_STATED),
            ("reason for it", stated(documentation.threshold_reason)),
            ("deliberate attack", stated(documentation.deliberate_attack)),
            ("inadvertent recognition", stated(documentation.inadvertent_recognition)),
            ("data breach", stated(documentation.data_breach)),
            ("residual risk", stated(documentation.residual_risk)),
            ("accepted by", stated(documentation.accepted_by)),
        )
    )


def _risk(facts: PublicFacts, evidence: Evidence) -> Iterator[Part]:
    before, after = evidence.release.risk_before, evidence.release.risk_after
    rows = [
        ("prosecutor: highest", wording.share(before.highest), wording.share(after.highest)),
        ("marketer: average", wording.share(before.average), wording.share(after.average)),
        ("journalist: highest", *_journalist(evidence.release)),
        ("lowest", wording.share(before.lowest), wording.share(after.lowest)),
        ("unique records", _part(before.unique_records, before), _part(after.unique_records, after)),
    ]
    later = {item.threshold: item.records for item in after.records_at_risk}
    for item in before.records_at_risk:
        name = f"records with a risk above {item.threshold}"
        rows.append((name, _part(item.records, before), _part(later.get(item.threshold, 0), after)))
    rows += _by_people(evidence.release)
    yield Grid("Risks before and after", ("adversary or measure", "before", "after"), tuple(rows), frozenset({1, 2}))
    yield Words(
        "A prosecutor knows that a person is in the source, a journalist knows the population and wants to find "
        "anybody, a marketer tries all records. Without rows of a population the journalist's risk is at most the "
        "prosecutor's. A record's risk is the largest share that one person has of its class."
    )
    if facts.sizes and evidence.sizes_before:
        yield public.distribution((("before", evidence.sizes_before), ("after", facts.sizes)))


def _by_people(release: Release) -> Iterator[tuple[str, str, str]]:
    """Where people have several records: the figure that counts people."""
    of_people = next((one for one in release.guarantees if one.model == "k_anonymity"), None)
    if of_people is None or not _counts_people(release):
        return
    before = reached(of_people.before) if of_people.HasField("before") else "not measured"
    yield (
        "fewest people of a class",
        before,
        reached(of_people.after) if of_people.HasField("after") else "not measured",
    )


def _journalist(release: Release) -> tuple[str, str]:
    for one in release.guarantees:
        if one.model.partition(" ")[0] == "k_map":
            return (
                wording.share(1 / one.before) if one.before else "not measured",
                wording.share(1 / one.after) if one.after else "not measured",
            )
    return "not measured", "not measured"


def _part(part: int, risk: Risk) -> str:
    return f"{wording.count(part)} ({wording.share(part / risk.records if risk.records else 0.0)})"


def _suppression(facts: PublicFacts, release: Release) -> str:
    return f"{public.suppression(facts)} The policy allows {_share(release.policy.suppression_limit)}."


def _utility(evidence: Evidence) -> Iterator[Part]:
    if not evidence.measured:
        yield Words("Utility and classifiers are for stewards and approvers: they show values of the source.")
        return
    if evidence.is_dry_run:
        yield Words("Nothing was released: there are no rows to measure.")
        return
    yield from utility(evidence.release, evidence.utility, evidence.classification)


def _proof(release: Release) -> Iterator[Part]:
    found = release.proof
    score = wording.score(release.score)
    rows = [("verdict", proof.verdict(release)), ("score", f"{score} ({release.quality_model})")]
    if not found.optimal and found.lower_bound:
        rows.append(
            ("bound and gap", f"{wording.score(found.lower_bound)}, {wording.score(found.gap)} below the score")
        )
    rows.append(("strategy", found.strategy))
    if found.lattice_size:
        checked, all_of_them = wording.count(found.transformations_checked), wording.large_count(found.lattice_size)
        rows.append(("checked", f"{checked} of {all_of_them} transformations; the others are excluded by bounds"))
    yield Facts(tuple(row for row in rows if row[1]))
    yield Words("Before the release was committed, code that shares nothing with the writer checked what was written:")
    yield Points(tuple(_verified(release)))


def _verified(release: Release) -> Iterator[str]:
    yield "the classes and their sizes, counted anew in the written rows"
    for model in release.policy.privacy_models:
        yield f"{named((model,))}, from its definition"
    yield "the number of rows, of released and of suppressed records, and the policy's limit"
    yield "types, labels, the table of classes, every risk, and blanks"
    if any(result.aggregation for result in release.attributes):
        yield "aggregates, computed anew from the values of the source"
    yield "that the source has the rows that were counted"


def _earlier(evidence: Evidence) -> Iterator[Part]:
    if evidence.earlier is None:
        yield Words("The ledger shows no earlier release of this name.")
    else:
        yield changes(evidence.earlier, evidence.release)
    if reason := evidence.release.policy.repeat_reason:
        yield Words(f"Reason to release these people again: {' '.join(reason.split())}")


def _together(evidence: Evidence) -> Iterator[Section]:
    """How many people earlier releases tell apart beside it: those judged together with it, or repeated by a reason."""
    release = evidence.release
    repeated = [one for one in release.guarantees if one.model.startswith("joint_k")]
    if repeated:
        rows = tuple(
            (*_joined(one), reached(one.after) if one.HasField("after") else "not defined") for one in repeated
        )
        yield Section(
            "repeated",
            "Beside earlier releases of the same people",
            (
                Words(f"A reason admits it, and protects nobody: {' '.join(release.policy.repeat_reason.split())}"),
                Grid("Smallest joint class", ("releases", "columns that join", "smallest"), rows, frozenset({2})),
                Words(
                    "A joint class has the same class in this release and in the earlier ones. By labels, its people "
                    "are counted; by columns that the releases show alike, the rows that a reader can join."
                ),
            ),
        )
    if not release.policy.release.left_behind:
        return
    found = evidence.joint
    if found is None:
        parts: tuple[Part, ...] = (
            Words(
                "The figures are not shown: there was no earlier release, its people are erased, or it is not yours."
            ),
        )
    else:
        parts = (
            Facts(
                (
                    ("releases", ", ".join(found.releases)),
                    ("people with a row in any", wording.count(found.people)),
                    ("smallest joint class", _people(found.smallest)),
                    ("people left behind", wording.count(found.left_behind)),
                    ("smallest group left behind", _people(found.smallest_left_behind)),
                )
            ),
            Grid(
                "Small groups of people with the same classes in all of these releases",
                ("people in the group", "joint classes", "groups left behind"),
                tuple(tuple(map(wording.count, (one.size, one.joint_classes, one.left_behind))) for one in found.sizes),
                frozenset({0, 1, 2}),
            ),
            Words(
                "A joint class is made of people who have a row in this release, and the same class in each. People "
                "are left behind who have a row in an earlier release only. The warnings tell how much was lost by "
                "judging the releases together."
            ),
        )
    yield Section("together", "Judged together with earlier releases", parts)


def _joined(one: Guarantee) -> tuple[str, str]:
    """The releases of a joint figure, and the columns by which their rows join."""
    return one.model.partition("(")[2].removesuffix(")").removesuffix(", joined"), one.column or "by labels"


def _people(number: int) -> str:
    return wording.count(number) if number else "none"


def _warnings(evidence: Evidence) -> Iterator[Part]:
    if evidence.release.warnings:
        yield Words("The service warns of this release:")
        yield Points(tuple(evidence.release.warnings))
    else:
        yield Words("The service has no warnings.")
    yield Words("These parts of docs/threats.md apply to it:")


def _decision(release: Release) -> Iterator[Part]:
    rows = []
    if release.decided_by:
        rows.append(("decided", f"{wording.moment(release.decision_time)} by {release.decided_by}"))
        rows.append(("note", stated(release.decision_note)))
    if release.withdraw_reason:
        rows.append(("withdrawn", f"{wording.moment(release.withdraw_time)}: {release.withdraw_reason}"))
    for one in release.publications:
        rows.append((f"published to {one.target}", f"asked by {one.requested_by}; {_standing(one)}"))
    if release.state == RELEASE_STATE_PENDING:
        yield Words("It waits for the approval of another person than the one who made it.")
    yield Facts(tuple(rows)) if rows else Words("The service knows of no decision about it.")
    yield Blanks(
        (
            "Decision of the controller",
            "Name, date, signature",
            "Advice of the data-protection officer",
            "Name, date, signature",
            "Expert's opinion (HIPAA): name and qualification",
            "Date, signature",
            "To be reviewed by",
        )
    )


def _standing(one: Publication) -> str:
    return wording.enum_word(PublicationState.Name(one.state), "PUBLICATION_STATE_")


def _reproduce(facts: PublicFacts, evidence: Evidence) -> Iterator[Part]:
    release = evidence.release
    yield Facts(tuple((part, release.versions[part]) for part in sorted(release.versions)))
    if not evidence.is_dry_run:
        yield from public.checksum(facts)
    yield Words(
        "Equal policies, versions and rows give equal releases, unless a time limit stops the search. The policy:"
    )
    yield Listing("policy.yaml", source_text(release.policy))
