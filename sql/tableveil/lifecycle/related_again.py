"""A second release of people and their events: it has to replace the first, and its keys are re-linked by content."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, column, identifier, render, table
from tableveil.errors import InvalidError, Warned, depending_on, must_decide
from tableveil.policy import AttributePolicy, IfExists, Policy, Role
from tableveil.policy.reason import says_something
from tableveil.state.releases import RELEASES, Release, ever_public

_FIELD = "tables"
_KEYS = "relinked_keys"
"""The temporary table of what an earlier release has of each key, where no other key has the same."""


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


def stage_keys(session: Session, rows: exp.Table, earlier: Policy, new: Policy) -> bool:
    """Stages what each key has in the columns that a new policy releases as well; False if the two share no column."""
    query = _contents(session, rows, earlier, new)
    if query is None:
        return False
    session.execute(f"CREATE OR REPLACE TEMP TABLE {_KEYS} AS {query}")
    return True


def relinked(session: Session, rows: exp.Table, earlier: Policy, new: Policy) -> tuple[int, int]:
    """How many keys of the new rows have what one key of the staged ones has, and no other; and how many there are."""
    query = _contents(session, rows, new, earlier)
    keys: int = session.value(exp.select(exp.Count(this=exp.Star())).from_(rows))
    if query is None:
        return 0, keys
    alike: int = session.value(f"SELECT count(*) FROM ({query}) JOIN {_KEYS} USING (content)")
    session.execute(f"DROP TABLE {_KEYS}")
    return alike, keys


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


def _contents(session: Session, rows: exp.Table, own: Policy, other: Policy) -> str | None:
    """The query for the digests of what single keys have in the columns that both policies release."""
    assert own.related is not None
    assert other.related is not None
    parts, joins = [], list[str]()
    key = render(identifier(own.person_column or ""))
    of_people = _shared(own.attributes, other.attributes)
    if of_people:
        parts.append(_hash(of_people, "p"))
    for i, event in enumerate(own.related.events):
        there = other.related.event(event.name)
        shared = _shared(event.attributes, there.attributes) if there is not None else []
        if not shared:
            continue
        events = render(table(f"{rows.name}_{event.name}", rows.db, rows.catalog))
        joins.append(
            f"LEFT JOIN (SELECT {key}, sum({_hash(shared, 'e')})::VARCHAR AS s FROM {events} AS e GROUP BY {key}) "
            f"AS e{i} USING ({key})"
        )
        parts.append(f"coalesce(e{i}.s, '')")
    if not parts:
        return None
    content = f"md5(concat_ws(' ', {', '.join(f'{part}::VARCHAR' for part in parts)}))"
    return (
        f"SELECT content FROM (SELECT {content} AS content FROM {render(rows)} AS p {' '.join(joins)}) "
        "GROUP BY content HAVING count(*) = 1"
    )


def _shared(own: Sequence[AttributePolicy], other: Sequence[AttributePolicy]) -> list[str]:
    """The columns that both release, by name."""
    there = {each.column for each in other if each.role is not Role.IDENTIFYING}
    return [each.column for each in own if each.role is not Role.IDENTIFYING and each.column in there]


def _hash(names: Sequence[str], alias: str) -> str:
    texts = (f"{render(column(name, alias))}::VARCHAR" for name in sorted(names))
    return f"hash({', '.join(texts)})"
