"""Whether the records of a source were released before, and the reasons for thinking so."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, column
from tableveil.errors import InvalidError, depending_on, note, shortened
from tableveil.lifecycle.recurrence import Resemblance, numbered_alike, numbering, recurring
from tableveil.lifecycle.related_again import check_events, check_related_again
from tableveil.policy import LeftBehind, Policy, TableReference
from tableveil.policy.documentation import says_something
from tableveil.policy.validate_together import FIELD, check_together
from tableveil.source import Fingerprint, Source
from tableveil.state import ledger_gaps, matches, persons, publications, releases, sketches
from tableveil.state.joint_texts import JointText
from tableveil.state.matches import Match
from tableveil.state.releases import Origin, Release
from tableveil.state.rights import of_job
from tableveil.state.seen import by_rights


def repeat_hint(
    session: WarehouseSession, policy: Policy, source: Source, asked: Collection[int], *, rows: bool
) -> str:
    """The hint for a policy that gives no reason, although the people of the releases `asked` are in the source.

    Only with `rows` may those of the source be read.
    """
    hopeless = _hopeless(session, policy, source, asked, rows=rows)
    if hopeless:
        text = f"They cannot be judged together, since {hopeless}. State the reason, or release something else."
    elif unfit := _unfit(policy):
        text = f"To judge them together by left_behind, change first that the policy has {unfit}. Or state the reason."
    elif policy.release.left_behind is not None:
        text = "Add them to release.together_with, or state the reason why they are left out."
    else:
        text = (
            "To judge them together, write left_behind: REPORT below release, which counts the people who are told "
            "apart, or REQUIRE, which suppresses more so that nobody is. Or state the reason why that is not needed."
        )
    return f"Two releases of the same people can together tell apart what each alone hides. {text}"


def _unfit(policy: Policy) -> str:
    """The first part of the policy with which `left_behind` would be refused; an empty text if there is none."""
    asking = replace(policy, release=replace(policy.release, left_behind=LeftBehind.REPORT, together_with=()))
    for fault in check_together(asking):
        return fault.found.removeprefix(f"{LeftBehind.REPORT} with ").removesuffix(f" with {FIELD}")
    return ""


def _hopeless(session: WarehouseSession, policy: Policy, source: Source, asked: Collection[int], *, rows: bool) -> str:
    """The first reason why no policy could judge them together; an empty text if none is known."""
    if not asked:
        return "nobody knows which they were"
    person, record = policy.person_column, policy.record_column
    without = {*asked} - persons.with_classes(session.ledger, asked)
    if without:
        kept = "record" if record else "person"
        named = ", ".join(f"releases/{number}" for number in sorted(without)[:3])
        page = "docs/explanations/together.md"
        return f"the ledger has no class of each {kept} in {named} ({page} says which releases have them)"
    of_records = persons.of_records(session.ledger, asked)
    if bool(record) != (of_records == {*asked}) or (of_records and not record):
        return "some of these releases name a record_column, and others do not"
    if rows and not record and person is not None:
        different = exp.Count(this=exp.Distinct(expressions=[column(person)]))
        people, records = session.row(exp.select(different, exp.Count(this=exp.Star())).from_(source.table()))
        if people < records:
            return "people have several records in the source, and one there"
    return ""


_TOLD = "suppressed_by"
_MOST_RELEASES = 5
_MOST_REASONS = 3


def check_ledger(
    session: WarehouseSession, policy: Policy, source: Source, fingerprint: Fingerprint | None, *, reading: bool = False
) -> tuple[int, ...]:
    """The releases, ascending, that the policy judges this one together with.

    Releases that the principal could not see when the work was admitted are as if they were not there: anybody who may
    load a table could otherwise ask what is in theirs.

    Raises `InvalidError` if the records were released before, other than in these, and the policy gives no reason. Or
    if it says that a release is of other people, and rows say otherwise.

    They were released before if one of the tables was, or equal rows, or if rows or the values of columns equal those
    of an earlier source too often for an accident. Without a fingerprint only tables are compared. Where the ledger
    went back in time nobody knows, so that the first release of each source needs a reason then. The readers of a
    target need one as well if such a release was published there. A reason alone admits no second release of related
    tables, except for a job that is `reading`: trials and rehearsals are read by a reason of their own.
    """
    reasoned, target = says_something(policy.repeat_reason), policy.release
    if target.suppressed_by and fingerprint is not None:
        _check_untold(session, repeated_releases(session, source, fingerprint).difference(policy.other_people))
    judged = target.left_behind is not None
    if (
        not judged
        and reasoned
        and not policy.other_people
        and (policy.related is None or reading)
        and (not target.publish or says_something(target.publish_repeat_reason))
    ):
        return ()
    compared = releases.compared_releases(session.ledger)
    tables = [session.recorded(reference) for reference in source.tables]
    people = _of_same_people(session.embedded, tables, fingerprint, compared)
    if policy.other_people:
        people = _without_others(session.embedded, people, fingerprint, policy.other_people)
    same_people = people.releases
    together = sorted(target.together_with or same_people) if judged else []
    with depending_on(same_people):
        if not (reasoned and reading):
            check_related_again(session, policy, same_people)
        if not reasoned:
            asked = same_people.difference(together)
            _check_unreleased(session, policy, source, people, asked, rows=fingerprint is not None)
            check_events(session, source, compared.difference(same_people, together, policy.other_people))
        for name in target.publish:
            check_readers(
                session.embedded, name, target.publish_repeat_reason, same_people, "release.publish_repeat_reason"
            )
    return tuple(together)


def _check_untold(session: WarehouseSession, known: Collection[int]) -> None:
    """Refuses numbers of suppressed records where an earlier release told some: the difference could tell of one."""
    for number, release in sorted(releases.RELEASES.found(session.ledger, known).items()):
        if json.loads(release.policy).get("release", {}).get(_TOLD):
            with depending_on([number]):
                actual = f"suppressed_by, of people of whom releases/{number} told it"
                raise InvalidError.of("RELEASED_BEFORE", "release.suppressed_by", actual, "none", "Leave it out.")


def repeated_releases(session: WarehouseSession, source: Source, fingerprint: Fingerprint) -> set[int]:
    """The releases of a source's people that the caller may see, by the rules of `check_ledger`."""
    compared = releases.compared_releases(session.ledger)
    tables = [session.recorded(reference) for reference in source.tables]
    return _of_same_people(session.embedded, tables, fingerprint, compared).releases


def notes_of_numbers(
    session: WarehouseSession, policy: Policy, source: Source, fingerprint: Fingerprint
) -> tuple[JointText, ...]:
    """The note that nobody can tell whether people are those of releases that number theirs alike; none else.

    Other evidence decides: the table, rows that recur or agree, the statement of other people, or a list of releases.
    """
    if policy.person_column is None or fingerprint.sketch is None or policy.method.budgeted:
        return ()
    own = numbering(fingerprint.sketch, policy.person_column)
    if own is None:
        return ()
    compared = releases.compared_releases(session.ledger)
    others = compared.difference(policy.other_people, policy.release.together_with)
    alike = numbered_alike(session.embedded, own, others)
    if alike:
        known = repeated_releases(session, source, fingerprint)
        alike = {release: part for release, part in sorted(alike.items(), reverse=True) if release not in known}
    if not alike:
        return ()
    (newest, part), *more = alike.items()
    so = f", as it is with {named([release for release, _ in more])}" if more else ""
    text = note(
        f"Nobody can tell whether the people of releases/{newest} are the same{so}: {part}, but both columns "
        "number people in a row, and no other values or rows that the ledger keeps recur beyond chance. If they are "
        "the same, list it in release.together_with or give a repeat_reason; if not, say so in other_people.",
        field=policy.person_column,
    )
    return (JointText(text, tuple(sorted(alike))),)


def releases_of_tables(session: WarehouseSession, source: Source) -> set[int]:
    """The releases of a source's tables that the caller may see."""
    compared = releases.compared_releases(session.ledger)
    return set(releases.earlier_releases(session.ledger, [*map(session.recorded, source.tables)], None, compared))


def releases_of_same_people(session: Session, release: Release, others: Collection[int] = ()) -> set[int]:
    """The other releases that are known to be of the same people, by the rules of `check_ledger`.

    Without those of other people, as its policy says, and the `others`.
    """
    among = releases.compared_releases(session.ledger) - {release.number}
    stated = (int(name.rpartition("/")[2]) for name in json.loads(release.policy).get("other_people", ()))
    people, mark = _people_of(session, release, among)
    return _without_others(session, people, mark, {*stated, *others}).releases


def unseen_matches(session: Session, release: Release | Origin) -> list[Match]:
    """The matches of a release with others that its submitter could not see when it was asked for.

    They are for readers of both releases. A submitter who was told could ask by loading tables, and wait.
    """
    others = releases.compared_releases(session.ledger) - {release.number}
    if not others:
        return []
    rights = by_rights(of_job(session.ledger, release.job))
    others -= releases.seen_among(session.ledger, others, rights) | matches.partners(session.ledger, release.number)
    likenesses = _same_people_as(session, release, others)
    return [Match(release.number, other, found.told(f"releases/{other}")) for other, found in likenesses.items()]


def _same_people_as(session: Session, release: Release | Origin, among: set[int]) -> dict[int, Resemblance]:
    """The other releases among these that are of the same people, each with the evidence."""
    people, _ = _people_of(session, release, among - {release.number})
    return {**dict.fromkeys(people.tables, Resemblance("made of the table or the rows of")), **dict(people.alike)}


def _people_of(session: Session, release: Release | Origin, among: set[int]) -> tuple[_SamePeople, Fingerprint | None]:
    """The releases among others that are of the same people, and what is kept to recognize these."""
    if not among:
        return _SamePeople([], []), None
    mark = Fingerprint(release.source_fingerprint, sketches.find(session.ledger, release.number))
    tables = release.source_tables or (release.source,)
    return _of_same_people(session, tables, mark, among), mark


@dataclass(frozen=True, slots=True)
class _SamePeople:
    """The releases of the same `tables` or of equal rows; and those whose people the sketch knows, with the reason."""

    tables: list[int]
    alike: list[tuple[int, Resemblance]]

    @property
    def releases(self) -> set[int]:
        """All of them."""
        return {*self.tables, *(release for release, _ in self.alike)}


def _of_same_people(
    session: Session, tables: Sequence[TableReference], mark: Fingerprint | None, among: set[int]
) -> _SamePeople:
    if not among:
        return _SamePeople([], [])
    earlier = releases.earlier_releases(session.ledger, tables, mark.rows if mark else None, among)
    others = among.difference(earlier)
    return _SamePeople(earlier, list(recurring(session, mark.sketch, others)) if mark and mark.sketch else [])


def _without_others(
    session: Session, people: _SamePeople, mark: Fingerprint | None, others: Collection[int]
) -> _SamePeople:
    """Leaves out releases of which somebody says that their people are others.

    Raises `InvalidError` if rows recur there: of the values of a column, or of the table's name, people can be wrong.
    """
    named_there = people.releases.intersection(others)
    if mark is not None and named_there:
        of_rows = {release: evidence for release, evidence in people.alike if evidence.of_rows}
        by_name = named_there.intersection(people.tables)
        if mark.sketch is not None:
            of_rows |= {one: evidence for one, evidence in recurring(session, mark.sketch, by_name) if evidence.of_rows}
        equal = releases.earlier_releases(session.ledger, (), mark.rows, by_name)
        of_rows |= dict.fromkeys(equal, Resemblance("the rows are those of"))
        for release in sorted(named_there & of_rows.keys()):
            with depending_on([release]):
                raise InvalidError.of(
                    "SAME_PEOPLE",
                    "other_people",
                    f"releases/{release}, although {of_rows[release].told(f'releases/{release}')}",
                    "releases of other people",
                    "Judge them together by left_behind, or state in repeat_reason why they are released once more.",
                )
    tables = [release for release in people.tables if release not in others]
    return _SamePeople(tables, [(release, evidence) for release, evidence in people.alike if release not in others])


def check_readers(session: Session, target: str, reason: str, known: Collection[int], field: str) -> None:
    """Raises `InvalidError` if one of the `known` releases was published to a target and there is no reason.

    The known releases are those of the same people.
    """
    if says_something(reason):
        return
    published = publications.known_at(session.ledger, target, known)
    if published:
        raise InvalidError.of(
            "REPEATED_PUBLICATION",
            field,
            f"none, although readers of {shortened(target)} have {named(published)} of the same people",
            "the reason why they may have another one",
            "Two releases of the same people can together tell apart what each alone hides: state the reason, or "
            "publish it to other readers.",
        )


def _check_unreleased(
    session: WarehouseSession, policy: Policy, source: Source, people: _SamePeople, asked: set[int], *, rows: bool
) -> None:
    """Raises `InvalidError` if any releases are `asked` about, or could be missing, and says why they are of them."""
    came = f"came from {'this source' if source.query is None else 'tables that it reads'}"
    of_tables = [release for release in people.tables if release in asked]
    why = [f"{named(of_tables)} {came}"] if of_tables else []
    gap = ledger_gaps.latest(session.ledger)
    if gap is not None and not any(number > gap.after for number in people.releases):
        why.append(f"the ledger went back in time: {gap}")
    by_evidence: defaultdict[Resemblance, list[int]] = defaultdict(list)
    for release, evidence in people.alike:
        if release in asked:
            by_evidence[evidence].append(release)
    why += [evidence.told(named(numbers)) for evidence, numbers in by_evidence.items()]
    if why:
        raise InvalidError.of(
            "REPEATED_RELEASE",
            "repeat_reason",
            f"none, although {'; '.join(why[:_MOST_REASONS])}{'; …' if len(why) > _MOST_REASONS else ''}",
            "the reason why these records are released once more",
            # A long hint is cut at its end when it is sent.
            _others_hint(people, asked) + repeat_hint(session, policy, source, asked, rows=rows),
        )


def _others_hint(people: _SamePeople, asked: set[int]) -> str:
    """The way on where no rows say that the people are the same."""
    if not asked or any(evidence.of_rows for release, evidence in people.alike if release in asked):
        return ""
    names = ", ".join(f"releases/{one}" for one in sorted(asked))
    return f"If they are other people, say so: other_people: [{names}]. "


def named(numbers: Sequence[int]) -> str:
    """The names of some releases, for people; not of all if they are many."""
    names = ", ".join(f"releases/{number}" for number in numbers[:_MOST_RELEASES])
    return f"{names}, …" if len(numbers) > _MOST_RELEASES else names
