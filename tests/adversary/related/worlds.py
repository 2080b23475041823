"""Small worlds of people and their events, drawn at random, with the policy that releases them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import Any

import pyarrow as pa

KINDS = {"cold": "lungs", "cough": "lungs", "hip": "bones", "knee": "bones", "eye": "rest"}
DAY = date(2024, 3, 1)
WIDTHS = (4, 16)
FIRST, LAST = -64, 191
AGES = (10, 40)
NAMES = ("visits", "labs", "stays")


@dataclass(frozen=True, slots=True)
class Person:
    """A row of the people's table; `number` is the key."""

    number: int
    town: int
    age: int
    sex: str | None
    since: date
    ill: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """A row of an event table. `ward` is sensitive."""

    person: int
    kind: str | None
    day: date | None
    ward: str | None


@dataclass(frozen=True)
class World:
    """Source tables and what their policy asks for.

    Labels of people are of `town`, `age` and `sex` at `levels`; those of a table's rows of `kind` and `day`, or of
    `kind` alone in a table without days. The column `day` has days since the `anchor`, if there is one.
    """

    people: tuple[Person, ...]
    events: Mapping[str, tuple[Event, ...]]
    k: int
    m: int
    levels: tuple[int, int, int]
    event_levels: Mapping[str, tuple[int, int]]
    anchor: str = ""
    cap: int | None = None
    dated: Mapping[str, bool] = field(default_factory=dict)
    shares: tuple[tuple[str, str, str, tuple[str, ...]], ...] = ()

    def columns(self, name: str) -> tuple[str, ...]:
        """The quasi-identifiers of an event table."""
        return ("kind", "day") if self.dated[name] else ("kind",)


def draw(random: Random, towns: int = 1, size: int = 14, *, shares: bool = False) -> World:
    """Towns of a few people each, in all of which one policy holds."""
    k, m = random.choice([2, 2, 3, 5]), random.choice([1, 2])
    names = NAMES[: random.choice([1, 1, 2, 3])]
    anchor = random.choice(["", "FIRST_EVENT", "PREVIOUS_EVENT", "COLUMN"])
    dated = {name: i == 0 or random.random() < 0.7 for i, name in enumerate(names)}
    people, events = list[Person](), {name: list[Event]() for name in names}
    for town in range(towns):
        few = random.random() < 0.15
        alike = random.choice([2, 3, 5])
        kinds, days = random.sample([*KINDS], alike), random.choice([2, 8, 60])
        for _ in range(random.randrange(1, k + 1) if few else random.randrange(k, size + 1)):
            number = len(people) + 1
            since = DAY + timedelta(random.randrange(0, 40))
            sex = random.choice(["f", "f", "m", None])
            people.append(
                Person(number, town, random.randrange(20, 60), sex, since, random.choice(["flu", "gout", None]))
            )
            for _ in range(random.choice([0, 1, 1, 2, 3, 5])):
                day = None if random.random() < 0.05 else since + timedelta(random.randrange(0, days))
                kind = None if random.random() < 0.03 else random.choice(kinds)
                events[random.choice(names)].append(Event(number, kind, day, random.choice(["eye", "skin", None])))
    random.shuffle(people)
    for rows in events.values():
        random.shuffle(rows)
    levels = (0 if towns > 1 else random.randrange(2), random.choice([1, 2, 3, 3]), random.choice([0, 1, 1]))
    chosen: list[tuple[str, str, str, tuple[str, ...]]] = []
    if shares:
        chosen = [
            ("", "ill", "1.5", ()),
            ("", "ill", "1.25", ("flu",)),
            (names[0], "ward", "1.25", ("eye", "skin")),
            (names[0], "ward", "1.5", ()),
        ]
    return World(
        tuple(people),
        {name: tuple(rows) for name, rows in events.items()},
        k,
        m,
        levels,
        {name: (random.randrange(3), random.randrange(4)) for name in names},
        anchor,
        random.choice([None, None, 2, 4]),
        dated,
        tuple(random.sample(chosen, 1)) if chosen else (),
    )


# --- tables and policy ----------------------------------------------------------------------------------------------


def tables(world: World) -> dict[str, pa.Table]:
    """The source tables by name; row numbers of events are `row`."""
    people = {
        "person": pa.array([one.number for one in world.people], pa.int64()),
        "town": pa.array([one.town for one in world.people], pa.int32()),
        "age": pa.array([one.age for one in world.people], pa.int32()),
        "sex": pa.array([one.sex for one in world.people], pa.string()),
        "since": pa.array([one.since for one in world.people], pa.date32()),
        "ill": pa.array([one.ill for one in world.people], pa.string()),
    }
    made = {"people": pa.table(people)}
    for name, rows in world.events.items():
        columns = {
            "owner": pa.array([one.person for one in rows], pa.int64()),
            "kind": pa.array([one.kind for one in rows], pa.string()),
            "ward": pa.array([one.ward for one in rows], pa.string()),
        }
        if world.dated[name]:
            columns["day"] = pa.array([one.day for one in rows], pa.date32())
        made[name] = pa.table(columns)
    return made


def document(world: World, *, fixed: bool = True) -> dict[str, Any]:
    """The policy that releases the world, `fixed` at its levels; all people and rows may be removed."""
    days = {"minimum": str(FIRST), "maximum": str(LAST), "widths": [*map(str, WIDTHS)]}
    dates = {"minimum": "2024-01-01", "maximum": "2024-12-31", "units": ["MONTH", "QUARTER"]}
    ages = {"minimum": "0", "maximum": "99", "widths": [*map(str, AGES)]}
    qi = {"role": "QUASI_IDENTIFIER"}
    attributes: list[dict[str, Any]] = [
        {"column": "person", "role": "IDENTIFYING"},
        {"column": "town", **qi, "hierarchy": {"suppression_only": {}}},
        {"column": "age", **qi, "hierarchy": {"intervals": ages}},
        {"column": "sex", **qi, "hierarchy": {"suppression_only": {}}},
        {"column": "since", "role": "IDENTIFYING"},
        {"column": "ill", "role": "SENSITIVE"},
    ]
    kinds = [{"labels": [kind, group, "*"]} for kind, group in KINDS.items()]
    levels = dict(zip(("town", "age", "sex"), world.levels, strict=True))
    for name in world.events:
        attributes += [
            {"table": name, "column": "owner", "role": "IDENTIFYING"},
            {"table": name, "column": "kind", **qi, "hierarchy": {"inline": {"rows": kinds}}},
            {"table": name, "column": "ward", "role": "SENSITIVE"},
        ]
        if world.dated[name]:
            rule = {"intervals": days} if world.anchor else {"dates": dates}
            attributes.append({"table": name, "column": "day", **qi, "hierarchy": rule})
        levels |= {
            f"{name}.{column}": level
            for column, level in zip(world.columns(name), world.event_levels[name], strict=False)
        }
    related: dict[str, Any] = {
        "people": {"table": "people", "key": "person"},
        "events": [{"table": name, "person": "owner"} for name in world.events],
        "rows_limit": "1",
    }
    if world.cap is not None:
        related["most_rows_of_a_person"] = world.cap
    if world.anchor:
        time = {"column": "since"} if world.anchor == "COLUMN" else {"anchor": world.anchor}
        related["relative_time"] = time
    shares = [
        {"sensitive_share": {"table": table, "column": column, "l": reciprocal, "values": list(values)}}
        for table, column, reciprocal, values in world.shares
    ]
    return {
        "tables": related,
        "attributes": attributes,
        "privacy_models": [{"k_anonymity": {"k": world.k}}, {"known_facts": {"m": world.m}}, *shares],
        "suppression_limit": "1",
        "release": {"name": "released"},
        **({"search": {"levels": levels}} if fixed else {}),
    }


# --- labels ---------------------------------------------------------------------------------------------------------

Label = tuple[object, ...]


def class_of(world: World, person: Person) -> Label:
    """The labels of a person."""
    town, age, sex = world.levels
    return (
        "*" if town else person.town,
        "*" if age == 3 else _interval(person.age, 0, 99, AGES[age - 1]) if age else person.age,
        "*" if sex else person.sex,
    )


def labels_of(world: World, name: str) -> list[Label]:
    """The labels of a table's rows, in the order of the source."""
    kind_level, day_level = world.event_levels[name]
    made = []
    for row, day in zip(world.events[name], _days(world, name), strict=True):
        kind = row.kind if kind_level == 0 or row.kind is None else KINDS[row.kind]
        label: Label = ("*" if kind_level == 2 else kind,)
        if world.dated[name]:
            label += (_day_label(world, day, day_level),)
        made.append(label)
    return made


def _days(world: World, name: str) -> Sequence[int | date | None]:
    """Days since the anchor, or the days themselves."""
    if not world.anchor:
        return [row.day for row in world.events[name]]
    since = {one.number: one.since for one in world.people}
    known: dict[int, set[date]] = {one.number: set() for one in world.people}
    for other, rows in world.events.items():
        for row in rows if world.dated[other] else ():
            if row.day is not None:
                known[row.person].add(row.day)
    days: list[int | None] = []
    for row in world.events[name]:
        anchors = {since[row.person]}
        if world.anchor == "FIRST_EVENT":
            anchors = {min(known[row.person], default=DAY)}
        elif world.anchor == "PREVIOUS_EVENT":
            anchors = {day for day in known[row.person] if row.day and day < row.day}
        days.append((row.day - max(anchors)).days if row.day and anchors else None)
    return days


def _day_label(world: World, day: int | date | None, level: int) -> object:
    if level == 3:
        return "*"
    if day is None or level == 0:
        return day
    if isinstance(day, date):
        return f"{day:%Y-%m}" if level == 1 else f"{day:%Y}-Q{(day.month + 2) // 3}"
    return _interval(day, FIRST, LAST, WIDTHS[level - 1])


def _interval(value: int, first: int, last: int, width: int) -> str:
    low = first + (value - first) // width * width
    return f"[{low}, {min(low + width - 1, last)}]"


def day_at_anchor(world: World, label: object) -> bool:
    """Whether a row with this label of its day may be that of the anchor."""
    if label == "*":
        return True
    if world.anchor == "PREVIOUS_EVENT":
        return label is None
    first, _, last = str(label).strip("[]").partition(", ")
    return label is not None and int(first) <= 0 <= int(last or first)


def span(world: World, label: Any) -> tuple[int, int] | None:
    """The first and the last day of a label, behind the name of its table; None if it is of no one day."""
    if len(label) < 3 or label[2] is None or world.anchor == "PREVIOUS_EVENT":
        return None
    if label[2] == "*":
        return FIRST, LAST
    if world.anchor:
        first, _, last = str(label[2]).strip("[]").partition(", ")
        return int(first), int(last or first)
    year, _, rest = str(label[2]).partition("-")
    months = [int(rest[1]) * 3 - 2, int(rest[1]) * 3] if rest[0] == "Q" else [int(rest[:2])] * 2
    first_day = date(int(year), months[0], int(rest[3:] or 1))
    last_day = first_day if rest[3:] else date(int(year), months[1], 28) + timedelta(3)
    return first_day.toordinal(), last_day.toordinal()


def anchored(world: World) -> tuple[Callable[[Any], bool], Callable[[Any], bool]]:
    """Whether a label, behind the name of its table, has a day; and whether it may be the anchor's."""
    return lambda label: len(label) > 2, lambda label: day_at_anchor(world, label[2])
