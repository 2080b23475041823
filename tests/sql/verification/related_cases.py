"""Releases of small worlds by a naive writer, which repairs by the definition: what the verification should accept."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import md5
from itertools import combinations_with_replacement
from random import Random
from uuid import UUID

import pyarrow as pa

from tableveil.backend import Session
from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.policy import Policy
from tableveil.verification.related import check_related
from tableveil.verification.written import ClassColumns, Judged, Labels, Written, WrittenEvents
from tests.adversary.related import worlds
from tests.adversary.related.attack import Released, few, has, lost_anchors, released
from tests.adversary.related.worlds import Label, World

PEOPLE = ("town", "age", "sex")
LEVELS = ("value", "l1", "l2", "l3")


@dataclass
class Row:
    """A row of an event table: whose it is, its label, which names its table first, and its sensitive value."""

    person: int
    label: Label
    ward: str | None


@dataclass
class Case:
    """A release of a world: the kept people and rows, and what the verification is given."""

    world: World
    policy: Policy
    classes: dict[int, Label]
    rows: list[Row]
    written: Written

    @property
    def released(self) -> Released:
        """All that an adversary gets."""
        return released(self.classes, [(row.person, row.label) for row in self.rows])

    @property
    def broken(self) -> bool:
        """Whether known rows leave too few keys, or a missing first row tells too much, or a value is too frequent."""
        world, found = self.world, self.released
        lost = world.anchor in ("FIRST_EVENT", "PREVIOUS_EVENT") and lost_anchors(
            found, world.k, world.m, *worlds.anchored(world)
        )
        return bool(few(found, world.k, world.m) or lost or too_frequent(self))

    def problems(self, session: Session) -> list[str]:
        """The verification's findings."""
        return check_related(Judged(session, self.policy, PEOPLE, "", len(self.world.people), self.written))


def policy_of(world: World) -> Policy:
    message, wrong = read_policy(json.dumps(worlds.document(world)), "json")
    policy, faults = policy_from_proto(message)
    assert policy is not None, (wrong, faults)
    return policy


def written_case(session: Session, random: Random, world: World, *, raw: Sequence[int] = ()) -> Case:
    """Writes a release of the world, with rows removed until the definition holds, but in `raw` towns."""
    for name, data in worlds.tables(world).items():
        with session.relation("given", data):
            session.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
    sizes = Counter(worlds.class_of(world, person) for person in world.people)
    classes = {p.number: worlds.class_of(world, p) for p in world.people if sizes[worlds.class_of(world, p)] >= world.k}
    rows = [
        Row(event.person, (name, *label), event.ward)
        for name, events in world.events.items()
        for event, label in zip(events, worlds.labels_of(world, name), strict=True)
        if event.person in classes
    ]
    random.shuffle(rows)
    if world.cap is not None:
        of = defaultdict[int, list[Row]](list)
        for row in rows:
            of[row.person].append(row)
        rows = [row for own in of.values() for row in own[: world.cap]]
    towns = {person.number: person.town for person in world.people}
    repaired = {person: of for person, of in classes.items() if towns[person] not in raw}
    rows = [
        *(row for row in rows if row.person not in repaired),
        *_repaired(random, world, repaired, [row for row in rows if row.person in repaired]),
    ]
    return Case(world, policy_of(world), classes, rows, _write(session, random, world, classes, rows))


def _repaired(random: Random, world: World, classes: dict[int, Label], rows: list[Row]) -> list[Row]:
    while True:
        found = released(classes, [(row.person, row.label) for row in rows])
        if broken := few(found, world.k, world.m):
            of, known, _ = random.choice(broken)
            label = random.choice(known)
            most = Counter(known)[label] - 1
            gone = {p for p, c in classes.items() if c == of and has(found.rows[p], known)}
            kept, number = [], Counter[int]()
            for row in rows:
                if row.person in gone and row.label == label:
                    number.update([row.person])
                    if number[row.person] > most:
                        continue
                kept.append(row)
            rows = kept
        elif world.anchor in ("FIRST_EVENT", "PREVIOUS_EVENT") and lost_anchors(
            found, world.k, world.m, *worlds.anchored(world)
        ):
            dated, there = worlds.anchored(world)
            lost = {p for p, of in found.rows.items() if not any(dated(label) and there(label) for label in of)}
            rows = [row for row in rows if row.person not in lost or not dated(row.label)]
        else:
            return rows


def too_frequent(case: Case) -> bool:
    """Whether the people of some class whom some known rows leave have a value too often."""
    world, found = case.world, case.released
    wards = defaultdict[int, list[tuple[Label, str | None]]](list)
    for row in case.rows:
        wards[row.person].append((row.label, row.ward))
    ill = {person.number: person.ill for person in world.people}
    members = defaultdict[Label, list[int]](list)
    for person, of in case.classes.items():
        members[of].append(person)
    for table, _, reciprocal, values in world.shares:
        for people in members.values():
            labels = sorted({label for p in people for label in found.rows[p]}, key=repr)
            for size in range(world.m + 1):
                for known in combinations_with_replacement(labels, size):
                    left = [p for p in people if has(found.rows[p], known)]
                    counts = Counter(
                        value
                        for p in left
                        for value in {
                            value
                            for label, value in (wards[p] if table else [(("",), ill[p])])
                            if value is not None
                            and (not table or label[0] == table)
                            and (value in values if values else not table or label in known)
                        }
                    )
                    if any(number * float(reciprocal) > len(left) for number in counts.values()):
                        return True
    return False


# --- writing --------------------------------------------------------------------------------------------------------


def _write(session: Session, random: Random, world: World, classes: Mapping[int, Label], rows: list[Row]) -> Written:
    keys = {person: UUID(int=random.getrandbits(128)) for person in classes}
    ill = {person.number: person.ill for person in world.people}
    shown = sorted(((*of, ill[p], keys[p]) for p, of in classes.items()), key=repr)
    town, age = (_type(level, "INTEGER") for level in world.levels[:2])
    types = {"town": town, "age": age, "sex": "VARCHAR", "ill": "VARCHAR", "person": "UUID"}
    _create(session, "released", types, shown)
    events = tuple(_write_events(session, world, name, keys, rows) for name in world.events)
    written_rows = [(keys[row.person], row.label) for name in world.events for row in rows if row.label[0] == name]
    _create(
        session,
        "released_known_rows",
        {"known_rows": "INTEGER", "people": "BIGINT", "below_k": "BIGINT", "alone": "BIGINT", "sample": "BIGINT"},
        _curve(world, {keys[p]: of for p, of in classes.items()}, written_rows),
    )
    _create(session, "released_about", {"fact": "VARCHAR", "value": "VARCHAR"}, _facts(world, classes, rows))
    place = (session.catalog, "main")
    nowhere = (*place, "none")
    return Written(
        release=0,
        source=(*place, "people"),
        subset="",
        rows=(*place, "released"),
        classes=nowhere,
        risk=nowhere,
        risk_histogram=nowhere,
        kept=len(classes),
        types=tuple(session.described("FROM released")),
        source_types=tuple(session.described("FROM people")),
        labels=tuple(
            Labels(column, _dictionary(session, world, "people", column), LEVELS[: 4 if column == "age" else 2], level)
            for column, level in zip(PEOPLE, world.levels, strict=True)
        ),
        sensitive=(),
        class_columns=ClassColumns("", "", "", ()),
        events=events,
        curve=(*place, "released_known_rows"),
    )


def _write_events(
    session: Session, world: World, name: str, keys: Mapping[int, UUID], rows: Iterable[Row]
) -> WrittenEvents:
    columns, levels = world.columns(name), world.event_levels[name]
    own = [(*row.label[1:], row.ward, keys[row.person]) for row in rows if row.label[0] == name]
    day = "INTEGER" if world.anchor else "DATE"
    labelled = dict(zip(columns, ("VARCHAR", _type(levels[1], day)), strict=False))
    _create(session, f"released_{name}", {**labelled, "ward": "VARCHAR", "person": "UUID"}, own)
    source = session.described(f"FROM {name}")
    return WrittenEvents(
        name=name,
        source=(session.catalog, "main", name),
        rows=(session.catalog, "main", f"released_{name}"),
        types=tuple(session.described(f"FROM released_{name}")),
        source_types=tuple((column, day if column == "day" else type_) for column, type_ in source),
        labels=tuple(
            Labels(column, _dictionary(session, world, name, column), LEVELS[: 3 if column == "kind" else 4], level)
            for column, level in zip(columns, levels, strict=False)
        ),
    )


def _type(level: int, own: str) -> str:
    return "VARCHAR" if level else own


def _create(session: Session, name: str, types: Mapping[str, str], rows: Iterable[Sequence[object]]) -> None:
    listed = [[None if value is None else str(value) for value in row] for row in rows]
    texts = {column: pa.array([row[i] for row in listed], pa.string()) for i, column in enumerate(types)}
    cast = ", ".join(f"{column}::{type_} AS {column}" for column, type_ in types.items())
    with session.relation("given", pa.table(texts)):
        session.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {cast} FROM given")


def _dictionary(session: Session, world: World, table: str, column: str) -> str:
    """The table of a column's values and labels, made of those that occur."""
    made: dict[object, tuple[object, ...]] = {}
    if table == "people":
        for person in world.people:
            at = [replace(world, levels=levels) for levels in ((0, 0, 0), (1, 1, 1), (1, 2, 1), (1, 3, 1))]
            place = PEOPLE.index(column)
            path = [worlds.class_of(each, person)[place] for each in at]
            made[path[0]] = tuple(path[: 4 if column == "age" else 2])
        own = "VARCHAR" if column == "sex" else "INTEGER"
    else:
        place = world.columns(table).index(column)
        paths = []
        for level in range(3 if column == "kind" else 4):
            levels = (level, 0) if column == "kind" else (0, level)
            at_level = replace(world, event_levels={**world.event_levels, table: levels})
            paths.append([label[place] for label in worlds.labels_of(at_level, table)])
        made = {path[0]: path for path in zip(*paths, strict=True)}
        own = "VARCHAR" if column == "kind" else "INTEGER" if world.anchor else "DATE"
    name = f"labels_of_{table}_{column}"
    height = len(next(iter(made.values()), LEVELS))
    types = dict(zip(LEVELS[:height], (own, *["VARCHAR"] * 3), strict=False))
    _create(session, name, types, made.values())
    return name


def _curve(
    world: World, classes: Mapping[UUID, Label], rows: Iterable[tuple[UUID, Label]]
) -> Iterator[tuple[int, ...]]:
    names = [*world.events]
    found = released(classes, rows)
    of = defaultdict[UUID, list[tuple[str, Label]]](list)
    places = Counter[tuple[UUID, str]]()
    for key, label in rows:
        table = str(label[0])
        place = places[key, table]
        places[key, table] += 1
        of[key].append((md5(f"{key} {names.index(table)} {place}".encode()).hexdigest(), label))
    for known in range(1, 6):
        people = sorted((key for key in of if len(of[key]) >= known), key=str)
        fitting = []
        for key in people[:1000]:
            facts = [label for _, label in sorted(of[key], key=lambda row: row[0])[:known]]
            fitting.append(sum(has(found.rows[other], facts) for other in classes if classes[other] == classes[key]))
        yield known, len(people), sum(n < world.k for n in fitting), fitting.count(1), len(fitting)


def _facts(world: World, classes: Mapping[int, Label], rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    yield "known_facts", str(world.m)
    yield "suppressed_people", str(len(world.people) - len(classes))
    if world.anchor:
        yield "relative_time", "since" if world.anchor == "COLUMN" else world.anchor
    for name, events in world.events.items():
        lost = Counter(event.person for event in events)
        lost.subtract(row.person for row in rows if row.label[0] == name)
        losers = sum(number > 0 for number in lost.values())
        told = str(lost.total()) if losers >= world.k or not losers else f"of fewer than {world.k} people"
        yield f"removed_rows {name}", told
