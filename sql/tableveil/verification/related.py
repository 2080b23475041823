"""Checks people who are released with their events: their keys, that rows are the source's, and how many are removed.

Classes and labels are compared by hashes of their columns. Days since an anchor are computed anew from the source.
"""

from collections.abc import Sequence
from dataclasses import replace

from tableveil.backend import Session
from tableveil.policy import Anchor, EventTable, Policy, RelatedTables, Role
from tableveil.verification.known_facts import check_known_facts, dated_labels, label_hash
from tableveil.verification.known_rows import check_known_rows
from tableveil.verification.labels import check_label_columns
from tableveil.verification.text import quoted, spelled
from tableveil.verification.written import Judged, Written, WrittenEvents

_STAGED = ("people", "rows", "source_people", "source_days", "source_rows", "facts")


def check_related(judged: Judged) -> list[str]:
    """Faults of a release of people and their events, beside those of the people's table alone."""
    session, written, related = judged.session.embedded, judged.written, judged.policy.related
    assert related is not None, "the events are those of related tables"
    problems = _check_columns(session, related, written, _key(judged.policy))
    if not problems:
        _stage_written(session, judged)
        problems = _check_keys(session, judged)
    if not problems:
        _stage_source(session, judged)
        orphans, removed = _removed(session, judged.policy, written)
        problems = [
            *_check_limits(session, related, orphans, removed),
            *_check_content(session),
            *(fault for events in written.events for fault in _check_label_columns(judged, events)),
            *check_known_facts(session, judged.policy, written),
            *check_known_rows(session, judged.policy, judged.source_records, written, removed),
        ]
    for name in _STAGED:
        session.execute(f"DROP TABLE IF EXISTS temp.main.related_{name}")
    return problems


def _event(related: RelatedTables, events: WrittenEvents) -> EventTable:
    return next(event for event in related.events if event.name == events.name)


def _check_columns(session: Session, related: RelatedTables, written: Written, key: str) -> list[str]:
    problems = []
    if [event.name for event in related.events] != [events.name for events in written.events]:
        problems.append("other tables of events were written than the policy has")
    for events in written.events:
        # The fresh key may have the name of the source's one.
        released = {name for name, _ in events.types} - {key}
        if tuple(session.described(f"SELECT * FROM {quoted(*events.rows)}")) != events.types:
            problems.append("a table of events has other columns than expected")
        if any(a.role is Role.IDENTIFYING and a.column in released for a in _event(related, events).attributes):
            problems.append("a table of events has an identifying column")
    return problems


# --- the written tables ---------------------------------------------------------------------------------------------


def _hash(*values: str) -> str:
    """One number for several values; without any it is that of nothing."""
    return f"hash({', '.join([*values, '0'])})"


def _others(types: Sequence[tuple[str, str]], *but: str) -> list[tuple[str, str]]:
    """The columns that are released as they are: neither labels nor the key, nor columns beside labels."""
    return [(name, type_) for name, type_ in types if name not in but]


def _kept_columns(judged: Judged) -> list[tuple[str, str]]:
    return _others(judged.written.types, _key(judged.policy), *judged.quasi_identifiers, *judged.written.added)


def _kept_event_columns(policy: Policy, events: WrittenEvents) -> list[tuple[str, str]]:
    beside = [name for of in events.companions for name in (of.low, of.high, of.rank)]
    return _others(events.types, _key(policy), *(labels.column for labels in events.labels), *beside)


def _key(policy: Policy) -> str:
    assert policy.person_column, "the people of related tables have a key"
    return policy.person_column


def _stage_written(session: Session, judged: Judged) -> None:
    """Makes `related_people` with their `class`, and `related_rows` of all tables, without a class if nobody has them.

    A `person` is the hash of a key. The `content` of a row is the hash of what is released as it is, a `place` its
    number in the table.
    """
    written, key = judged.written, quoted(_key(judged.policy))
    class_ = _hash(*map(quoted, judged.quasi_identifiers))
    content = _hash(*(quoted(name) for name, _ in _kept_columns(judged)))
    session.stage(
        "related_people",
        f"SELECT row_number() OVER () - 1 AS place, hash({key}) AS person, {class_} AS class, {content} AS content, "
        f"{key}::VARCHAR AS key FROM {quoted(*written.rows)}",
    )
    each = []
    for nr, events in enumerate(written.events):
        label = label_hash(nr, (f"e.{quoted(labels.column)}" for labels in events.labels))
        content = _hash(*(f"e.{quoted(name)}" for name, _ in _kept_event_columns(judged.policy, events)))
        each.append(
            f"SELECT {nr}::TINYINT AS nr, e.rowid AS place, hash(e.{key}) AS person, {label} AS label, "
            f"{content} AS content FROM {quoted(*events.rows)} AS e"
        )
    session.stage(
        "related_rows",
        f"SELECT r.*, p.class FROM ({' UNION ALL '.join(each)}) AS r "
        "LEFT JOIN related_people AS p ON r.person = p.person",
    )
    session.stage(
        "related_facts",
        "SELECT person, class, label, count(*)::INTEGER AS rows FROM related_rows WHERE class IS NOT NULL "
        "GROUP BY person, class, label",
    )


def _check_keys(session: Session, judged: Judged) -> list[str]:
    written, key = judged.written, quoted(_key(judged.policy))
    repeated, known = session.row(
        "SELECT count(*) - count(DISTINCT key), count(*) FILTER (lower(replace(key, '-', '')) IN "
        f"(SELECT unnest([lower(replace(k, '-', '')), md5(k), left(sha256(k), 32)]) "
        f"FROM (SELECT {key}::VARCHAR AS k FROM {written.source_rows}))) FROM related_people"
    )
    orphans = session.value("SELECT count(*) FILTER (class IS NULL) FROM related_rows")
    return [
        *([f"{repeated} of the released people do not have a key of their own"] if repeated else []),
        *([f"{known} of the released keys are keys of the source, or follow from them"] if known else []),
        *([f"{orphans} rows of events are of no released person"] if orphans else []),
    ]


def _check_label_columns(judged: Judged, events: WrittenEvents) -> list[str]:
    """The columns beside the labels of events, as those of a table of its own."""
    related = judged.policy.related
    assert related is not None
    columns = replace(judged.written.class_columns, id="")
    alone = replace(
        judged.written,
        rows=events.rows,
        types=events.types,
        source_types=events.source_types,
        labels=events.labels,
        companions=events.companions,
        explained=events.explained,
        class_columns=columns,
    )
    policy = replace(judged.policy, attributes=_event(related, events).attributes)
    return check_label_columns(judged.session, policy, "", alone)


# --- the source -----------------------------------------------------------------------------------------------------


def _stage_source(session: Session, judged: Judged) -> None:
    """Makes `related_source_people` and `related_source_rows`, with the hashes that they would have if released.

    The latter leaves orphans out. A `person` is the number of a row here.
    """
    written = judged.written
    labels, joins, condition = written.released_labels("s")
    columns = [each.column for each in written.labels]
    names = [f"q{columns.index(name)}" for name in judged.quasi_identifiers]
    content = _hash(*(_as_written(f"s.{quoted(name)}", type_, type_) for name, type_ in _kept_columns(judged)))
    anchor = _people_anchor(judged.policy)
    session.stage(
        "related_source_people",
        f"SELECT row_number() OVER () AS person, {_hash(*names)} AS class, content, key, anchor FROM ("
        f"SELECT {', '.join(labels)}, {content} AS content, s.{quoted(_key(judged.policy))} AS key, "
        f"{anchor} AS anchor FROM {written.source_rows} AS s {joins} WHERE {condition})",
    )
    days = _stage_days(session, judged.policy, written)
    each = [_source_rows(judged.policy, nr, events, days) for nr, events in enumerate(written.events)]
    session.stage("related_source_rows", " UNION ALL ".join(each))


def _as_written(value: str, source_type: str, type_: str) -> str:
    return f"CAST({spelled(value, source_type)} AS {type_})"


def _day(time: str) -> str:
    """The day of a date or timestamp, NULL for an infinite one."""
    return f"CASE WHEN isfinite({time}) THEN CAST({time} AS DATE) END"


def _people_anchor(policy: Policy) -> str:
    time = policy.related.relative_time if policy.related else None
    return _day(f"s.{quoted(time.column)}") if time and time.anchor is Anchor.COLUMN else "NULL::DATE"


def _stage_days(session: Session, policy: Policy, written: Written) -> list[list[str]]:
    """Makes `related_source_days` with the anchor of each person, or of each day of a person.

    It returns per table the dates that become days since it, in policy order.
    """
    related = policy.related
    time = related.relative_time if related else None
    if related is None or time is None:
        return [[] for _ in written.events]
    dates = [[labels.column for labels in dated_labels(session, events)] for events in written.events]
    if time.anchor is Anchor.COLUMN:
        return dates
    days = " UNION ALL ".join(
        f"SELECT p.person, {_day(f'e.{quoted(columns[0])}')} AS day FROM {quoted(*events.source)} AS e "
        f"JOIN related_source_people AS p ON e.{quoted(_event(related, events).person)} = p.key"
        for columns, events in zip(dates, written.events, strict=True)
        if columns
    )
    if time.anchor is Anchor.FIRST_EVENT:
        session.stage("related_source_days", f"SELECT person, min(day) AS anchor FROM ({days}) GROUP BY person")
    else:
        session.stage(
            "related_source_days",
            "SELECT person, day, lag(day) OVER (PARTITION BY person ORDER BY day) AS anchor "
            f"FROM (SELECT DISTINCT person, day FROM ({days}) WHERE day IS NOT NULL)",
        )
    return dates


def _source_rows(policy: Policy, nr: int, events: WrittenEvents, days: list[list[str]]) -> str:
    """The source's rows of a table with the class of their person, and their label at the released levels."""
    related = policy.related
    assert related is not None
    of_person = f"e.{quoted(_event(related, events).person)} = p.key"
    joins, anchor = [f"JOIN related_source_people AS p ON {of_person}"], "p.anchor"
    if days[nr] and related.relative_time and related.relative_time.anchor is not Anchor.COLUMN:
        same = "a.person = p.person"
        if related.relative_time.anchor is Anchor.PREVIOUS_EVENT:
            same += f" AND a.day = {_day(f'e.{quoted(days[nr][0])}')}"
        joins.append(f"LEFT JOIN related_source_days AS a ON {same}")
        anchor = "a.anchor"
    types, source_types, names = dict(events.types), dict(events.source_types), []
    for j, labels in enumerate(events.labels):
        value = f"e.{quoted(labels.column)}"
        if labels.column in days[nr]:
            value = f"({_day(value)} - {anchor})"
        value = f"CAST({value} AS {source_types[labels.column]})"
        if labels.level:
            own, label = quoted(labels.columns[0]), quoted(labels.columns[labels.level])
            joins.append(f"LEFT JOIN {quoted(labels.table)} AS d{j} ON d{j}.{own} IS NOT DISTINCT FROM {value}")
            names.append(f"d{j}.{label}")
        else:
            names.append(_as_written(value, source_types[labels.column], types[labels.column]))
    content = [
        _as_written(f"e.{quoted(name)}", source_types[name], type_)
        for name, type_ in _kept_event_columns(policy, events)
    ]
    return (
        f"SELECT {nr}::TINYINT AS nr, p.person, p.class, {label_hash(nr, names)} AS label, "
        f"{_hash(*content)} AS content FROM {quoted(*events.source)} AS e {' '.join(joins)}"
    )


def _removed(session: Session, policy: Policy, written: Written) -> tuple[int, list[tuple[int, int]]]:
    """How many orphans are dropped, though the policy refuses them; and per table, of how many rows how many are gone.

    The rows are those of people of the people's table, suppressed ones among them.
    """
    related = policy.related
    assert related is not None
    counts = dict(session.rows("SELECT nr, count(*) FROM related_source_rows GROUP BY nr"))
    released = dict(session.rows("SELECT nr, count(*) FROM related_rows GROUP BY nr"))
    refused = [events.source for events in written.events if _event(related, events).orphans == "REFUSE"]
    of_source = " + ".join(f"(SELECT count(*) FROM {quoted(*source)})" for source in refused)
    owned = sum(
        counts.get(nr, 0) for nr, events in enumerate(written.events) if _event(related, events).orphans == "REFUSE"
    )
    orphans = session.value(f"SELECT {of_source}") - owned if refused else 0
    return orphans, [(counts.get(nr, 0), counts.get(nr, 0) - released.get(nr, 0)) for nr in range(len(written.events))]


# --- what both say --------------------------------------------------------------------------------------------------


def _check_limits(
    session: Session, related: RelatedTables, orphans: int, removed: Sequence[tuple[int, int]]
) -> list[str]:
    rows, gone = (sum(numbers) for numbers in zip(*removed, strict=True))
    problems = [f"{orphans} rows of events are of nobody in the people's table"] if orphans else []
    if gone > related.removable(rows):
        problems.append(f"{gone} of {rows} rows of events are removed, more than the limit")
    if related.most_rows_of_a_person is not None:
        most = session.value("SELECT max(n) FROM (SELECT sum(rows) AS n FROM related_facts GROUP BY person)") or 0
        if most > related.most_rows_of_a_person:
            problems.append(f"a person has {most} rows of events, more than {related.most_rows_of_a_person}")
    return problems


def _check_content(session: Session) -> list[str]:
    """Whether each class has at most as many people and rows of each content as the source at these levels."""
    people = session.value(_more("people", "class", "content"))
    rows = session.value(_more("rows", "class", "label", "content"))
    return [
        *([f"{people} kinds of people were released oftener than the source has them"] if people else []),
        *([f"{rows} kinds of rows of events were released oftener than the source has them"] if rows else []),
    ]


def _more(name: str, *by: str) -> str:
    """A query for how many groups of written rows have more rows or people than those of the source."""
    columns = ", ".join(by)
    counted = f"SELECT {columns}, count(*) AS rows, count(DISTINCT person) AS people FROM"
    return (
        f"SELECT count(*) FROM ({counted} related_{name} GROUP BY {columns}) AS w "
        f"LEFT JOIN ({counted} related_source_{name} GROUP BY {columns}) AS s USING ({columns}) "
        "WHERE s.rows IS NULL OR w.rows > s.rows OR w.people > s.people"
    )
