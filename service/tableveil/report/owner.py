"""The owner's edition of a report: the evidence of a release in sections, for the people who decide upon it."""

from collections.abc import Iterator

from tableveil import wording
from tableveil.report import proof, public
from tableveil.report.comparison import changes
from tableveil.report.evidence import columns, guarantees, suppressed, utility
from tableveil.report.facts import PublicFacts
from tableveil.report.first_page import first_page
from tableveil.report.model import Grid, Part, Report, Section, Sentences, Terms, Words
from tableveil.report.owner_evidence import OwnerEvidence
from tableveil.report.policy import in_words, source_text
from tableveil.report.reached import reached
from tableveil.report.standing import counts_people, others_stated
from tableveil.report.threats import Situation
from tableveil.report.words import stated
from tableveil.v1.policy_pb2 import CHOOSE_QUASI_IDENTIFIERS_ONLY
from tableveil.v1.release_service_pb2 import Guarantee, Publication, PublicationState, Release, Risk

EDITION = "Owner's edition: it has the evidence, which describes the source. Do not give it to readers of the release."


def owner_report(facts: PublicFacts, evidence: OwnerEvidence, version: str) -> Report:
    """The report of a release or a dry run, made by a version of Tableveil."""
    release = evidence.release
    blindly = release.policy.search.choose == CHOOSE_QUASI_IDENTIFIERS_ONLY
    situation = Situation.of(
        facts, by_values=not blindly, repeating=counts_people(release), achieved=release.risk_after
    )
    first = first_page(facts, evidence, situation)
    sections = (
        Section("limits", "Warnings and limits", (*_warnings(evidence), *public.limits(situation))),
        Section("columns", "Columns", tuple(columns(facts, release))),
        Section("risk", "Risk of being recognized", tuple(_risk(facts, evidence))),
        Section("models", "Privacy models", tuple(guarantees(release))),
        *_suppression(release),
        *_utility(evidence),
        *_earlier(evidence),
        *_together(evidence),
        Section("policy", "The policy", tuple(_policy(facts, release))),
        Section("proof", "Proof and verification", tuple(_proof(release))),
        *_decision(release),
        Section("reproduce", "Versions and checksum", tuple(_reproduce(facts, evidence))),
    )
    return Report(
        title=f"Report of {facts.name}: {facts.target or 'a policy without a target'}",
        edition=EDITION,
        verdict=(f"{facts.state} {public.NO_LAW}",),
        first=first,
        sections=sections,
        made_by=f"Made by Tableveil {version}.",
        attachment=("policy.yaml", source_text(release.policy)),
    )


def _risk(facts: PublicFacts, evidence: OwnerEvidence) -> Iterator[Part]:
    before, after = evidence.release.risk_before, evidence.release.risk_after
    rows = [
        ("lowest risk of a record", wording.share(before.lowest), wording.share(after.lowest)),
        ("records alone by their labels", _part(before.unique_records, before), _part(after.unique_records, after)),
    ]
    later = {item.threshold: item.records for item in after.records_at_risk}
    for item in before.records_at_risk:
        name = f"records with a risk above {item.threshold}"
        rows.append((name, _part(item.records, before), _part(later.get(item.threshold, 0), after)))
    rows += _by_people(evidence.release)
    yield Grid("Risks before and after", ("measure", "before", "after"), tuple(rows), frozenset({1, 2}))
    yield Words(
        "A record's risk is the largest share that one person has of its class: it is for an adversary who knows that "
        "the person is in the source. The first page has the highest and the average risk."
    )
    if facts.sizes and evidence.sizes_before:
        yield public.distribution((("before", evidence.sizes_before), ("after", facts.sizes)))


def _by_people(release: Release) -> Iterator[tuple[str, str, str]]:
    """Where people have several records: the figure that counts people."""
    of_people = next((one for one in release.guarantees if one.model == "k_anonymity"), None)
    if of_people is None or not counts_people(release):
        return
    before = reached(of_people.before) if of_people.HasField("before") else "not measured"
    yield (
        "fewest people of a class",
        before,
        reached(of_people.after) if of_people.HasField("after") else "not measured",
    )


def _part(part: int, risk: Risk) -> str:
    return f"{wording.count(part)} ({wording.share(part / risk.records if risk.records else 0.0)})"


def _suppression(release: Release) -> Iterator[Section]:
    if release.suppressed_records:
        yield Section("suppression", "Suppression", tuple(suppressed(release)))


def _utility(evidence: OwnerEvidence) -> Iterator[Section]:
    if not evidence.measured:
        told = "Utility and classifiers are for stewards and approvers: they show values of the source."
        yield Section("utility", "Utility", (Words(told),))
    elif evidence.utility is not None or evidence.classification is not None:
        yield Section("utility", "Utility", tuple(utility(evidence.utility, evidence.classification)))


def _policy(facts: PublicFacts, release: Release) -> Iterator[Part]:
    yield Sentences(tuple(in_words(release.policy)))
    found = release.policy.documentation
    statements = (
        ("necessity", found.necessity),
        ("contact", found.contact),
        ("reason for the accepted risk", found.threshold_reason),
        ("deliberate attack", found.deliberate_attack),
        ("inadvertent recognition", found.inadvertent_recognition),
        ("data breach", found.data_breach),
        ("residual risk", found.residual_risk),
        ("accepted by", found.accepted_by),
    )
    yield Terms(tuple((name, stated(text)) for name, text in statements if text))
    if missing := [name for name, text in statements if not text]:
        yield Words(f"The policy does not state: {', '.join(missing)}.")


def _proof(release: Release) -> Iterator[Part]:
    read_proof = release.proof
    rows = [
        ("score", f"{wording.score(release.score)} ({release.quality_model}); less is better"),
        ("verdict", proof.verdict(release)),
        ("strategy", read_proof.strategy),
    ]
    yield Terms(tuple(row for row in rows if row[1]))
    yield Words(
        "Before the release was committed, code that shares nothing with the writer counted the classes of the written "
        "rows anew. From this it checked every privacy model by its definition, the numbers of rows and suppressed "
        "records, labels, types and risks, and that the source still has the rows that were counted."
    )


def _earlier(evidence: OwnerEvidence) -> Iterator[Section]:
    parts: list[Part] = [] if evidence.earlier is None else [changes(evidence.earlier, evidence.release)]
    if reason := evidence.release.policy.repeat_reason:
        parts.append(Words(f"Reason to release these people again: {' '.join(reason.split())}"))
    parts += map(Words, others_stated(evidence.release, evidence.maker))
    if parts:
        yield Section("earlier", "Difference from the earlier release", tuple(parts))


def _together(evidence: OwnerEvidence) -> Iterator[Section]:
    """How many people earlier releases tell apart beside it: those judged together with it, or repeated by a reason."""
    release = evidence.release
    repeated = [one for one in release.guarantees if one.model.startswith("joint_k")]
    if repeated:
        rows = tuple(
            (*_joined(one), reached(one.after) if one.HasField("after") else "not defined") for one in repeated
        )
        reason = " ".join(release.policy.repeat_reason.split())
        yield Section(
            "repeated",
            "Beside earlier releases of the same people",
            (
                *([Words(f"A reason admits it, and protects nobody: {reason}")] if reason else []),
                Grid("Smallest joint class", ("releases", "columns that join", "smallest"), rows, frozenset({2})),
                Words(
                    "A joint class has the same class in this release and in the earlier ones. By labels, its people "
                    "are counted; by columns that the releases show alike, the rows that a reader can join."
                ),
            ),
        )
    if not release.policy.release.left_behind:
        return
    joint = evidence.joint
    if joint is None:
        parts: tuple[Part, ...] = (
            Words(
                "The figures are not shown: there was no earlier release, its people are erased, or it is not yours."
            ),
        )
    else:
        parts = (
            Terms(
                (
                    ("releases", ", ".join(joint.releases)),
                    ("people with a row in any", wording.count(joint.people)),
                    ("smallest joint class", _people(joint.smallest)),
                    ("people left behind", wording.count(joint.left_behind)),
                    ("smallest group left behind", _people(joint.smallest_left_behind)),
                )
            ),
            Grid(
                "Small groups of people with the same classes in all of these releases",
                ("people in the group", "joint classes", "groups left behind"),
                tuple(tuple(map(wording.count, (one.size, one.joint_classes, one.left_behind))) for one in joint.sizes),
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


def _warnings(evidence: OwnerEvidence) -> Iterator[Part]:
    release = evidence.release
    rows = tuple((word, text) for _, word, text in wording.ranked(release.warnings, release.warning_ranks))
    if rows:
        yield Grid("Warnings", ("rank", "warning"), rows)
    else:
        yield Words("The service has no warnings.")
    yield Words("These limits apply to it:")


def _decision(release: Release) -> Iterator[Section]:
    rows = []
    if release.decided_by:
        rows.append(("decided", f"{wording.moment(release.decision_time)} by {release.decided_by}"))
        rows.append(("note", stated(release.decision_note)))
    if release.withdraw_reason:
        rows.append(("withdrawn", f"{wording.moment(release.withdraw_time)}: {release.withdraw_reason}"))
    for one in release.publications:
        rows.append((f"published to {one.target}", f"asked by {one.requested_by}; {_standing(one)}"))
    if rows:
        yield Section("decision", "Decisions so far", (Terms(tuple(rows)),))


def _standing(one: Publication) -> str:
    return wording.enum_word(PublicationState.Name(one.state), "PUBLICATION_STATE_")


def _reproduce(facts: PublicFacts, evidence: OwnerEvidence) -> Iterator[Part]:
    release = evidence.release
    versions = ", ".join(f"{part} {release.versions[part]}" for part in sorted(release.versions))
    tables = ", ".join(f"{name} ({wording.count(rows)} rows)" for name, rows in facts.objects)
    rows = (("versions", versions), ("tables", tables), ("source's fingerprint", release.source_fingerprint))
    yield Terms(tuple(row for row in rows if row[1]))
    if not evidence.is_dry_run:
        yield from public.checksum(facts)
    yield Words("Equal policies, versions and rows give equal releases, unless a time limit stops the search.")
