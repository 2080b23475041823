"""The first page of the owner's edition: all that a decision needs, on one sheet of A4."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from tableveil import wording
from tableveil.report.facts import PublicFacts
from tableveil.report.made_up import made_up_rows
from tableveil.report.model import Blanks, Grid, Section, SideBySide, Terms, Words
from tableveil.report.owner_evidence import OwnerEvidence, ReleaseBeside
from tableveil.report.standing import others_stated, standings, undecided
from tableveil.report.threats import Situation
from tableveil.report.words import CONTEXTS, stated
from tableveil.v1 import faults_pb2
from tableveil.v1.release_service_pb2 import (
    PUBLICATION_STATE_PUBLISHED,
    PUBLICATION_STATE_WAITING,
    RELEASE_OBJECT_KIND_ESTIMATED,
    RELEASE_OBJECT_KIND_EVENTS,
    RELEASE_STATE_PENDING,
    Release,
)
from tableveil.wording.distinct import is_erased

MOST_DECISIONS, MOST_OTHERS, MOST_NAMED = 5, 4, 8
"""The lines that the page has room for; what is left out is counted."""

LONGEST_DECISION = 320
"""Characters of a decision on the page; the annex has the whole text."""

LITTLE_USE = 0.5
"""A column whose labels cover more than this share of their hierarchy, on average, is of little use."""

_MATCHES = "A person's match in "
"""The note of how often a match is right begins so."""


def first_page(facts: PublicFacts, evidence: OwnerEvidence, situation: Situation) -> tuple[Section, ...]:
    """The sections of the page, in the order in which they are read."""
    release = evidence.release
    return (
        Section("purpose", "The release: for whom, and why", (Terms(tuple(_purpose(facts, evidence))),)),
        Section(
            "risks",
            "Singling out, linkability, inference",
            (standings(situation, release, evidence.joint, evidence.maker),),
        ),
        Section("decide", "To be decided", tuple(_decisions(evidence))),
        Section(
            "rows",
            "The rows that readers get",
            (
                SideBySide(
                    (
                        (made_up_rows(facts, release.policy),),
                        (Words(_left(release)), *_estimates(release), *_others(release, evidence.others)),
                    )
                ),
            ),
        ),
        Section("sign", "Decision", (Blanks(_LINES),)),
    )


_LINES = (
    "Controller: decision, name, date, signature",
    "Advice of the data-protection officer: name, date, signature",
    "Expert's opinion (HIPAA), if any: name, qualification, signature",
    "To be reviewed by",
)


def _purpose(facts: PublicFacts, evidence: OwnerEvidence) -> Iterator[tuple[str, str]]:
    found, release, people = facts.statements, evidence.release, evidence.people
    yield "for whom", f"{stated(found.recipient)}; {CONTEXTS.get(found.context, 'no context is stated')}"
    yield "why", f"{stated(found.purpose)}; legal basis: {stated(found.legal_basis)}"
    related = release.policy.HasField("tables")
    read = ", ".join(map(wording.table_name, release.source_tables)) or wording.table_name(release.source)
    if related:
        read = wording.table_name(release.source)
    whose = "one person each, by the policy's statement"
    if people is not None:
        whose = f"{wording.count(people)} people"
    elif related:
        whose = f"one person each, by {release.policy.tables.people.key}"
    elif release.policy.person_column:
        whose = f"people told apart by {release.policy.person_column}"
    limit = wording.share(Decimal(release.policy.suppression_limit or "0"))
    yield (
        "records",
        f"{wording.count(facts.records)} of {wording.count(release.records)} records of {read}; {whose}. "
        f"{wording.count(facts.suppressed)} are suppressed ({_part(facts.suppressed, release.records)}; the policy "
        f"allows {limit}).",
    )
    if related:
        events = [each for each in release.source_tables if each != release.source]
        rows = [
            f"{each.name} has {wording.count(each.rows)} rows"
            for each in release.objects
            if each.kind == RELEASE_OBJECT_KIND_EVENTS
        ]
        yield "events", f"{', '.join(map(wording.table_name, events))}. {', '.join(rows)}."
    by = f", by {wording.short(evidence.maker)}" if evidence.maker else ""
    yield "how", f"{facts.method[0].upper()}{facts.method[1:]}, on {facts.day}{by}. {wording.price(release)}".strip()


def _part(part: int, whole: int) -> str:
    return wording.share(part / whole if whole else 0.0)


def _decisions(evidence: OwnerEvidence) -> Iterator[Grid | Words]:
    release = evidence.release
    whom = "approver" if release.state == RELEASE_STATE_PENDING else "controller"
    decisions = [(_shortened(text), whom) for text in undecided(release, evidence.refusals)]
    if decisions:
        more = len(decisions) - MOST_DECISIONS
        shown = (
            decisions if more <= 0 else [*decisions[: MOST_DECISIONS - 1], (f"{more + 1} more: see Warnings.", whom)]
        )
        yield Grid("Besides the release itself", ("what", "by whom"), tuple(shown))
    else:
        yield Words(f"Nothing besides the release itself, by the {whom}: no warning asks for a decision.")
    for one in release.policy.attributes:
        if one.acknowledged:
            why = f" Its reason: {stated(one.reason)}" if one.reason else " It states no reason."
            yield Words(_shortened(f"The policy overrules the checks of {one.column}.{why}"))
    yield from map(Words, others_stated(release, evidence.maker))
    ranks = list(release.warning_ranks)
    looked, notes = (
        ranks.count(rank) for rank in (faults_pb2.WARNING_RANK_SHOULD_BE_LOOKED_AT, faults_pb2.WARNING_RANK_NOTE)
    )
    if looked or notes:
        yield Words(f"The annex has {looked} {'warning' if looked == 1 else 'warnings'} to look at, and {notes} notes.")


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_DECISION else f"{text[:LONGEST_DECISION].rsplit(' ', 1)[0]} … (see Warnings)"


def _left(release: Release) -> str:
    """The columns that are erased or of little use."""
    erased = [one.column for one in release.attributes if is_erased(one)]
    little = [one for one in release.attributes if one.column not in erased and one.loss > LITTLE_USE]
    told = f"Erased: {_named(erased)}." if erased else "No column is erased."
    if not little:
        return f"{told} None lost more than half of its detail on average."
    lost = _named([f"{one.column} (lost {wording.share(one.loss)} of its detail)" for one in little])
    return f"{told} Little is left of {lost}."


def _estimates(release: Release) -> Iterator[Words]:
    """The estimated table, and how often a match in it is right if that was counted."""
    for made in release.objects:
        if made.kind == RELEASE_OBJECT_KIND_ESTIMATED:
            yield Words(f"Readers also get {made.name}: values drawn under the labels. Its rows are not people.")
            yield from (Words(text) for text in release.warnings if text.startswith(_MATCHES))


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _others(release: Release, others: Sequence[ReleaseBeside]) -> Iterator[Words | Grid]:
    if not others:
        yield Words("You can see no other release of these people, nor of this table.")
        return
    rows = [
        (one.release.name, _standing(one.release), "its people" if one.by_digests else "its table") for one in others
    ]
    more = len(rows) - MOST_OTHERS
    if more > 0:
        rows = [*rows[: MOST_OTHERS - 1], (f"{more + 1} more", "", "")]
    yield Grid("Other releases that you can see", ("release", "is", "shares"), tuple(rows))


def _standing(release: Release) -> str:
    standing = wording.standing(release)
    words = {"yes": "public", "pending": "waiting"}.get(standing, standing)
    there = (PUBLICATION_STATE_WAITING, PUBLICATION_STATE_PUBLISHED)
    published = [one.target for one in release.publications if one.state in there]
    return f"{words}, exported to {_named(published)}" if published else words
