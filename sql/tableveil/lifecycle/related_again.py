"""A later release of people or events of related tables: keys are re-linked by content, and events may be copied."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, column, identifier, render, table
from tableveil.errors import InvalidError, Warned, depending_on, listed, must_decide, shortened
from tableveil.policy import Anchor, IfExists, Policy, RelativeTime, Role
from tableveil.policy.documentation import says_something
from tableveil.related.staging import days_of
from tableveil.release.plan import ReleasePlan
from tableveil.source import Source
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.releases import RELEASES, Release, ever_public

_FIELD = "tables"
_KEYS = "relinked_keys"
"""The temporary table of what an earlier release has of each key, where no other key has the same."""

_MOST_NAMED = 3


def check_related_again(session: WarehouseSession, policy: Policy, same_people: Collection[int]) -> None:
    """Raises `InvalidError` if one of these releases has related tables, and the new one does not replace it.

    Fresh keys hide nothing from somebody who has both: what a person's rows have in common with none finds them again.
    """
    if policy.related is None or not same_people:
        return
    target, reasoned = policy.release, says_something(policy.repeat_reason)
    place = session.scope(target.schema), target.name.casefold()
    earlier = [each for each in RELEASES.found(session.ledger, same_people).values() if _has_keys(each)]
    readable = ever_public(session.ledger, [each.number for each in earlier])
    for release in sorted(earlier, key=lambda each: each.number):
        if release.number not in readable and not release.waits:
            continue
        replaced = target.if_exists is IfExists.REPLACE and reasoned
        if replaced and (release.target_schema, release.target_name.casefold()) == place:
            continue
        with depending_on([release.number]):
            raise InvalidError.of(
                "RELATED_BEFORE",
                _FIELD,
                f"related tables of people whose related tables are in releases/{release.number}",
                "people of whom no other release has related tables",
                "Readers of both join many people by what their events have. Replace the first: name its schema and "
                "name in release, if_exists: REPLACE and a repeat_reason. Its copies remain.",
            )


def _has_keys(release: Release) -> bool:
    return _FIELD in json.loads(release.policy)


def check_events(session: WarehouseSession, source: Source, others: Collection[int]) -> None:
    """Raises `InvalidError` if a table has all columns which one of the other releases shows of events.

    Nothing else would tell of a copy under other keys, released alone or with other people.
    """
    query = (
        "SELECT number, policy FROM tableveil.releases "
        "WHERE list_contains(?::BIGINT[], number) AND contains(policy, ?) ORDER BY number"
    )
    tables = {each.shown: {one.name.casefold() for one in each.columns} for each in (source, *source.related)}
    for number, document in session.ledger.rows(query, [[*others], f'"{_FIELD}"']) if others else ():
        for event, shown in _events(json.loads(document)):
            for name, columns in tables.items():
                if columns.issuperset(each.casefold() for each in shown):
                    with depending_on([number]):
                        raise _maybe_copied(number, event, shown, name)


def _events(policy: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The event tables of a policy's document, with their columns that are released.

    A single column could be of any table.
    """
    for event in policy.get(_FIELD, {}).get("events", ()):
        name = event.get("name") or event["table"]
        shown = [
            each["column"]
            for each in policy.get("attributes", ())
            if each.get("table") == name and not each.get("role", "").endswith(Role.IDENTIFYING)
        ]
        if len(shown) > 1:
            yield name, shown


def _maybe_copied(number: int, event: str, shown: list[str], name: str) -> InvalidError:
    columns = listed([shortened(each) for each in shown], _MOST_NAMED)
    return InvalidError.of(
        "REPEATED_RELEASE",
        "repeat_reason",
        f"none, although {name} has the columns {columns} of the events {shortened(event)} in releases/{number}, and "
        "nobody compared the rows: the ledger keeps those of people",
        "the reason why these records are released once more",
        f"If they are of other people, say so: other_people: [releases/{number}].",
    )


@dataclass(frozen=True, slots=True)
class Keyed:
    """A release whose people have keys: its policy, and the `levels` of columns that are above their values.

    `days` are the dates of events that it releases, each table's first one, its rows' own day, with True.
    """

    policy: Policy
    levels: Mapping[str, tuple[int, str]]
    days: Mapping[str, bool]

    @classmethod
    def released(cls, policy: Policy, attributes: Sequence[AttributeResult]) -> Keyed:
        """The keys of a written release; its days are those of the new one."""
        return cls(policy, {each.column: (each.level, each.hierarchy) for each in attributes if each.level}, {})

    @classmethod
    def planned(cls, plan: ReleasePlan) -> Keyed:
        """The keys of a release that is not written yet."""
        of_people = zip(plan.dictionaries, plan.transformation, strict=False)
        levels = {d.attribute.column: (level, d.hierarchy) for d, level in of_people if level}
        days = dict[str, bool]()
        of_events = plan.related.events if plan.related is not None else ()
        for events, source in zip(of_events, plan.source.related, strict=True):
            own, event = events.plan, events.staged.event
            for d, level in zip(own.dictionaries, own.transformation, strict=True):
                if level:
                    levels[event.qualified(d.attribute.column)] = level, d.hierarchy
            dates = days_of(event, source)
            days |= {event.qualified(name): name == dates[0] for name in dates}
        return cls(plan.policy, levels, days)

    @property
    def time(self) -> RelativeTime | None:
        """The anchor from which days of events count, if they are not dates."""
        return self.policy.related.relative_time if self.policy.related else None

    def unlike(self, other: Keyed) -> list[str]:
        """The columns that both release, but not alike; and those of tables of other names, if both have some."""
        shared, theirs = _shared(self, other), _released(other.policy)
        unlike = [f"{of}{name}" for of, names in shared.items() for name in names if not _alike(self, other, of, name)]
        if theirs.keys() - shared.keys():
            released = _released(self.policy)
            unlike += [f"{of}{name}" for of in released.keys() - shared.keys() for name in released[of]]
        return sorted(unlike)


def stage_keys(session: Session, rows: exp.Table, earlier: Keyed, new: Keyed) -> bool:
    """Stages what each key has that a new release shows alike; False if the two share no column and no events."""
    if query := _contents(rows, earlier, new):
        session.execute(f"CREATE OR REPLACE TEMP TABLE {_KEYS} AS {query}")
    return any(prefix or names for prefix, names in _shared(earlier, new).items())


def relinked(session: Session, rows: exp.Table, earlier: Keyed, new: Keyed) -> tuple[int, int]:
    """How many keys of the new rows have what one key of the staged ones has, and no other; and how many there are."""
    query = _contents(rows, new, earlier)
    keys: int = session.value(exp.select(exp.Count(this=exp.Star())).from_(rows))
    if query is None:
        return 0, keys
    alike: int = session.value(f"SELECT count(*) FROM ({query}) JOIN {_KEYS} USING (content)")
    session.execute(f"DROP TABLE {_KEYS}")
    return alike, keys


def withdrawn_keys(session: WarehouseSession, numbers: Collection[int]) -> int | None:
    """The latest of these releases that readers had, and that has related tables."""
    had = ever_public(session.ledger, numbers)
    return max((n for n, each in RELEASES.found(session.ledger, had).items() if _has_keys(each)), default=None)


def untold(release: int, unlike: Sequence[str]) -> Warned:
    """The warning that re-linked keys were not counted: by columns unlike earlier ones, or as their rows are gone."""
    names = ", ".join(map(shortened, unlike))
    by = f"by {names}, which have another level, anchor or name there" if unlike else "whose rows are gone"
    return must_decide(
        f"Nobody counted how many keys are re-linked to keys of releases/{release} {by}, which can be all: readers who "
        "kept a copy may know these people's earlier events, too.",
        field="repeat_reason",
    )


def told(alike: int, keys: int, release: int) -> Warned | None:
    """The warning of the account, if a key can be re-linked."""
    if not alike:
        return None
    return must_decide(
        f"{alike:,} of {keys:,} keys are re-linked to keys of releases/{release} by what their rows have: readers who "
        "kept a copy know these people's earlier events, too.",
        alike,
        "repeat_reason",
    )


def _contents(rows: exp.Table, own: Keyed, other: Keyed) -> str | None:
    """The query for the digests of what single keys have in what both releases show alike."""
    parts, joins = [], list[str]()
    key = render(identifier(own.policy.person_column or ""))
    for i, (prefix, names) in enumerate(sorted(_shared(own, other).items())):
        shown = [shown for name in sorted(names) if (shown := _alike(own, other, prefix, name, key))]
        columns = ", ".join(f"({each})::VARCHAR" for each in shown)
        if prefix:
            events = render(table(f"{rows.name}_{prefix[:-1]}", rows.db, rows.catalog))
            # Where no column is alike, numbers of rows are.
            each = f"SELECT {key}, {f'hash({columns})' if columns else 1} AS h FROM {events} AS e"
            joins.append(
                f"LEFT JOIN (SELECT {key}, sum(h)::VARCHAR AS s FROM ({each}) GROUP BY {key}) AS e{i} USING ({key})"
            )
            parts.append(f"coalesce(e{i}.s, '')")
        elif columns:
            parts.append(f"hash({columns})")
    if not parts:
        return None
    content = f"md5(concat_ws(' ', {', '.join(f'{part}::VARCHAR' for part in parts)}))"
    return (
        f"SELECT content FROM (SELECT {content} AS content FROM {render(rows)} AS e {' '.join(joins)}) "
        "GROUP BY content HAVING count(*) = 1"
    )


def _shared(own: Keyed, other: Keyed) -> dict[str, list[str]]:
    """The columns that both release, by the prefix of their tables in qualified names; that of the people is empty."""
    there = _released(other.policy)
    return {
        prefix: [name for name in names if name in there[prefix]]
        for prefix, names in _released(own.policy).items()
        if prefix in there
    }


def _released(policy: Policy) -> dict[str, list[str]]:
    events = policy.related.events if policy.related else ()
    tables = [("", policy.attributes), *((event.qualified(""), event.attributes) for event in events)]
    return {prefix: [a.column for a in attributes if a.role is not Role.IDENTIFYING] for prefix, attributes in tables}


def _alike(own: Keyed, other: Keyed, prefix: str, name: str, key: str = "") -> str:
    """The expression of a column in which both releases show the same; "" if there is none.

    Days that count from elsewhere become those since the person's last earlier day, which stay as they are.
    """
    shown, qualified = render(column(name, "e")), f"{prefix}{name}"
    if own.levels.get(qualified) != other.levels.get(qualified):
        return ""
    days = {**other.days, **own.days}
    if qualified not in days or own.time == other.time:
        return shown
    before = [keyed.time is not None and keyed.time.anchor is Anchor.PREVIOUS_EVENT for keyed in (own, other)]
    if qualified in own.levels or not days[qualified] or (any(before) and sum(days.values()) > 1):
        return ""
    if before[0]:
        return shown
    day = f"try_cast({shown} AS INTEGER)" if own.time else f"try_cast({shown} AS DATE) - DATE '2000-01-01'"
    earlier = f"PARTITION BY {key} ORDER BY {day} RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    return f"{day} - max({day}) OVER ({earlier})"
