"""Later events of people by their first one, on the source and on the release: a question of an account for the owner.

The notes name no values. Only rows with relative days say which of a person's events is the first.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, expression, number, row_hash
from tableveil.counting.base import joined_code
from tableveil.errors import Warned, note, shortened
from tableveil.policy import Anchor, RelativeTime, Role
from tableveil.release.related import EventRelease
from tableveil.repair.account import MOST_PEOPLE, Followed, followed

_WHAT = {Role.QUASI_IDENTIFIER: "labels", Role.SENSITIVE: "values"}
"""The columns of these roles hold these."""

_HASHES = number(1 << 62)


def sequels(session: Session, events: EventRelease, time: RelativeTime | None, people: int) -> Iterator[Warned]:
    """A note per column beside the days, as it is released, whose first values enough of so many people have.

    A column that is erased tells nothing of what follows.
    """
    days = events.staged.days
    if time is None or time.anchor is Anchor.COLUMN or not days:
        return
    plan = events.plan
    erased = [
        each.column.name
        for each, level in zip(plan.dictionaries, plan.transformation, strict=True)
        if len(each.levels.leaves[level]) == 1
    ]
    columns = [of for of in events.staged.event.attributes if of.role in _WHAT and of.column not in (*days, *erased)]
    names = [each.column for each in columns]
    found = session.arrays(_query(events, time.anchor, (days[0], *names), -(-people // MOST_PEOPLE)))
    place, first, label = found["place"], found["first"], found["c0"]
    # Rows of one label may be of the first day or later: then nobody can tell.
    told = not np.isin(label[~first], label[first]).any()
    for i, attribute in enumerate(columns, 1):
        values, own = np.unique(found[f"c{i}"], return_inverse=True)
        # Numbers start at 0, or at -1 if there are rows without a value.
        own = (own.reshape(-1) - int(len(values) > 0 and values[0] < 0)).astype(np.int32)
        moves = list(followed(events.people[place], own, first, events.kept[place]))
        if moves:
            name = events.staged.event.qualified(attribute.column)
            yield note(_words(shortened(name), _WHAT[attribute.role], moves, told), field=name)


def _query(events: EventRelease, anchor: Anchor, names: Sequence[str], step: int) -> exp.Select:
    """The rows of each so many people: places, whether they are first, and numbers of labels and values, or -1."""
    staged, own = events.staged, events.plan
    levels = dict(zip((each.column.name for each in own.dictionaries), own.transformation, strict=True))
    coded = {each.column.name: each for each in own.dictionaries}
    day = column(names[0], "source")
    first = day.is_(exp.null()) if anchor is Anchor.PREVIOUS_EVENT else exp.EQ(this=day, expression=number(0))
    query = exp.select(alias(column(staged.place, "source"), "place"), alias(_or(first, exp.false()), "first"))
    query = query.from_(staged.source.table("source"))
    if step > 1:
        of_step = exp.Mod(this=column(staged.person, "source"), expression=number(step))
        query = query.where(exp.EQ(this=of_step, expression=number(0)))
    for i, name in enumerate(names):
        if name in coded:
            query, value = joined_code(query, coded[name], "source", f"d{i}", levels[name])
        else:
            of = column(name, "source")
            hashed = "CASE WHEN $of IS NOT NULL THEN $hash % $most END"
            value = expression(hashed, of=of, hash=row_hash(of), most=_HASHES)
        query = query.select(alias(_or(cast(value, "BIGINT"), number(-1)), f"c{i}"))
    return query


def _or(value: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value, expressions=[otherwise])


def _words(name: str, what: str, moves: Sequence[Followed], told: bool) -> str:
    before = ", ".join(f"{100 * each.before:.1f}" for each in moves)
    after = ", ".join("none" if each.after is None else f"{100 * each.after:.1f}" for each in moves)
    number_of = f"{len(moves)} commonest {what}" if len(moves) > 1 else f"commonest {what[:-1]}"
    released = f"{after} % in the release" if told else "which the release cannot tell"
    return (
        f"After first events with the {number_of} of {name}, {before} % of the people have the commonest later one in "
        f"the source, {released}."
    )
