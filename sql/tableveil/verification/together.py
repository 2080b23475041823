"""Checks the people's classes in the ledger against the rows, and joint classes against the policy."""

from __future__ import annotations

from collections.abc import Iterator

from tableveil.backend import Session
from tableveil.policy import Dominance, LeftBehind, Policy
from tableveil.verification.digests import digest_of, secret_of
from tableveil.verification.own_levels import chosen_labels, coded
from tableveil.verification.text import at_most
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
    complete = session.value(f"SELECT count(*) > 0 AND count(*) = count(class) {of_release}", [written.release])
    if policy.person_column is None or not complete:
        return []
    sizes = f"SELECT count(*) {of_release} AND class > 0 GROUP BY class"
    both = (sizes, "SELECT recounted_size FROM recounted")
    differing = sum(
        session.value(f"SELECT count(*) FROM ({left} EXCEPT ALL {right})", [written.release])
        for left, right in (both, both[::-1])
    )
    if differing:
        return [f"{differing} classes of people in the ledger are not as large as the rows'"]
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
    if policy.person_column is None:
        return []
    record = policy.record_column
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
    parts += [part for part in _judged_with_each_other((), {*every}, set(), {*judged}) if part not in parts]
    small, few = _counted(session, policy, written.release, every)
    if small:
        problems.append(f"{small} joint classes have fewer than {policy.k} people")
    if policy.release.left_behind is LeftBehind.REQUIRE:
        few += sum(_counted(session, policy, written.release, part)[1] for part in parts if part != every)
        problems += [f"{few} combinations of earlier classes leave fewer than {policy.k} people behind"] if few else []
    return problems


def _judged_with_each_other(
    chosen: tuple[int, ...], further: set[int], tried: set[int], judged: set[tuple[int, int]]
) -> Iterator[list[int]]:
    """Sets of releases of which each two were judged together, and that no other release can join.

    Source: Bron and Kerbosch, Algorithm 457: finding all cliques of an undirected graph (1973).
    """
    if not further | tried:
        yield sorted(chosen)
    while further:
        one = further.pop()
        near = {other for other in further | tried if (one, other) in judged or (other, one) in judged}
        yield from _judged_with_each_other((*chosen, one), further & near, tried & near, judged)
        tried = tried | {one}


def _counted(session: Session, policy: Policy, release: int, earlier: list[int]) -> tuple[int, int]:
    """The joint classes of fewer than k people, and the combinations that leave too few of their people behind.

    People are too few as well if one of them has more than the share of dominance of the records.
    """
    session.stage(
        "joint_people",
        "SELECT earlier, now, owner, count(*) AS records FROM (SELECT any_value(owner) AS owner, "
        "string_agg(release || ':' || class, ' ' ORDER BY release) FILTER (release <> ?1) AS earlier, "
        f"max(class) FILTER (release = ?1) AS now FROM ({ROWS}) WHERE list_contains(?2::BIGINT[], release) "
        "GROUP BY digest) GROUP BY ALL",
        [release, [*earlier, release]],
    )
    too_few = f"count(*) < {policy.k or 1}"
    for model in policy.privacy_models:
        if isinstance(model, Dominance):
            numerator, denominator = at_most(model.share)
            too_few += f" OR max(records)::HUGEINT * {denominator} > sum(records) * {numerator}"
    small: int = session.value(
        "SELECT count(*) FROM (SELECT earlier, now FROM joint_people WHERE now IS NOT NULL GROUP BY earlier, now "
        f"HAVING {too_few})"
    )
    few: int = session.value(
        "SELECT count(*) FROM (SELECT earlier FROM joint_people WHERE earlier IS NOT NULL AND now IS NULL "
        f"GROUP BY earlier HAVING {too_few}) WHERE earlier IN (SELECT earlier FROM joint_people WHERE now IS NOT NULL)"
    )
    session.execute("DROP TABLE joint_people")
    return small, few
