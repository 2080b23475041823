"""Checks the people's classes in the ledger against the rows, and joint classes against the policy."""

from collections.abc import Collection

from tableveil.backend import Session
from tableveil.policy import Dominance, LeftBehind, Policy
from tableveil.verification.own_levels import chosen_labels, coded
from tableveil.verification.owners import digest_of, secret_of
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

    The latter has to hold for the readers of any of the earlier releases, too.
    """
    if not written.together_with:
        return []
    every = sorted(written.together_with)
    names = [f"class{i}" for i in range(len(every))]
    before = ", ".join(names)
    # Without records, a digest is a person's.
    owner = "owner" if policy.record_column else "0 AS owner"
    session.stage(
        "joint_people",
        f"SELECT {before}, now, {owner}, count(*) AS records FROM (SELECT "
        f"{classes_in([*every, written.release], [*names, 'now'])}, any_value(owner) AS owner FROM ({ROWS}) "
        f"WHERE release IN ({', '.join(map(str, [*every, written.release]))}) GROUP BY digest) GROUP BY ALL",
    )
    too_few = _too_few(policy)
    small: int = session.value(
        "SELECT count(*) FROM (SELECT now FROM joint_people WHERE now IS NOT NULL "
        f"GROUP BY {before}, now HAVING {too_few})"
    )
    problems = [f"{small} joint classes have fewer than {policy.k} people"] if small else []
    if policy.release.left_behind is LeftBehind.REQUIRE:
        few = _left_too_few(session, names, too_few)
        problems += [f"{few} combinations of earlier classes leave fewer than {policy.k} people behind"] if few else []
    session.execute("DROP TABLE joint_people")
    return problems


def _too_few(policy: Policy) -> str:
    """Whether rows of `joint_people`, of which each has the records of one owner, are of fewer than k people.

    Or whether one of these has more than the share of dominance. Without records, one row has all people.
    """
    most, people = ("max(records)", "count(*)") if policy.record_column else ("1", "sum(records)")
    too_few = f"{people} < {policy.k or 1}"
    for model in policy.privacy_models:
        if isinstance(model, Dominance):
            numerator, denominator = at_most(model.share)
            too_few += f" OR {most}::HUGEINT * {denominator} > sum(records) * {numerator}"
    return too_few


def _left_too_few(session: Session, names: list[str], too_few: str) -> int:
    """How many combinations of classes, of any of the releases, leave some but too few of their people behind.

    People who are too few, but all of a combination, may be a part of another one of fewer releases, with others who
    stay. While all classes that tell them from these are looked at, they are not: one of these is left out next.
    """
    tried, found = [names], 0
    for some in tried:
        labels = ", ".join(some)
        people = f"SELECT {labels}, owner, sum(records) AS records FROM joint_people"
        there = f"WHERE coalesce({labels}, NULL) IS NOT NULL AND now"
        leave = f"({people} {there} IS NULL GROUP BY {labels}, owner) GROUP BY {labels} HAVING {too_few}"
        if session.stage("who_leave", f"SELECT {labels} FROM {leave}"):
            session.stage("who_stay", f"SELECT DISTINCT {labels} FROM joint_people {there} IS NOT NULL")
            found = _who_stay(session, some)
            telling = [] if found else some
            for name in telling:
                others = [other for other in telling if other != name]
                telling = telling if _who_stay(session, others) else others
            smaller = ([other for other in some if other != name] for name in telling)
            tried += [others for others in smaller if others and others not in tried]
            session.execute("DROP TABLE who_stay")
        session.execute("DROP TABLE who_leave")
        if found:
            break
    return found


def _who_stay(session: Session, names: list[str]) -> int:
    """How many combinations of too few who leave are, by some of the classes, of others who stay."""
    same = " AND ".join(f"stay.{name} IS NOT DISTINCT FROM leave.{name}" for name in names) or "true"
    return int(session.value(f"SELECT count(*) FROM who_leave AS leave SEMI JOIN who_stay AS stay ON {same}"))


def classes_in(releases: Collection[int], names: Collection[str]) -> str:
    """Aggregates of the records of a digest in `ROWS`: its class in each of the releases, under one of the names."""
    pairs = zip(releases, names, strict=True)
    return ", ".join(f"max(class) FILTER (release = {int(release)}) AS {name}" for release, name in pairs)
