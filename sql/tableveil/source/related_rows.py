"""Facts about the rows of people and their events that refuse them: whose they are, and what they would tell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tableveil.backend import Session, identifier, render
from tableveil.errors import Fault, Warned, note, shortened
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.policy import (
    AttributePolicy,
    EventTable,
    NullHandling,
    Orphans,
    Policy,
    RelatedTables,
    RelativeTime,
    Role,
)
from tableveil.source.model import Column, Source

KEY = 10
"""From so many different values on, or people, a share of them says something."""

OF_ONE_PERSON = 0.5
"""A sensitive column is refused if only one person has the value of so many rows, or so many people are alone by it."""

CONSTANT = 0.99
"""A column of events is one of people if it is constant for this share of those who have several rows."""

NO_CHANCE = 0.9
"""Rows of one person agree by chance about as often as any two rows. Above this share, it says nothing of people."""

TELLS_DATES = 0.9
"""A column gives dates away if for this share of the rows its value tells the year or the month of the day."""

ENOUGH_ROWS = 5
"""A value with so many rows has some of one year by more than chance."""

_MOST_DAYS = 2**31 - 1
_YEARS = (1900, 2100)
"""Whole numbers outside are no years of events."""
_PARTS = ("year", "quarter")
_DATES = (ValueKind.DATE, ValueKind.TIMESTAMP)
_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT)
_RELEASED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE)

_SINGLES_OUT = "values that single nobody out, nor do all those of a person"
_GENERALIZE = "Make it a QUASI_IDENTIFIER, whose labels several people have, or IDENTIFYING."


@dataclass(frozen=True, slots=True)
class _Column:
    """A released column: the paths of its entry in the policy and of its role, and its name in SQL."""

    attribute: AttributePolicy
    kind: ValueKind
    field: str
    role_field: str

    @property
    def sql(self) -> str:
        return _name(self.attribute.column)

    @property
    def shown(self) -> str:
        return shortened(self.attribute.column)

    @property
    def is_sensitive(self) -> bool:
        return self.attribute.role is Role.SENSITIVE

    @property
    def is_day(self) -> bool:
        return self.kind in _DATES


@dataclass(frozen=True, slots=True)
class _Rows:
    """A table of people or of their events, with its released columns; `rows` and `person` are SQL."""

    rows: str
    person: str
    shown: str
    columns: tuple[_Column, ...]

    @property
    def sensitive(self) -> list[_Column]:
        """The columns whose values are released as they are."""
        return [each for each in self.columns if each.is_sensitive]


def check_related_rows(
    session: Session, source: Source, events: Sequence[Source], policy: Policy, related: RelatedTables
) -> tuple[list[Fault], list[Warned]]:
    """All faults of the rows of people and of their `events`, and notes for the owner; neither has a value."""
    people = _people(source, policy)
    tables = [_events(event, rows) for event, rows in zip(related.events, events, strict=True)]
    faults, notes = list[Fault](), list[Warned]()
    for i, (event, rows) in enumerate(zip(related.events, tables, strict=True)):
        orphans = _orphans(session, people, rows)
        if orphans and event.orphans is Orphans.REFUSE:
            faults.append(_refused_orphans(f"tables.events[{i}].orphans", orphans, rows, people))
        elif orphans:
            left = f"Rows of {rows.shown} whose person is not in {people.shown} are left out: {orphans:,}."
            notes.append(note(left, orphans, f"tables.events[{i}].orphans"))
        if same := [j for j, other in enumerate(tables[:i]) if other.rows == rows.rows]:
            hint = "A reader who knows one of its rows would know two facts: release its columns as one table."
            actual = f"{rows.shown}, the table of events[{same[0]}], too"
            faults.append(Fault(f"tables.events[{i}].table", actual, "another table", hint))
        faults += _check_by_person(session, rows)
    faults += _check_singling(session, people, tables)
    if related.relative_time is not None:
        faults += _check_anchor(source, related.relative_time)
        faults += _check_days(people, tables)
        days, *years = _span(session, people, tables, source, related.relative_time)
        faults += _check_span(days)
        for rows in tables:
            faults += _check_told(session, rows)
            faults += _check_years(session, rows, *years)
    return faults, notes


def _people(source: Source, policy: Policy) -> _Rows:
    kinds = {each.name: each.kind for each in source.columns}
    columns = tuple(
        _Column(attribute, kinds[attribute.column], f"attributes[{i}]", policy.role_field(i))
        for i, attribute in enumerate(policy.attributes)
        if attribute.role in _RELEASED
    )
    return _Rows(_from(source), _name(policy.person_column or ""), source.shown, columns)


def _events(event: EventTable, source: Source) -> _Rows:
    kinds = {each.name: each.kind for each in source.columns}
    columns = tuple(
        _Column(attribute, kinds[attribute.column], event.field(j), event.role_field(j))
        for j, attribute in enumerate(event.attributes)
        if attribute.role in _RELEASED
    )
    return _Rows(_from(source), _name(event.person), source.shown, columns)


# --- whose a row is -------------------------------------------------------------------------------------------------


def _orphans(session: Session, people: _Rows, events: _Rows) -> int:
    orphans: int = session.value(
        f"SELECT count(*) FROM {events.rows} AS e ANTI JOIN {people.rows} AS p ON e.{events.person} = p.{people.person}"
    )
    return orphans


def _refused_orphans(field: str, orphans: int, events: _Rows, people: _Rows) -> Fault:
    actual = f"rows of {events.shown} whose person is not in {people.shown}: {orphans:,}"
    return Fault(field, actual, "none, because orphans is REFUSE", "DROP leaves these rows out, and counts them.")


def _check_by_person(session: Session, events: _Rows) -> Iterator[Fault]:
    """The faults of forbidden NULLs, and of columns that are constant per person, which tell of people."""
    columns = events.columns
    if not columns:
        return
    per_person = ", ".join(
        f"count({each.sql}) AS n{j}, min(hash({each.sql})) FILTER ({each.sql} IS NOT NULL) = "
        f"max(hash({each.sql})) FILTER ({each.sql} IS NOT NULL) AS same{j}"
        for j, each in enumerate(columns)
    )
    counted = ", ".join(
        f"count(*) FILTER (n{j} > 1), count(*) FILTER (n{j} > 1 AND same{j}), sum(rows_ - n{j})::BIGINT"
        for j, _ in enumerate(columns)
    )
    facts = session.row(
        f"SELECT {counted} FROM (SELECT count(*) AS rows_, {per_person} FROM {events.rows} GROUP BY {events.person})"
    )
    for j, each in enumerate(columns):
        with_several, constant, nulls = (value or 0 for value in facts[3 * j : 3 * j + 3])
        if nulls and each.attribute.nulls is NullHandling.ERROR:
            actual = f"{nulls:,} NULLs in {each.shown}"
            yield Fault(f"{each.field}.nulls", actual, "none, because nulls is ERROR", "Use VALUE to allow them.")
        if with_several < KEY or constant < CONSTANT * with_several or _agreement(session, events, each) > NO_CHANCE:
            continue
        actual = f"{each.shown}, which is the same in all rows of {constant:,} of {with_several:,} people with several"
        hint = f"It tells of people: make it a column of the people's table, and IDENTIFYING in {events.shown}."
        yield Fault(f"{each.field}.column", actual, "a column that tells of events", hint)


def _agreement(session: Session, events: _Rows, of: _Column) -> float:
    """How likely two rows agree that were drawn at random."""
    share = session.value(
        f"SELECT sum((n / total) ** 2) FROM (SELECT count(*) AS n, sum(count(*)) OVER () AS total FROM {events.rows} "
        f"WHERE {of.sql} IS NOT NULL GROUP BY hash({of.sql}))"
    )
    return float(share or 1)


# --- values that single people out ----------------------------------------------------------------------------------


def _check_singling(session: Session, people: _Rows, tables: Sequence[_Rows]) -> Iterator[Fault]:
    """The faults of sensitive columns whose values single people out: in a row, in all their rows, or all together."""
    refused = False
    for rows in tables:
        for one in rows.sensitive:
            if actual := _of_one_person(session, rows, one) or _alone(session, [(rows, [one])]):
                refused = True
                yield Fault(one.role_field, f"SENSITIVE for {one.shown}: {actual}", _SINGLES_OUT, _GENERALIZE)
    every = [(rows, rows.sensitive) for rows in (people, *tables) if rows.sensitive]
    names = [each.shown for _, columns in every for each in columns]
    if not refused and len(names) > 1 and (actual := _alone(session, every)):
        yield Fault("attributes", f"SENSITIVE for {', '.join(names)}: {actual}", _SINGLES_OUT, _GENERALIZE)


def _of_one_person(session: Session, events: _Rows, of: _Column) -> str:
    """The rows with a value that only one person has, if they are many: the column numbers rows or stays."""
    distinct, alone, present = session.row(
        f"SELECT count(*), sum(n) FILTER (first = last), sum(n) FROM (SELECT count(*) AS n, "
        f"min({events.person}) AS first, max({events.person}) AS last FROM {events.rows} "
        f"WHERE {of.sql} IS NOT NULL GROUP BY hash({of.sql}))"
    )
    many = distinct >= KEY and (alone or 0) >= OF_ONE_PERSON * present
    return f"only one person has the value in {alone:,} of {present:,} rows" if many else ""


def _alone(session: Session, tables: Sequence[tuple[_Rows, Sequence[_Column]]]) -> str:
    """The people who are alone by the set of what their rows have in these columns, if they are many."""
    of_rows = []
    for j, (rows, columns) in enumerate(tables):
        names = ", ".join(each.sql for each in columns)
        given = f"coalesce({', '.join(f'{each.sql}::VARCHAR' for each in columns)}) IS NOT NULL"
        of_rows.append(
            f"SELECT DISTINCT {rows.person}::VARCHAR AS person, hash({j}, {names}) AS v FROM {rows.rows} WHERE {given}"
        )
    alone, having, sets = session.row(
        "SELECT count(*) FILTER (n = 1), coalesce(sum(n), 0)::BIGINT, count(*) FROM (SELECT count(*) AS n FROM (SELECT "
        f"bit_xor(v) AS s FROM ({' UNION ALL '.join(of_rows)}) WHERE person IS NOT NULL GROUP BY person) GROUP BY s)"
    )
    many = sets >= KEY and alone >= OF_ONE_PERSON * having
    return f"{alone:,} of {having:,} people are alone by the values in all their rows" if many else ""


# --- days since an anchor -------------------------------------------------------------------------------------------


def _check_anchor(source: Source, time: RelativeTime) -> Iterator[Fault]:
    """The fault of an anchor that is no date."""
    found = next((each for each in source.columns if each.name == time.column), None)
    if time.column and (found is None or not _dated(found)):
        actual = shortened(time.column) if found is None else f"{shortened(time.column)}, of type {found.type}"
        yield Fault("tables.relative_time.column", actual, "a date or timestamp of the people's table")


def _check_days(people: _Rows, tables: Sequence[_Rows]) -> Iterator[Fault]:
    """The faults of columns of dates beside days since an anchor."""
    for rows in (people, *tables):
        for each in rows.columns:
            if each.is_day and each.is_sensitive:
                hint = "An absolute date beside relative ones tells these. Make it IDENTIFYING, or a QUASI_IDENTIFIER."
                actual = f"SENSITIVE for {each.shown}, a date beside relative_time"
                yield Fault(each.role_field, actual, "no date as it is", hint)
    for each in (each for rows in tables for each in rows.columns if each.is_day):
        if not each.is_sensitive and not isinstance(each.attribute.hierarchy, Intervals | SuppressionOnly):
            hint = 'For example: intervals: {minimum: "0", maximum: "730", widths: ["30", "90"]}.'
            actual = f"another hierarchy of {each.shown}, whose dates become days"
            yield Fault(f"{each.field}.hierarchy", actual, "intervals of days, or suppression_only", hint)
    if not any(each.is_day for rows in tables for each in rows.columns):
        hint = "Or leave out relative_time."
        yield Fault("tables.relative_time", "no date among the released columns of events", "at least one", hint)


def _span(
    session: Session, people: _Rows, tables: Sequence[_Rows], source: Source, time: RelativeTime
) -> tuple[int, int, int]:
    """How many days are between the first date and the last, and the years of both; the year of no date is 0."""
    dates = [(rows.rows, each.sql) for rows in tables for each in rows.columns if each.is_day]
    dates += [(people.rows, _name(each.name)) for each in source.columns if each.name == time.column and _dated(each)]
    finite = " UNION ALL ".join(
        f"SELECT {name}::DATE AS day FROM {rows} WHERE isfinite({name})" for rows, name in dates
    )
    if not dates:
        return 0, 0, 0
    days, first, last = session.row(f"SELECT max(day) - min(day), year(min(day)), year(max(day)) FROM ({finite})")
    return days or 0, first or 0, last or 0


def _check_span(days: int) -> Iterator[Fault]:
    """The fault of dates that have more days between them than a number of days holds."""
    if days > _MOST_DAYS:
        actual = f"dates that have more than {_MOST_DAYS:,} days between them"
        yield Fault("tables.relative_time", actual, "dates of people's events", "Make dates of no event NULL.")


def _dated(column: Column) -> bool:
    return column.kind in _DATES


def _check_told(session: Session, events: _Rows) -> Iterator[Fault]:
    """The faults of columns beside days whose values tell when the day was: dates as texts, years, numbers in order."""
    day = next((each for each in events.columns if each.is_day), None)
    others = [each for each in events.columns if not each.is_day]
    if day is None or not others:
        return
    listed = ", ".join(f"{each.sql} AS c{j}" for j, each in enumerate(others))
    rows = f"(SELECT {day.sql}::DATE AS day_of_row, {listed} FROM {events.rows} WHERE {day.sql} IS NOT NULL)"
    kinds = [each.kind for each in others]
    tells = _by_themselves(session, rows, kinds) | _by_parts_of_years(session, rows, len(others))
    for each in (each for j, each in enumerate(others) if j in tells):
        hint = "Days since an anchor would not hide it. Make it IDENTIFYING."
        actual = f"{each.shown}, whose values tell when the dates in {day.shown} were"
        yield Fault(f"{each.field}.column", actual, "a column that tells no date, because of relative_time", hint)


def _check_years(session: Session, events: _Rows, first: int, last: int) -> Iterator[Fault]:
    """The faults of columns of a table without days that are texts of dates, or years of the other tables' dates."""
    first, last = max(first, _YEARS[0]), min(last, _YEARS[1])
    asked = [each for each in events.columns if each.kind in (ValueKind.TEXT, ValueKind.INTEGER)]
    if any(each.is_day for each in events.columns) or not asked:
        return
    facts = list[str]()
    for each in asked:
        text = f"trim({each.sql}::VARCHAR)"
        is_year = f"coalesce(try_cast({text} AS INTEGER) BETWEEN {first} AND {last}, FALSE)"
        told = f"{_is_date(text)} OR {is_year}" if each.kind is ValueKind.TEXT else is_year
        facts += [f"count({each.sql})", f"count(*) FILTER ({told})"]
    found = session.row(f"SELECT {', '.join(facts)} FROM {events.rows}")
    for each, given, told in zip(asked, found[::2], found[1::2], strict=True):
        if given >= KEY and told >= TELLS_DATES * given:
            hint = "Days since an anchor would not hide it. Make it IDENTIFYING."
            actual = f"{each.shown}, of whose values {told:,} of {given:,} are dates or years of events"
            yield Fault(f"{each.field}.column", actual, "a column that tells no date, because of relative_time", hint)


def _is_date(text: str) -> str:
    return f"coalesce(try_cast({text} AS TIMESTAMP), try_cast({text} || '-01' AS TIMESTAMP)) IS NOT NULL"


def _by_themselves(session: Session, rows: str, kinds: Sequence[ValueKind]) -> set[int]:
    """The places of columns that are texts of dates, or numbers that grow with the day."""
    tells, facts = set[int](), list[str]()
    for j, kind in enumerate(kinds):
        as_text = f"trim(c{j}::VARCHAR)"
        ordered = f"corr(c{j}::DOUBLE, epoch(day_of_row))" if kind in _NUMBERS else "NULL"
        facts += [f"count(c{j})", f"count(*) FILTER ({_is_date(as_text)})" if kind is ValueKind.TEXT else "0", ordered]
    found = session.row(f"SELECT {', '.join(facts)} FROM {rows}")
    for j, _ in enumerate(kinds):
        given, dates, in_order = found[3 * j : 3 * j + 3]
        if given >= KEY and (dates >= TELLS_DATES * given or abs(in_order or 0) >= TELLS_DATES):
            tells.add(j)
    return tells


def _by_parts_of_years(session: Session, rows: str, columns: int) -> set[int]:
    """The places of columns whose values have rows of one year or one quarter only, although rows are of several."""
    usual = [f"SELECT count(*) AS n FROM {rows} GROUP BY {part}(day_of_row)" for part in _PARTS]
    shares = [session.value(f"SELECT max(n) / sum(n) FROM ({query})") for query in usual]
    parts = [part for part, share in zip(_PARTS, shares, strict=True) if share is not None and share <= NO_CHANCE]
    asked = [(place, part) for place in range(columns) for part in parts]
    if not asked:
        return set()
    by_value = " UNION ALL ".join(
        f"SELECT {j} AS j, count(*) AS n, count(DISTINCT {part}(day_of_row)) AS parts FROM {rows} "
        f"WHERE c{place} IS NOT NULL GROUP BY hash(c{place})"
        for j, (place, part) in enumerate(asked)
    )
    found = session.rows(
        f"SELECT j, sum(n), sum(n) FILTER (n >= {ENOUGH_ROWS}), sum(n) FILTER (n >= {ENOUGH_ROWS} AND parts = 1) "
        f"FROM ({by_value}) GROUP BY j"
    )
    return {
        asked[j][0]
        for j, given, many, told in found
        if many is not None and many >= max(KEY, given / 2) and (told or 0) >= TELLS_DATES * many
    }


def _from(source: Source) -> str:
    return render(source.table())


def _name(name: str) -> str:
    return render(identifier(name))
