"""A release of people and their events: fresh keys, and a plan for the rows of each table that has them.

The plan of an event table is one of a release by value, whose classes are the labels of rows: so rows, labels and
columns are written as those of any release.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, column, expression, render, table
from tableveil.classes import EquivalenceClasses, KeyLayout
from tableveil.dictionary import Dictionary
from tableveil.errors import InternalError
from tableveil.hierarchy import ValueKind
from tableveil.lattice import Transformation
from tableveil.policy import AttributePolicy, Policy, Role
from tableveil.related.staging import StagedEvents, of_people
from tableveil.release.by_value import ByValue
from tableveil.release.plan import ReleasePlan
from tableveil.repair.account import RepairAccount
from tableveil.repair.facts import RowFacts
from tableveil.repair.problem import CodedCombinations
from tableveil.source import Column

Ints = NDArray[np.int32]

KEY_TYPE = "UUID"

_KEYS = "person_keys"
_PEOPLE_ROWS = "keyed_people"


@dataclass(frozen=True, slots=True, eq=False)
class EventRelease:
    """The kept rows of an event table: their plan, the staged rows, and per place of these whether it is kept.

    `removed` rows are not, which `losers` people had. `people` has each staged row's person, by its place. `labels`
    has the number of each of the plan's labels among those of all tables.
    """

    plan: ReleasePlan
    staged: StagedEvents
    kept: NDArray[np.bool_]
    people: Ints
    removed: int
    losers: int
    labels: Ints

    @property
    def name(self) -> str:
        """The name of the event table."""
        return self.staged.event.name


@dataclass(frozen=True, slots=True, eq=False)
class RelatedRelease:
    """All rows of a release of people and events: those of `people`, with a fresh `key`, and of their `events`.

    By their numbers, people have `keys` and, unless they are suppressed, a class. `facts` are those of the kept rows.
    The `account` is the owner's.
    """

    key: str
    people: ReleasePlan
    events: tuple[EventRelease, ...]
    keys: NDArray[np.void]
    class_of: Ints
    facts: RowFacts
    k: int
    m: int
    account: RepairAccount

    @property
    def suppressed(self) -> int:
        """How many people are not released."""
        return int(np.count_nonzero(self.class_of < 0))

    def told(self) -> Iterator[tuple[str, str]]:
        """The facts that everybody may know: numbers of what is missing, unless they would tell of few people."""
        time = None if self.people.policy.related is None else self.people.policy.related.relative_time
        yield "known_facts", str(self.m)
        if time is not None:
            yield "relative_time", time.column or str(time.anchor)
        yield "suppressed_people", str(self.suppressed)
        for events in self.events:
            few = 0 < events.losers < self.k
            told = f"of fewer than {self.k} people" if few else str(events.removed)
            yield f"removed_rows {events.name}", told

    def uuids(self, people: NDArray[np.integer[Any]]) -> pa.Array:
        """The keys of people."""
        held = np.ascontiguousarray(self.keys[people])
        stored = pa.Array.from_buffers(pa.binary(16), len(held), [None, pa.py_buffer(held)])
        return pa.ExtensionArray.from_storage(pa.uuid(), stored)

    def stage(self, session: Session) -> None:
        """Puts the rows with their keys into temporary tables."""
        people = np.arange(len(self.keys), dtype=np.int32)
        session.keep(_KEYS, pa.table({"p": pa.array(people), "key": self.uuids(people)}))
        source = replace(self.people.source, staged="")
        shown = [
            alias(column("key", "keys"), self.key) if each.name == self.key else column(each.name, "source")
            for each in self.people.source.columns
        ]
        query = of_people(source, self.key).select(*shown)
        session.stage(_PEOPLE_ROWS, query.join(table(_KEYS, alias="keys"), on=expression("people.p = keys.p")))
        for events in self.events:
            _stage_kept(session, self, events)


def people_plan(plan: ReleasePlan, key: str) -> ReleasePlan:
    """The plan of the people's rows with their fresh key, which is a column as it is."""
    columns = tuple(_key_column(key) if each.name == key else each for each in plan.source.columns)
    attributes = tuple(
        AttributePolicy(key, Role.INSENSITIVE) if attribute.column == key else attribute
        for attribute in plan.policy.attributes
    )
    source = replace(plan.source, columns=columns, staged=_PEOPLE_ROWS)
    return replace(plan, policy=replace(plan.policy, attributes=attributes), source=source, key=key)


def fresh_keys(people: int) -> NDArray[np.void]:
    """A random key of 128 bits for each of so many people."""
    return np.frombuffer(secrets.token_bytes(16 * people), "V16")


@dataclass(frozen=True, slots=True, eq=False)
class LabelledEvents:
    """The staged rows of an event table: people, places, combinations and which are kept; each combination's label."""

    staged: StagedEvents
    combinations: CodedCombinations
    labels: Ints
    people: Ints
    places: Ints
    of: Ints
    kept: NDArray[np.bool_]


def event_release(
    policy: Policy,
    key: str,
    number: int,
    events: LabelledEvents,
    dictionaries: Sequence[Dictionary],
    at: Transformation,
) -> EventRelease:
    """The release of the event table of that number at these levels."""
    staged, combinations, labels = events.staged, events.combinations, events.labels
    people, places, of, chosen = events.people, events.places, events.of, events.kept
    kept, of_place = np.zeros(staged.rows, np.bool_), np.zeros(staged.rows, np.int32)
    kept[places], of_place[places] = chosen, people
    counts = np.bincount(labels[of[chosen]], minlength=int(labels.max(initial=-1)) + 1)
    # Any combination of a label stands for it.
    some = np.zeros(len(counts), np.int32)
    some[labels] = np.arange(len(labels), dtype=np.int32)
    present = np.flatnonzero(counts)
    columns = zip(combinations.levels, combinations.codes, at, strict=True)
    groups = [levels.groups[level][codes[some[present]]] for levels, codes, level in columns]
    layout = KeyLayout.of([len(each.levels.leaves[level]) for each, level in zip(dictionaries, at, strict=True)])
    words = layout.pack(groups)
    order = np.lexsort(words[::-1])
    classes = EquivalenceClasses(layout, tuple(word[order] for word in words), counts[present[order]], at)
    released = [column for column in staged.source.columns if column.name not in (staged.person, staged.place)]
    source = replace(staged.source, columns=(_key_column(key), *released), staged=f"keyed_rows_{number}")
    own = (attribute for attribute in staged.event.attributes if attribute.role is not Role.IDENTIFYING)
    plan = ReleasePlan(
        policy=replace(policy, attributes=(AttributePolicy(key, Role.INSENSITIVE), *own)),
        source=source,
        dictionaries=tuple(dictionaries),
        recoding=ByValue(at),
        classes=classes,
        kept=np.ones(len(order), np.bool_),
        records=int(counts.sum()),
        key=key,
        days=staged.days,
    )
    losers = len(np.unique(of_place[~kept]))
    return EventRelease(plan, staged, kept, of_place, staged.rows - int(kept.sum()), losers, present[order])


def _stage_kept(session: Session, related: RelatedRelease, events: EventRelease) -> None:
    """The kept rows with their keys: the mask stands beside the staged rows, in the order in which they are read."""
    staged = events.staged
    rows = staged.source.table()
    places = session.arrays(exp.select(alias(column(staged.place), "place")).from_(rows))["place"]
    beside = pa.table(
        {"place": pa.array(places), "kept": pa.array(events.kept[places]), "key": related.uuids(events.people[places])}
    )
    with session.relation("beside_rows", beside):
        shown: list[exp.Expr] = [alias(column("key", "m"), related.key)]
        shown += [column(each.name, "r") for each in events.plan.source.columns[1:]]
        listed = ", ".join(map(render, shown))
        number = session.stage(
            events.plan.source.staged,
            f"SELECT {listed} FROM {render(rows)} AS r POSITIONAL JOIN beside_rows AS m "
            f"WHERE m.kept AND m.place = {render(column(staged.place, 'r'))}",
        )
    if number != events.plan.records:
        raise InternalError("VERIFICATION_FAILED", "staged rows were not read in the order in which they were numbered")


def _key_column(key: str) -> Column:
    return Column(key, KEY_TYPE, ValueKind.OTHER)
