"""Checks the people's classes in the ledger against the rows, and joint classes against the policy."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tableveil.backend import Session
from tableveil.policy import Dominance, LeftBehind, Policy
from tableveil.verification.digests import digest_of, secret_of
from tableveil.verification.own_levels import chosen_labels, coded
from tableveil.verification.text import at_most, differing
from tableveil.verification.written import Written

ROWS = (
    "SELECT release, digest, coalesce(person, digest) AS owner, class FROM tableveil.release_persons WHERE class >= 0 "
    "UNION ALL SELECT release, member, coalesce(person, member), class FROM tableveil.release_erased_persons "
    "WHERE class >= 0"
)
"""A query for the records with a row in a release: `release`, `digest`, `owner` and `class`."""


def check_classes_of_people(session: Session, policy: Policy, written: Written) -> list[str]:
    """Whether the ledger's classes of people are those of the rows; `recounted` has the latter."""
    of_release = "FROM tableveil.release_persons WHERE release = ?"
    complete = f"SELECT count(*) > 0 AND count(*) = count(class) {of_release}"
    if policy.person_column is None or not session.value(complete, [written.release]):
        return []
    sizes = f"SELECT count(*) {of_release} AND class > 0 GROUP BY class"
    others = session.value(differing("SELECT recounted_size FROM recounted", sizes), [written.release])
    if others:
        return [f"the ledger has other numbers of classes of people of {others} sizes than the rows"]
    if policy.has_own_levels:
        # Their labels are looked at while the tables of own levels are there.
        return []
    return _check_labels_of_people(session, policy.person_column, policy.record_column, written)


def _check_labels_of_people(session: Session, person: str, record: str, written: Written) -> list[str]:
    """Whether records have one class in the ledger if, and only if, they have the same labels in the rows.

    And whether the ledger has the person of each, where it has records.
    """
    labels, joins, condition = written.released_labels("p")
    secrets = [secret_of(session, records=records) for records in ([True, False] if record else [False])]
    digest = digest_of(record or person, "p", 1)
    owner = digest_of(person, "p", 2) if record else "NULL::UBIGINT"
    same = " AND ".join(f"r.q{j} IS NOT DISTINCT FROM o.q{j}" for j in range(len(labels)))
    people, *different = session.row(
        "SELECT count(*), count(DISTINCT (k.class, r.rowid)), count(DISTINCT k.class), count(DISTINCT r.rowid) "
        f"FROM (SELECT {', '.join(labels)}, {digest} AS digest, {owner} AS owner FROM {written.source_rows} AS p "
        f"{joins} WHERE {condition}) AS o JOIN tableveil.release_persons AS k ON k.release = ?{len(secrets) + 1} "
        "AND k.digest = o.digest AND k.person IS NOT DISTINCT FROM o.owner "
        f"AND k.class >= 0 JOIN recounted AS r ON {same}",
        [*secrets, written.release],
    )
    right = people == written.kept and len(set(different)) == 1
    return [] if right else ["the classes of people in the ledger are not those of their labels"]


def check_own_classes_of_people(session: Session, policy: Policy, written: Written) -> list[str]:
    """Whether records have one class in the ledger if, and only if, they have the same labels, of own levels.

    The tables of `read_own_levels` are there.
    """
    record = policy.record_column
    if policy.person_column is None or (written.person and not record):
        # The ledger keeps no classes of people who have several records.
        return []
    digest = digest_of(record or policy.person_column, "p", 1)
    session.stage(
        "linked_combinations",
        coded(written.source_rows, written, f"{digest} AS digest"),
        [secret_of(session, records=bool(record))],
    )
    ids = ", ".join(f"i{i}" for i in range(len(written.labels)))
    records, *different = session.row(
        "SELECT count(*), count(DISTINCT (k.class, s.class)), count(DISTINCT k.class), count(DISTINCT s.class) "
        f"FROM ({chosen_labels(written, 'linked_combinations', 'k.digest')}) AS o JOIN said AS s USING ({ids}) "
        "JOIN tableveil.release_persons AS k ON k.release = ? AND k.digest = o.digest AND k.class > 0",
        [written.release],
    )
    kept = session.value(
        "SELECT count(*) FROM tableveil.release_persons WHERE release = ? AND class > 0", [written.release]
    )
    session.execute("DROP TABLE temp.main.linked_combinations")
    right = records == kept and len(set(different)) <= 1
    return [] if right else ["the classes of people in the ledger are not those of their labels"]


def check_together(session: Session, policy: Policy, written: Written) -> list[str]:
    """Whether joint classes have k people, and where required nobody, k or all of a combination are left behind.

    With dominance, nobody has more than the share of the records of either.

    The latter has to hold of each earlier release and those that it was judged together with, too, and of releases that
    were judged with each other.
    """
    if not written.together_with:
        return []
    every, problems = sorted(written.together_with), []
    judged = session.rows("SELECT release, other FROM tableveil.release_together")
    parts = [[other for other in every if other == one or (one, other) in judged] for one in every]
    parts += [part for part in _judged_with_each_other(every, judged) if part not in parts]
    small, few = _counted(session, policy, written.release, every)
    if small:
        problems.append(f"{small} joint classes have fewer than {policy.k} people")
    if policy.release.left_behind is LeftBehind.REQUIRE:
        few += sum(_counted(session, policy, written.release, part)[1] for part in parts if part != every)
        problems += [f"{few} combinations of earlier classes leave fewer than {policy.k} people behind"] if few else []
    return problems


def _judged_with_each_other(releases: Collection[int], judged: Collection[tuple[int, int]]) -> Iterator[list[int]]:
    """Sets of releases of which each two were judged together, and that no other release can join.

    Source: Bron and Kerbosch, Algorithm 457, version 2: finding all cliques of an undirected graph (1973). Sets without
    the one that most others go with follow from those with it: otherwise all subsets of 50 releases would be tried.
    """
    near: dict[int, set[int]] = {one: set() for one in releases}
    for one, other in judged:
        if one in near and other in near:
            near[one].add(other)
            near[other].add(one)

    def found(chosen: tuple[int, ...], further: set[int], tried: set[int]) -> Iterator[list[int]]:
        if not further | tried:
            yield sorted(chosen)
            return
        best = max(further | tried, key=lambda one: len(near[one] & further))
        for one in further - near[best]:
            yield from found((*chosen, one), further & near[one], tried & near[one])
            further, tried = further - {one}, tried | {one}

    yield from found((), set(releases), set())


def classes_in(releases: Collection[int], names: Collection[str]) -> str:
    """Aggregates of the records of a digest in `ROWS`: its class in each of the releases, under one of the names."""
    pairs = zip(releases, names, strict=True)
    return ", ".join(f"max(class) FILTER (release = {int(release)}) AS {name}" for release, name in pairs)


def _counted(session: Session, policy: Policy, release: int, earlier: list[int]) -> tuple[int, int]:
    """The joint classes of fewer than k people, and the combinations that leave too few of their people behind.

    People are too few as well if one of them has more than the share of dominance of the records.
    """
    names = [f"class{i}" for i in range(len(earlier))]
    before = ", ".join(names)
    classes = (
        f"SELECT {classes_in([*earlier, release], [*names, 'now'])}, any_value(owner) AS owner FROM ({ROWS}) "
        f"WHERE release IN ({', '.join(map(str, [*earlier, release]))}) GROUP BY digest"
    )
    # Without records, a digest is a person's.
    records = "owner, count(*) AS records FROM" if policy.record_column else "1 AS records FROM"
    grouped = "GROUP BY ALL" if policy.record_column else ""
    session.stage("joint_people", f"SELECT {before}, now, {records} ({classes}) {grouped}")
    too_few = f"count(*) < {policy.k or 1}"
    for model in policy.privacy_models:
        if isinstance(model, Dominance):
            numerator, denominator = at_most(model.share)
            too_few += f" OR max(records)::HUGEINT * {denominator} > sum(records) * {numerator}"
    small: int = session.value(
        f"SELECT count(*) FROM (SELECT now FROM joint_people WHERE now IS NOT NULL GROUP BY {before}, now "
        f"HAVING {too_few})"
    )
    same = " AND ".join(f"stay.{name} IS NOT DISTINCT FROM leave.{name}" for name in names)
    few: int = session.value(
        f"SELECT count(*) FROM (SELECT {before} FROM joint_people WHERE coalesce({before}, NULL) IS NOT NULL "
        f"AND now IS NULL GROUP BY {before} HAVING {too_few}) AS leave "
        f"SEMI JOIN (SELECT {before} FROM joint_people WHERE now IS NOT NULL) AS stay ON {same}"
    )
    session.execute("DROP TABLE joint_people")
    return small, few
