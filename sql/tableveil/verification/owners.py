"""Counts anew whose records are in each class, where people have several: from the source, by its labels alone."""

from __future__ import annotations

from tableveil.backend import Session
from tableveil.verification.digests import digest_of, secret_of
from tableveil.verification.own_levels import chosen_labels, coded
from tableveil.verification.text import quoted
from tableveil.verification.written import Written


def count_owners(session: Session, written: Written, *, own_levels: bool) -> list[str]:
    """Makes the table `owned`: per class of `judged_classes` its `size`, its `people`, and the `most` records of one.

    Without repeating people every record is another person. With `own_levels`, the tables of `read_own_levels` exist.
    """
    if not written.person:
        session.stage("owned", "SELECT class, size, size AS people, 1 AS most FROM judged_classes")
        return []
    if own_levels:
        session.stage("owners", _owners_of_own_levels(session, written))
    else:
        session.stage("owners", *_owners(session, written))
    # Suppressed records that are shown are one class: all that no other class has.
    session.execute(
        "INSERT INTO owners SELECT class, person, records - coalesce(released, 0) FROM "
        f"(SELECT {quoted(written.person)} AS person, count(*) AS records FROM {written.source_rows} GROUP BY person) "
        "LEFT JOIN (SELECT person, sum(records)::BIGINT AS released FROM owners GROUP BY person) USING (person) "
        "CROSS JOIN (SELECT class FROM judged_classes WHERE pool) WHERE records > coalesce(released, 0)"
    )
    session.stage(
        "owned",
        "SELECT class, size, count(DISTINCT person) AS people, coalesce(max(records), 0) AS most, "
        "coalesce(sum(records), 0) AS found FROM judged_classes LEFT JOIN owners USING (class) GROUP BY class, size",
    )
    session.execute("DROP TABLE temp.main.owners")
    different = session.value("SELECT count(*) FROM owned WHERE found <> size")
    return (
        [f"{different} classes have other numbers of records than the people have in the source"] if different else []
    )


def _owners(session: Session, written: Written) -> tuple[str, list[str | int]]:
    """The records of each person in each class, found by the labels of all of the source's records, with parameters.

    Judged together with earlier releases, some records with the labels of a class may be suppressed: the ledger says
    which.
    """
    labels, joins, condition = written.released_labels("p")
    parameters: list[str | int] = []
    if written.together_with:
        parameters = [secret_of(session, records=True), written.release]
        same = f"k.release = ?2 AND k.class > 0 AND k.digest = {digest_of(written.record, 'p', 1)}"
        joins += f" JOIN tableveil.release_persons AS k ON {same}"
    same = " AND ".join(f"c.q{j} IS NOT DISTINCT FROM o.q{j}" for j in range(len(labels)))
    query = (
        f"SELECT c.class, o.person, o.records FROM (SELECT {', '.join(labels)}, p.{quoted(written.person)} AS person, "
        f"count(*) AS records FROM {written.source_rows} AS p {joins} WHERE {condition} GROUP BY ALL) AS o "
        f"JOIN judged_classes AS c ON {same} WHERE NOT c.pool"
    )
    return query, parameters


def _owners_of_own_levels(session: Session, written: Written) -> str:
    """The records of each person in each class, found by the levels that were chosen for combinations of values."""
    session.stage("owned_combinations", coded(written.source_rows, written, f"p.{quoted(written.person)} AS person"))
    ids = ", ".join(f"i{i}" for i in range(len(written.labels)))
    chosen = chosen_labels(written, "owned_combinations", "k.person, k.n")
    return (
        f"SELECT s.class, o.person, sum(o.n)::BIGINT AS records FROM ({chosen}) AS o JOIN said AS s USING ({ids}) "
        "GROUP BY ALL"
    )
