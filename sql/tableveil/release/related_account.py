"""The owner's account of what a release of people and events has lost, in sentences without values.

Labels are named by their ranks, which the tables of labels explain.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tableveil.backend import Session, cast, column, table
from tableveil.dictionary import value_texts
from tableveil.errors import Warned, note, shortened
from tableveil.policy import ReleaseTarget
from tableveil.release.plan import ReleasePlan
from tableveil.release.related import EventRelease
from tableveil.repair.account import Losers


def related_account(session: Session, plan: ReleasePlan, target: ReleaseTarget) -> Iterator[Warned]:
    """The notes on lost rows; call it once the tables of events are written."""
    related = plan.related
    if related is None:
        return
    removed = sum(events.removed for events in related.events)
    if not removed:
        return
    rows = sum(events.staged.rows for events in related.events)
    groups = [_of_group(group) for group in related.account.losers]
    yield note(
        f"{removed:,} of {rows:,} rows of events are not released. Some are missing of {'; '.join(groups)}.", removed
    )
    if not related.account.moved:
        return
    ranks = {number: words for events in related.events for number, words in _ranked(session, plan, events)}
    pairs = [
        f"{ranks[one.one]} and {ranks[one.other]}: {one.before:.2f} to {one.after:.2f}"
        for one in related.account.moved
        if one.one in ranks and one.other in ranks
    ]
    if pairs:
        names = ", ".join(shortened(target.event_labels_name(events.name)) for events in related.events)
        yield note(
            "The odds ratios of people who have rows of two labels moved most, from the source to the release, for "
            f"{'; '.join(pairs)}. Labels have their ranks in {names}.",
            len(pairs),
        )


def _of_group(group: Losers) -> str:
    rows = f"{group.least} or more rows" if group.most is None else f"{group.least} to {group.most} rows"
    if group.least == group.most:
        rows = "1 row" if group.least == 1 else f"{group.least} rows"
    return f"{100 * group.losers / group.people:.1f} % of the {group.people:,} people with {rows}"


def _ranked(session: Session, plan: ReleasePlan, events: EventRelease) -> Iterator[tuple[int, str]]:
    """Per number of a label the words for it, by the ranks that its columns have in the written table of labels."""
    own, target = events.plan, plan.policy.release
    if not target.label_columns:
        return
    name = table(target.event_labels_name(events.name), target.schema, plan.source.reference.catalog)
    wanted = [column("column_name"), cast(column("label"), "VARCHAR"), column("rank")]
    ranks = {(of, label): rank for of, label, rank in session.rows(exp.select(*wanted).from_(name))}
    at_values = [d for d, level in zip(own.dictionaries, own.transformation, strict=True) if not level]
    values = dict(zip((d.column.name for d in at_values), value_texts(session, at_values), strict=True))
    words: list[list[str]] = []
    for j, (dictionary, level) in enumerate(zip(own.dictionaries, own.transformation, strict=True)):
        name_ = dictionary.column.name
        texts = dictionary.levels.labels[level - 1] if level else values[name_]
        shown = [f"{shortened(name_)} {ranks.get((name_, label)) or 'NULL'}" for label in texts]
        words.append([shown[group] for group in own.classes.groups(j).tolist()])
    for number, parts in zip(events.labels.tolist(), zip(*words, strict=True), strict=True):
        yield number, f"{shortened(events.name)} ({', '.join(parts)})"
