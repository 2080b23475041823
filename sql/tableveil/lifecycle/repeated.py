"""Joint figures of a release whose people others have rows of, by a reason alone: before it becomes public.

By labels a joint class is made of people with the same class in each of the releases: the ledger has these classes. By
columns that the releases show alike, rows are joined as a reader would join them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import WarehouseSession, column, table
from tableveil.errors import Warned, must_decide, shortened, sole
from tableveil.lifecycle.joined import MOST_COLUMNS, Joined, Shown, join_columns, joined, renamed, stage_rows
from tableveil.lifecycle.ledger import named, repeated_releases
from tableveil.lifecycle.related_again import Keyed, relinked, stage_keys, told, untold, withdrawn_keys
from tableveil.lifecycle.standing import place_of
from tableveil.lifecycle.target import objects_called
from tableveil.policy import Policy, ReleaseKind, SuppressedRecords
from tableveil.policy.documentation import says_something
from tableveil.privacy.guarantees import Guarantee
from tableveil.release.objects import public
from tableveil.release.plan import ReleasePlan
from tableveil.source import Fingerprint, Source
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import persons
from tableveil.state.joint_texts import JointText
from tableveil.state.releases import RELEASES, STANDING, Release

JOINT_K = "joint_k"
"""Its name in the evidence."""

REHEARSED = "a dry run"
"""The reason of a dry run whose policy gives none."""

MOST_JOINED = 10
"""The most releases whose rows are joined, the latest ones: each takes as long as the others."""

_NEW = "repeating_rows"
_BYTES = 8


@dataclass(frozen=True, slots=True)
class Staged:
    """A release whose rows are staged: its columns that join `by` name, folded, with types; and `others`, by name."""

    release: int
    by: tuple[tuple[str, str], ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """The earlier `releases` of the same people that a reason admits; the rows of some are `staged` to be joined.

    `keyed` is one of related tables: what its keys have is staged, unless its rows are gone. `unjoined` ones stand, but
    their rows are too many to collect, or not where the new ones are, or `MOST_JOINED` later releases stand, too.
    """

    releases: tuple[int, ...] = ()
    staged: tuple[Staged, ...] = ()
    keyed: tuple[int, Keyed | None] | None = None
    unjoined: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RepeatingRelease:
    """The release that repeats others: its policy and source, its released `records`, and its rows as readers see them.

    It was judged `together_with` some of the others.
    """

    policy: Policy
    source: Source
    together_with: tuple[int, ...]
    records: int
    shown: Shown
    keyed: Keyed

    @classmethod
    def planned(cls, plan: ReleasePlan) -> RepeatingRelease:
        """The release of a plan."""
        return cls(plan.policy, plan.source, plan.together_with, plan.kept_records, _new(plan), Keyed.planned(plan))


@dataclass(frozen=True, slots=True)
class JointFindings:
    """The findings on a release and those that it repeats; `safe`: everybody shares joint classes of k.

    Only readers of the releases that a text depends on are told it: `joint` has them.
    """

    guarantees: tuple[Guarantee, ...] = ()
    warnings: tuple[Warned, ...] = ()
    safe: bool = True
    joint: tuple[JointText, ...] = ()


def stage_repeated(
    session: WarehouseSession,
    new: RepeatingRelease,
    fingerprint: Fingerprint,
    policy_of: Callable[[str], Policy] | None,
) -> Repeated:
    """The releases that a new one repeats by a reason; call it before it replaces one of them.

    `policy_of` reads the policies of the ledger.
    """
    numbers = repeated_by_reason(session, new.policy, new.source, fingerprint, new.together_with)
    staged: list[Staged] = []
    unjoined: list[int] = []
    keyed: tuple[int, Keyed | None] | None = None
    there = [one.number for one in STANDING.found(session.ledger, numbers).values() if one.current or one.waits]
    # Nobody fills the ten with releases that tell nothing by columns: these are not among them.
    for number, release in sorted(RELEASES.found(session.ledger, there).items(), reverse=True):
        policy = None if policy_of is None else policy_of(release.policy)
        earlier = None if policy is None else standing(session, release, policy)
        if new.policy.related is not None and policy is not None and policy.related is not None and keyed is None:
            rows = None if earlier is None else earlier.rows
            own = Keyed.released(policy, release.attributes)
            if isinstance(rows, exp.Table) and stage_keys(session.embedded, rows, own, new.keyed):
                keyed = number, own
        by = join_columns(earlier, new.shown) if earlier is not None else []
        others = _unlike(earlier, new.shown) if earlier is not None and _unlike(new.shown, earlier) else []
        # A release joins by name or, perhaps, by columns of other names: neither kind takes the place of the other.
        too_many = bool(by or others) and sum(bool(one.by) == bool(by) for one in staged) == MOST_JOINED
        columns = len(by) + 2 * len(others)
        if earlier is None or too_many or _too_many(session, release.records + new.records, columns):
            unjoined.append(number)
        elif by or others:
            stage_rows(session, _staged(number), earlier, [*by, *((other, "VARCHAR") for other in others)])
            staged.append(Staged(number, tuple(by), tuple(others)))
    if new.policy.related is not None and keyed is None:
        gone = withdrawn_keys(session, set(numbers).difference(there))
        keyed = None if gone is None else (gone, None)
    return Repeated(tuple(numbers), tuple(reversed(staged)), keyed, tuple(sorted(unjoined)))


def repeated_by_reason(
    session: WarehouseSession,
    policy: Policy,
    source: Source,
    fingerprint: Fingerprint,
    together_with: Collection[int] = (),
) -> list[int]:
    """The releases of a source's people that the caller may see and that the policy's reason admits, ascending."""
    if not says_something(policy.repeat_reason):
        return []
    return sorted(repeated_releases(session, source, fingerprint).difference(together_with, policy.other_people))


def joint_findings(session: WarehouseSession, new: RepeatingRelease, repeated: Repeated, number: int) -> JointFindings:
    """The joint figures of the release of that number, whose rows and classes are written, with those it repeats."""
    # Nobody counted whether people are others: who says so is believed by an approver, if one is asked.
    believed = not new.policy.other_people
    if not repeated.releases:
        return JointFindings(safe=believed)
    k = new.policy.k or 2
    joint_classes = [
        *_by_labels(session, new, repeated.releases, number, k),
        *_by_columns(session, new.shown, repeated, k),
        *_by_keys(session, new, repeated),
    ]
    return JointFindings(
        guarantees=tuple(one for each in joint_classes for one in each.guarantees),
        warnings=tuple(text for each in joint_classes for text in each.warnings),
        safe=believed and all(each.safe for each in joint_classes),
        joint=tuple(text for each in joint_classes for text in each.joint),
    )


def _by_labels(
    session: WarehouseSession, new: RepeatingRelease, releases: Sequence[int], number: int, k: int
) -> Iterator[JointFindings]:
    ledger, others = session.ledger, [*releases, *new.together_with]
    with_classes = persons.with_classes(ledger, [*others, number])
    alike = persons.of_records(ledger, others)
    if not new.policy.record_column:
        alike = {*others} - alike
    comparable = with_classes & alike & persons.sharing(ledger, others, number) if number in with_classes else set()
    unsure = [release for release in releases if release not in comparable]
    if unsure:
        whose = "this release" if number not in with_classes else "one of them, or knows nobody of it again"
        warning = must_decide(
            f"Joint classes with {named(unsure)} are not defined: the ledger has no class of each person in {whose}. "
            f"Nobody counted whom readers of both tell apart, which can be everybody: "
            f"docs/explanations/together.md says of which releases it can be counted.",
            field="repeat_reason",
        )
        yield _found(unsure, Guarantee(f"{JOINT_K} ({named(unsure)})", "", "k", None, None), warning, safe=False)
    if comparable:
        yield _of_classes(session, sorted(comparable), number, new.policy)


def _of_classes(session: WarehouseSession, releases: Sequence[int], number: int, policy: Policy) -> JointFindings:
    k = policy.k or 2
    smallest, joint, left = persons.below(session.ledger, [*releases, number], k)
    guarantee = Guarantee(f"{JOINT_K} ({named(releases)})", "", "k", None, smallest)
    parts = [f"{joint:,} people are in joint classes of fewer than k = {k}, the smallest of {smallest:,}"] * (joint > 0)
    parts += [f"{left:,} people have no row in this release, and fewer than k = {k} share their classes"] * (left > 0)
    if not parts:
        return _found(releases, guarantee)
    reason = "" if policy.repeat_reason == REHEARSED else " The reason for it protects nobody."
    warning = must_decide(
        f"Together with {named(releases)}, this release tells people apart who cannot be by one "
        f"alone: {'; '.join(parts)}.{reason}",
        joint or left,
        "repeat_reason",
    )
    return _found(releases, guarantee, warning, safe=False)


def _by_columns(session: WarehouseSession, new: Shown, repeated: Repeated, k: int) -> Iterator[JointFindings]:
    if repeated.unjoined:
        why = f"their rows are elsewhere, or too many to collect, or those of {MOST_JOINED} later releases were joined"
        warning = must_decide(
            f"Nobody joined the rows with those of {named(repeated.unjoined)}: {why}. Whom columns tell apart there "
            "is not known.",
            field="repeat_reason",
        )
        yield JointFindings(warnings=(warning,), safe=False, joint=(JointText(warning, repeated.unjoined),))
    for earlier in repeated.staged:
        names = _aligned(session, new, earlier)
        joint = joined(session.embedded, _staged(earlier.release), _NEW, names, k) if names else None
        if joint is not None:
            yield _of_join(earlier.release, joint, k)


def _by_keys(session: WarehouseSession, new: RepeatingRelease, repeated: Repeated) -> Iterator[JointFindings]:
    """How many keys of related tables are found again by what their rows have."""
    if repeated.keyed is None or not isinstance(new.shown.rows, exp.Table):
        return
    release, earlier = repeated.keyed
    warnings, unlike = list[Warned](), list[str]()
    if earlier is not None:
        alike, keys = relinked(session.embedded, new.shown.rows, earlier, new.keyed)
        warnings += [warning for warning in [told(alike, keys, release)] if warning]
        unlike = new.keyed.unlike(earlier)
    if earlier is None or unlike:
        warnings.append(untold(release, unlike))
    for warning in warnings:
        yield JointFindings(warnings=(warning,), safe=False, joint=(JointText(warning, (release,)),))


def _aligned(session: WarehouseSession, new: Shown, earlier: Staged) -> list[str]:
    """Stages the new rows by the columns of an earlier release, also by those that have other names there; the names.

    Readers take two columns of equal values for one, whatever they are called.
    """
    mine = [key for key in new.alike if key not in dict(earlier.by)][:MOST_COLUMNS] if earlier.others else []
    stage_rows(session, _NEW, new, [*earlier.by, *((key, "VARCHAR") for key in mine)])
    number, rows = len(earlier.by), _staged(earlier.release)
    theirs = range(number, number + len(earlier.others))
    same = renamed(session.embedded, rows, theirs, _NEW, range(number, number + len(mine)))
    by_name = [f"u{i}" for i in range(number)]
    for table_name, columns in ((rows, same.values()), (_NEW, same.keys())) if earlier.others else ():
        aligned = [*by_name, *(f"u{j} AS u{i}" for i, j in enumerate(columns, number))]
        # Its own rows are read before the table takes their place.
        session.embedded.execute(
            f"CREATE OR REPLACE TEMP TABLE {table_name} AS SELECT {', '.join(['class', *aligned])} FROM {table_name}"
        )
    names = [new.alike[key][0] for key, _ in earlier.by]
    return names + [
        f"{new.alike[mine[here - number]][0]} ({earlier.others[there - number]} there)" for here, there in same.items()
    ]


def _unlike(one: Shown, other: Shown) -> list[str]:
    """The keys of columns that the other release does not show under that name, of which the first are looked at."""
    return [key for key in one.alike if key not in other.alike][:MOST_COLUMNS]


def _of_join(release: int, found: Joined, k: int) -> JointFindings:
    names = ", ".join(map(shortened, found.columns))
    guarantee = Guarantee(
        f"{JOINT_K} (releases/{release}, joined)", ", ".join(found.columns), "k", None, found.smallest
    )
    if not found.below:
        return _found([release], guarantee)
    warning = must_decide(
        f"By {names}, the rows join those of releases/{release}: this tells the class of {found.rows:,} rows there, of "
        f"which {found.below:,} are in joint classes of fewer than k = {k} rows, the smallest of {found.smallest:,}.",
        found.rows,
        sole(found.columns),
    )
    return _found([release], guarantee, warning, safe=False)


def _found(
    releases: Sequence[int], guarantee: Guarantee, warning: Warned | None = None, *, safe: bool = True
) -> JointFindings:
    """The findings on some releases, which only readers of all of them are told."""
    warnings = () if warning is None else (warning,)
    joint = tuple(JointText(text, tuple(releases)) for text in (guarantee.model, *warnings))
    return JointFindings((guarantee,), warnings, safe, joint)


def _staged(release: int) -> str:
    return f"repeated_rows_{release}"


def _too_many(session: WarehouseSession, rows: int, columns: int) -> bool:
    most = session.most_collected
    return most is not None and rows * (columns + 1) * _BYTES > most


def _new(plan: ReleasePlan) -> Shown:
    """The rows that the plan writes."""
    types, alike = dict(plan.types()), {}
    for released in plan.columns():
        if released.comparable_at is not None:
            alike[_key(released.name, *released.comparable_at)] = (released.name, types[released.name])
    rows = public(plan, plan.policy.release.name)
    return _shown(plan.policy, rows, [released.name for released in plan.quasi_identifiers()], alike)


def standing(session: WarehouseSession, release: Release, policy: Policy) -> Shown | None:
    """The rows of a written release of that policy; None if they are not where those of the session are."""
    if release.warehouse != session.warehouse:
        return None
    schema, name = place_of(session, release, release.target_name)
    if release.kind is ReleaseKind.VIEW:
        schema, name = STATE_SCHEMA, f"snapshot_{release.number}"
    if name not in objects_called(session, schema, [name]):
        return None
    rows = table(name, schema, session.catalog)
    types = dict(session.described(exp.select("*").from_(rows)))
    results = {result.column: result for result in release.attributes}
    labels = [name for name in results if name in types]
    alike = {name.casefold(): (name, type_) for name, type_ in types.items() if name not in results}
    for name in labels:
        result = results[name]
        if not result.aggregation and len(result.levels) <= 1:
            alike[_key(name, result.level, result.hierarchy)] = (name, types[name])
    return _shown(policy, rows, labels, alike)


def _key(name: str, level: int, hierarchy: str) -> str:
    """The key by which columns of labels are alike: values, or the same level of the same hierarchy."""
    return name.casefold() if level == 0 else f"{name.casefold()} at level {level} of {hierarchy}"


def _shown(policy: Policy, rows: exp.Table, labels: Collection[str], alike: dict[str, tuple[str, str]]) -> Shown:
    """Blank rows say nothing; suppressed records that are shown are one more class."""
    if policy.suppressed_records is SuppressedRecords.KEEP:
        return Shown(rows, (*labels, policy.marker_column), alike)
    if policy.suppressed_records is SuppressedRecords.DROP:
        return Shown(rows, tuple(labels), alike)
    kept = exp.select("*").from_(rows).where(exp.Not(this=column(policy.marker_column)))
    return Shown(kept.subquery("kept"), tuple(labels), alike)
