"""The owner's account of what a release of people and events has lost, in sentences without values.

Labels are named by their ranks, which the tables of labels explain.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tableveil.backend import Session, column, sql, table, text
from tableveil.dictionary import value_texts
from tableveil.errors import Rank, Warned, listed, note, shortened
from tableveil.policy import Anchor
from tableveil.release.plan import ReleasePlan
from tableveil.release.related import EventRelease
from tableveil.release.sequels import sequels
from tableveil.repair.account import Losers

_LEAST_MOVE = 0.05
"""Odds ratios that moved by a smaller share serve as before, and are not told."""

_MONTH = 30
"""Days in which somebody comes back, in questions of hospitals."""


def related_account(session: Session, plan: ReleasePlan) -> Iterator[Warned]:
    """The notes on lost rows; call it once the tables of events are written."""
    related = plan.related
    if related is None:
        return
    people, options = len(related.class_of), plan.policy.related
    for events in related.events:
        yield note(" ".join(_questions(session, plan, events, people, people - related.suppressed)), field=events.name)
        yield from sequels(session, events, None if options is None else options.relative_time, people)
    yield from _known(session, plan, related.k)
    removed = sum(events.removed for events in related.events)
    if not removed:
        return
    rows = sum(events.staged.rows for events in related.events)
    groups = [_of_group(group) for group in related.account.losers if group.losers]
    yield note(
        f"{removed:,} of {rows:,} rows of events are not released ({100 * removed / rows:.1f} %). Rows are "
        f"missing of {'; '.join(groups)}.",
        removed,
        "tables.rows_limit",
    )
    if not related.account.moved:
        return
    ranks = {number: words for events in related.events for number, words in _ranked(session, plan, events)}
    pairs = [
        f"{ranks[one.one]} and {ranks[one.other]}: {one.before:.2f} to {one.after:.2f}"
        for one in related.account.moved
        if one.one in ranks and one.other in ranks and abs(one.after / one.before - 1) >= _LEAST_MOVE
    ]
    if pairs:
        yield note(
            "The odds ratios of people who have rows of two labels moved most, from the source to the release, for "
            f"{'; '.join(pairs)}. The numbers are ranks, as tables of labels have them.",
            len(pairs),
            "tables.events",
        )


def _known(session: Session, plan: ReleasePlan, k: int) -> Iterator[Warned]:
    """The warning of whom few keys fit to somebody who knows some of their rows."""
    target = plan.policy.release
    curve = table(target.known_rows_name, target.schema, plan.source.reference.catalog)
    query = "SELECT known_rows, below_k, alone, sample FROM $curve WHERE below_k > 0 ORDER BY known_rows"
    if few := session.rows(sql(query, curve=curve)):
        known, below, alone, sample = zip(*few, strict=True)
        shares, only = (
            ", ".join(f"{100 * some / of:.1f}" for some, of in zip(each, sample, strict=True))
            for each in (below, alone)
        )
        yield Warned(
            f"To somebody who knows {listed([*map(str, known)])} of a person's events, fewer than {k} keys fit for "
            f"{shares} % of the people with so many, and one key alone for {only} %, by a sample: one draw of events "
            f"for each of {listed([f'{of:,}' for of in sample])} people.",
            Rank.SHOULD_BE_LOOKED_AT if any(alone) else Rank.NOTE,
            max(below),
            "privacy_models",
        )


def _questions(session: Session, plan: ReleasePlan, events: EventRelease, people: int, released: int) -> Iterator[str]:
    """The answers to usual questions on the source and on the release: rows per person, and returns in 30 days."""
    kept, rows, name = int(np.count_nonzero(events.kept)), events.staged.rows, shortened(events.name)
    before, after = (f"{some / of:.2f}" if of else "none" for some, of in ((rows, people), (kept, released)))
    yield f"Rows of {name} per person: {before} in the source, {after} in the release."
    related, target = plan.policy.related, plan.policy.release
    time = None if related is None else related.relative_time
    if time is None or time.anchor is not Anchor.PREVIOUS_EVENT or not (events.staged.days and kept and rows):
        return
    day, told = events.staged.days[0], "which labels would tell"
    soon = f"SELECT count_if($day <= {_MONTH}) FROM $rows"
    # A sum of no rows is NULL, as that of rows without a day is.
    in_source = session.value(sql(soon, day=column(day), rows=events.staged.source.table())) or 0
    if target.label_columns:
        labels = table(target.event_labels_name(events.name), target.schema, plan.source.reference.catalog)
        of_day = (
            "SELECT coalesce(number_from, '-infinity'::DOUBLE), coalesce(number_to, 'infinity'::DOUBLE), records "
            "FROM $labels WHERE column_name = $day AND label IS NOT NULL"
        )
        told = _soon(session.rows(sql(of_day, labels=labels, day=text(day))), kept)
    yield f"Within {_MONTH} days of the event before are {100 * in_source / rows:.1f} % of them, {told}."


def _soon(labels: Sequence[tuple[float, float, int]], kept: int) -> str:
    """The share of kept rows whose label ends within the days, unless a label goes on beyond them."""
    if any(low <= _MONTH < high for low, high, _ in labels):
        return "which the release cannot tell"
    share = sum(records for _, high, records in labels if high <= _MONTH) / kept
    return f"{100 * share:.1f} % in the release"


def _of_group(group: Losers) -> str:
    rows = f"{group.least} or more rows" if group.most is None else f"{group.least} to {group.most} rows"
    if group.least == group.most:
        rows = "1 row" if group.least == 1 else f"{group.least} rows"
    return f"{group.losers:,} of the {group.people:,} people with {rows}"


def _ranked(session: Session, plan: ReleasePlan, events: EventRelease) -> Iterator[tuple[int, str]]:
    """Per number of a label the words for it, by the ranks that its columns have in the written table of labels."""
    own, target = events.plan, plan.policy.release
    if not target.label_columns:
        return
    name = table(target.event_labels_name(events.name), target.schema, plan.source.reference.catalog)
    labels = session.rows(sql("SELECT column_name, CAST(label AS VARCHAR), rank FROM $name", name=name))
    ranks = {(of, label): rank for of, label, rank in labels}
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
