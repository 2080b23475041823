"""Checks what known rows of events tell: whom any set of facts leaves, whose first row is missing, and their values.

A fact says that a person has at least so many rows with a label. Each set of up to m facts is counted by self-joins.
"""

from collections.abc import Iterable, Iterator

from tableveil.backend import Session
from tableveil.hierarchy import ValueKind
from tableveil.policy import Anchor, AttributePolicy, KAnonymity, KnownFacts, Policy, SensitiveShare
from tableveil.verification.labels import bounds_of
from tableveil.verification.text import at_least, folded, quoted
from tableveil.verification.written import CompanionColumns, Labels, Written, WrittenEvents


def check_known_facts(session: Session, policy: Policy, written: Written) -> list[str]:
    """Faults of the models of known facts, and of rows at the anchor; it needs the tables of `check_related`."""
    k = max((model.k for model in policy.privacy_models if isinstance(model, KAnonymity)), default=1)
    problems: list[str] = []
    for model in policy.privacy_models:
        if isinstance(model, KnownFacts):
            few = session.value(_few(_sets(model.m), k))
            problems += [f"{few} sets of up to {model.m} known facts leave fewer than {k} people"] if few else []
            problems += _check_anchor(session, policy, written, k, model.m)
    m = max((model.m for model in policy.privacy_models if isinstance(model, KnownFacts)), default=0)
    for model in policy.privacy_models:
        if isinstance(model, SensitiveShare):
            above = _check_share(session, policy, written, model, m)
            problems += [f"{above} values are too frequent among the people whom known facts leave"] if above else []
    return problems


def label_hash(nr: int, labels: Iterable[str]) -> str:
    """The number of a row's label in the table of that number, in SQL."""
    return f"hash({', '.join([str(nr), *labels])})"


def _sets(m: int, facts: str = "related_facts") -> str:
    """The sets of up to `m` facts that each person has, as labels `a` and `b` of a `class`; 0 is no fact.

    "At least two rows of a label" is two facts.
    """
    sets = ["SELECT person, class, 0::UBIGINT AS a, 0::UBIGINT AS b FROM related_people"]
    if m >= 1:
        sets.append(f"SELECT person, class, label, 0 FROM {facts}")
    if m >= 2:
        sets.append(f"SELECT person, class, label, label FROM {facts} WHERE rows >= 2")
        sets.append(
            f"SELECT x.person, x.class, x.label, y.label FROM {facts} AS x "
            f"JOIN {facts} AS y ON x.person = y.person AND x.label < y.label"
        )
    return f"({' UNION ALL '.join(sets)})"


def _few(sets: str, k: int, only: str = "") -> str:
    """A query for how many sets, of the people in the table `only` if there is one, have 1 to k - 1 people."""
    semi = f" SEMI JOIN {only} USING (person)" if only else ""
    return f"SELECT count(*) FROM (SELECT 1 FROM {sets}{semi} GROUP BY class, a, b HAVING count(*) < {k})"


# --- the anchor -----------------------------------------------------------------------------------------------------


def _check_anchor(session: Session, policy: Policy, written: Written, k: int, m: int) -> list[str]:
    """Whether people who have rows, but none at the anchor, are none or many, to somebody who knows m - 1 facts too."""
    time = policy.related.relative_time if policy.related else None
    if time is None or time.anchor is Anchor.COLUMN:
        return []
    at_anchor = " UNION ALL ".join(_at_anchor(session, policy, written, time.anchor))
    session.stage("related_lost", f"SELECT person FROM ({at_anchor}) GROUP BY person HAVING NOT bool_or(there)")
    few = session.value(_few(_sets(m - 1), k, "related_lost"))
    session.execute("DROP TABLE temp.main.related_lost")
    return [f"{few} sets of known facts leave fewer than {k} people whose row at the anchor is missing"] if few else []


def _at_anchor(session: Session, policy: Policy, written: Written, anchor: Anchor) -> Iterator[str]:
    """Per table with days a query for each row's person and whether the row is, by its label, `there`."""
    assert policy.related is not None
    key = quoted(policy.person_column or "")
    for event, events in zip(policy.related.events, written.events, strict=True):
        dated = dated_labels(session, events)
        if dated:
            attribute = next(each for each in event.attributes if each.column == dated[0].column)
            yield (
                f"SELECT hash(key) AS person, {_is_there(attribute, dated[0], anchor)} AS there FROM (SELECT "
                f"{key} AS key, {quoted(dated[0].column)}::VARCHAR AS label "
                f"FROM {quoted(*events.rows)})"
            )


def dated_labels(session: Session, events: WrittenEvents) -> list[Labels]:
    """The labels of the source's dates, in policy order: with relative time these are days since an anchor."""
    types = dict(session.described(f"SELECT * FROM {quoted(*events.source)}"))
    return [labels for labels in events.labels if types[labels.column].startswith(("DATE", "TIMESTAMP"))]


def _is_there(attribute: AttributePolicy, labels: Labels, anchor: Anchor) -> str:
    """Whether `label` may be that of the anchor's row: it has day 0, or it is that of no day."""
    if labels.level == labels.top:
        return "TRUE"
    if anchor is Anchor.PREVIOUS_EVENT:
        return "label IS NULL"
    low, high = bounds_of(attribute, CompanionColumns(labels.column, "", "", "", ValueKind.INTEGER, "BIGINT"))
    return f"(label IS NOT NULL AND coalesce({low} <= 0, TRUE) AND coalesce({high} >= 0, TRUE))"


# --- sensitive values -----------------------------------------------------------------------------------------------


def _check_share(session: Session, policy: Policy, written: Written, model: SensitiveShare, m: int) -> int:
    """How often a value is that of too many of the people of a class whom some set of facts leaves."""
    events = next((events for events in written.events if events.name == model.table), None)
    rows, types = (written.rows, written.types) if events is None else (events.rows, events.types)
    person, type_ = f"hash({quoted(policy.person_column or '')})", dict(types)[model.column]
    value = folded(quoted(model.column), type_)
    label, of_known_rows = "", ""
    if events is not None and not model.values:
        nr = written.events.index(events)
        label = f", {label_hash(nr, (quoted(labels.column) for labels in events.labels))} AS label"
        of_known_rows = "WHERE label IN (a, b)"
    # A name is a value of the column's type: "1" is the DOUBLE 1.0.
    listed = f"IN (SELECT {folded(f'TRY_CAST(v AS {type_})', type_)} FROM unnest(?::VARCHAR[]) AS named(v))"
    session.stage(
        "related_having",
        f"SELECT DISTINCT {person} AS person, {value} AS value{label} FROM {quoted(*rows)} "
        f"WHERE {value} {listed if model.values else 'IS NOT NULL'}",
        [list(model.values)] if model.values else [],
    )
    numerator, denominator = at_least(model.l)
    sets = _sets(m)
    joined = f"{sets} JOIN related_having USING (person) {of_known_rows}"
    above: int = session.value(
        f"SELECT count(*) FROM (SELECT class, a, b, count(*) AS people FROM {sets} GROUP BY ALL) "
        f"JOIN (SELECT class, a, b, value, count(*) AS found FROM "
        f"(SELECT DISTINCT person, class, a, b, value FROM {joined}) GROUP BY ALL) USING (class, a, b) "
        f"WHERE found::HUGEINT * {numerator} > people::HUGEINT * {denominator}"
    )
    session.execute("DROP TABLE temp.main.related_having")
    return above
