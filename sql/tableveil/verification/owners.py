"""Counts anew whose records are in each class, where people have several, by labels alone; and their keyed digests."""

import hashlib
import hmac
from collections.abc import Mapping

from tableveil.backend import Session
from tableveil.policy import DistinctLDiversity, Dominance, KAnonymity, Policy, ProbabilisticLDiversity
from tableveil.state.migrate import fingerprint_key
from tableveil.verification.clustered import clustered_records
from tableveil.verification.own_levels import chosen_labels, coded
from tableveil.verification.text import at_least, at_most, by_element, folded, quoted, spelled
from tableveil.verification.written import Written


def secret_of(session: Session, *, records: bool) -> str:
    """The secret that digests of records, or of persons, are keyed with."""
    return hmac.new(fingerprint_key(session.ledger), b"records" if records else b"persons", hashlib.sha256).hexdigest()


def digest_of(column: str, of: str, parameter: int) -> str:
    """The digest of a column of rows under the alias `of`; the secret is bound as the parameter of that number."""
    return f"('0x' || left(sha256(?{parameter} || {of}.{quoted(column)}::VARCHAR), 14))::UBIGINT"


def count_owners(session: Session, policy: Policy, written: Written, *, own_levels: bool) -> list[str]:
    """Makes the table of `owned_classes`, if there is none. With `own_levels`, those of `read_own_levels` exist."""
    if not written.person:
        return []
    person = {"person": f"p.{quoted(written.person)}"}
    stage_records(session, policy, "owners", person, written, own_levels=own_levels)
    # The owners are grouped by class and person: each person stands once in a class.
    session.stage(
        "owned",
        "SELECT class, size, coalesce(people, 0) AS people, coalesce(most, 0) AS most, coalesce(found, 0) AS found "
        "FROM judged_classes LEFT JOIN (SELECT class, count(*) AS people, max(records) AS most, sum(records) AS found "
        "FROM owners GROUP BY class) USING (class)",
    )
    session.execute("DROP TABLE temp.main.owners")
    different = session.value("SELECT count(*) FROM owned WHERE found <> size")
    return (
        [f"{different} classes have other numbers of records than the people have in the source"] if different else []
    )


def check_largest_share(session: Session, written: Written) -> list[str]:
    """Whether the highest risk that the owner reads is the largest share that one person has of a class.

    Suppressed records that are shown are one.
    """
    if written.largest_share is None:
        return []
    largest = session.value(f"SELECT coalesce(max(most / size), 0) FROM {written.owned_classes}")
    return [] if largest == written.largest_share else ["the highest risk is not the largest share of one person"]


def check_shares(session: Session, policy: Policy, written: Written, *, own_levels: bool) -> list[str]:
    """The models of diversity that do not hold of the people of some class, by the values that they have there."""
    problems = []
    types = dict(written.source_types)
    for model in policy.privacy_models if written.person else ():
        if not isinstance(model, DistinctLDiversity | ProbabilisticLDiversity):
            continue
        type_ = types[model.column]
        elements = next(each.listed_elements for each in policy.attributes if each.column == model.column)
        value = spelled(f"p.{quoted(model.column)}", type_)
        value = folded(value, type_) if elements is None else f"CAST({value} AS VARCHAR)"
        columns = {"person": f"p.{quoted(written.person)}", "value": value}
        stage_records(session, policy, "owned_values", columns, written, own_levels=own_levels)
        with_value = "FROM owned_values WHERE value IS NOT NULL"
        if elements is not None:
            listed = by_element("class, person", "value", "owned_values", elements)
            with_value = f"FROM ({listed}) AS listed(class, person, value)"
        failing = session.value(
            "SELECT count(*) FROM judged_classes "
            f"LEFT JOIN (SELECT class, count(DISTINCT person) AS people {with_value} GROUP BY class) USING (class) "
            "LEFT JOIN (SELECT class, max(having_it) AS most FROM ("
            f"SELECT class, value, count(*) AS having_it {with_value} GROUP BY class, value"
            f") GROUP BY class) USING (class) WHERE NOT coalesce({_holds(model)}, false)"
        )
        session.execute("DROP TABLE temp.main.owned_values")
        problems += [f"the people of {failing} classes are not of {model}"] if failing else []
    return problems


def check_units(session: Session, policy: Policy, written: Written, *, own_levels: bool) -> list[str]:
    """The classes of too few of the units that count beside people, or in which one of these has too many records.

    A record without a unit is one of its own; where people have several records, those of one person are.
    """
    problems = []
    types = dict(written.source_types)
    for name in policy.also_count:
        columns = {"unit": spelled(f"p.{quoted(name)}", types[name])}
        key = "unit IS NULL, unit"
        if written.person:
            columns["person"] = f"p.{quoted(written.person)}"
            key += ", CASE WHEN unit IS NULL THEN person END"
        stage_records(session, policy, "units", columns, written, own_levels=own_levels)
        # Each record without a unit counts, where nobody has several.
        alone = "FALSE" if written.person else "unit IS NULL"
        session.stage(
            "counted_units",
            "SELECT class, size, coalesce(units, 0) AS units, coalesce(most, 0) AS most FROM judged_classes LEFT JOIN ("
            f"SELECT class, sum(CASE WHEN {alone} THEN records ELSE 1 END)::BIGINT AS units, "
            f"max(CASE WHEN {alone} THEN 1 ELSE records END) AS most FROM ("
            f"SELECT class, unit, sum(records)::BIGINT AS records FROM units GROUP BY class, {key}"
            ") GROUP BY class) USING (class)",
        )
        for model in policy.privacy_models:
            wrong = ""
            if isinstance(model, KAnonymity):
                wrong = f"units < {model.k}"
            elif isinstance(model, Dominance):
                numerator, denominator = at_most(model.share)
                wrong = f"most::HUGEINT * {denominator} > size::HUGEINT * {numerator}"
            failing = session.value(f"SELECT count(*) FROM counted_units WHERE {wrong}") if wrong else 0
            problems += [f"{failing} classes are not of {model} by a column that also counts"] if failing else []
        session.execute("DROP TABLE temp.main.units")
        session.execute("DROP TABLE temp.main.counted_units")
    return problems


def _holds(model: DistinctLDiversity | ProbabilisticLDiversity) -> str:
    """The condition on the `people` who have a value, of whom at `most` so many have the same."""
    if isinstance(model, DistinctLDiversity):
        return f"people - most >= {model.l - 1}"
    numerator, denominator = at_least(model.l)
    return f"most::HUGEINT * {numerator} <= people::HUGEINT * {denominator}"


def stage_records(
    session: Session, policy: Policy, name: str, columns: Mapping[str, str], written: Written, *, own_levels: bool
) -> None:
    """Makes the table of the `records` in each `class` by some columns of the source's rows `p`.

    Suppressed records that are shown are one class: all that no other class has. Clusters show none.
    """
    shown = ", ".join(f"{expression} AS {column}" for column, expression in columns.items())
    if written.people:
        records, class_ = clustered_records(policy, written)
        query = f"SELECT p.{class_} AS class, {shown}, count(*) AS records FROM {records} AS p GROUP BY ALL"
        session.stage(name, query)
        return
    if own_levels:
        session.stage(name, _at_own_levels(session, shown, tuple(columns), written))
    else:
        session.stage(name, *_at_levels(session, shown, tuple(columns), written))
    same = " AND ".join(f"a.{column} IS NOT DISTINCT FROM r.{column}" for column in columns)
    session.execute(
        f"INSERT INTO {name} SELECT class, {', '.join(f'a.{column}' for column in columns)}, "
        f"a.records - coalesce(r.records, 0) FROM (SELECT {shown}, count(*) AS records FROM {written.source_rows} AS p "
        f"GROUP BY ALL) AS a LEFT JOIN (SELECT {', '.join(columns)}, sum(records)::BIGINT AS records FROM {name} "
        f"GROUP BY ALL) AS r ON {same} CROSS JOIN (SELECT class FROM judged_classes WHERE pool) "
        "WHERE a.records > coalesce(r.records, 0)"
    )


def _at_levels(session: Session, shown: str, columns: tuple[str, ...], written: Written) -> tuple[str, list[str | int]]:
    """The records in each class, found by the labels of all of the source's records, with parameters.

    Judged together with earlier releases, some records with the labels of a class may be suppressed: the ledger says
    which.
    """
    labels, joins, condition = written.released_labels("p")
    parameters: list[str | int] = []
    if written.together_with:
        parameters = [secret_of(session, records=True), written.release]
        same_person = f"k.release = ?2 AND k.class > 0 AND k.digest = {digest_of(written.record, 'p', 1)}"
        joins += f" JOIN tableveil.release_persons AS k ON {same_person}"
    same = " AND ".join(f"c.q{j} IS NOT DISTINCT FROM o.q{j}" for j in range(len(labels)))
    # Records are grouped by the number of their class: by the labels it would take three times as long.
    query = (
        f"SELECT c.class, {', '.join(f'o.{column}' for column in columns)}, count(*) AS records FROM ("
        f"SELECT {', '.join(labels)}, {shown} FROM {written.source_rows} AS p {joins} WHERE {condition}"
        f") AS o JOIN judged_classes AS c ON {same} WHERE NOT c.pool GROUP BY ALL"
    )
    return query, parameters


def _at_own_levels(session: Session, shown: str, columns: tuple[str, ...], written: Written) -> str:
    """The records in each class, found by the levels that were chosen for combinations of values."""
    session.execute("DROP TABLE IF EXISTS temp.main.owned_combinations")
    session.stage("owned_combinations", coded(written.source_rows, written, shown))
    ids = ", ".join(f"i{i}" for i in range(len(written.labels)))
    chosen = chosen_labels(written, "owned_combinations", f"{', '.join(f'k.{column}' for column in columns)}, k.n")
    return (
        f"SELECT s.class, {', '.join(f'o.{column}' for column in columns)}, sum(o.n)::BIGINT AS records "
        f"FROM ({chosen}) AS o JOIN said AS s USING ({ids}) GROUP BY ALL"
    )
