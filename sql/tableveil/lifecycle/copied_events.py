"""Tables that may hold events of an earlier release: the ledger keeps rows of people, not of events."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tableveil.backend import WarehouseSession
from tableveil.errors import InvalidError, depending_on, listed, shortened
from tableveil.policy import Role
from tableveil.source import Source
from tableveil.state.releases import policies_of

_MOST_NAMED = 3


def check_events(session: WarehouseSession, source: Source, others: Collection[int]) -> None:
    """Raises `InvalidError` if a table has all columns which one of the other releases shows of events.

    Nothing else would tell of a copy under other keys, released alone or with other people.
    """
    if not others:
        return
    tables = {each.shown: {one.name.casefold() for one in each.columns} for each in (source, *source.related)}
    for number, document in policies_of(session.ledger, sorted(others)):
        for event, shown in _events(json.loads(document)):
            for name, columns in tables.items():
                if columns.issuperset(each.casefold() for each in shown):
                    with depending_on([number]):
                        raise _maybe_copied(number, event, shown, name)


def _events(policy: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The event tables of a policy's document, with their columns that are released.

    A single column could be of any table.
    """
    for event in policy.get("tables", {}).get("events", ()):
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
