"""Random releases that are written, with what a direct look at their rows says of them."""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tableveil.backend import Session
from tableveil.counting import CountedColumns, build_base, open_counter
from tableveil.dictionary import build_dictionary, build_sensitive
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import InternalError
from tableveil.hierarchy import InlineLevels
from tableveil.policy import (
    AttributePolicy,
    NullHandling,
    NullPosition,
    OrderBy,
    Policy,
    Population,
    PrivacyModel,
    ReleaseTarget,
    Role,
    SuppressedRecords,
    TableReference,
    TCloseness,
    ValueOrder,
)
from tableveil.release import ReleasePlan
from tableveil.release.by_value import ByValue
from tableveil.release.objects import write_objects, written_objects
from tableveil.source import resolve_source
from tableveil.verification import verify
from tableveil.verification.written import Written
from tests.sql.verification.definitions import Value

LABELS: dict[str, dict[Any, tuple[str | None, ...]]] = {
    "a": {1: ("low", "*"), 2: ("low", "*"), 3: ("high", "*"), 4: ("high", "*"), None: (None, "*")},
    "b": {"p": ("pq", "*"), "q": ("pq", "*"), "r": ("rs", "*"), "s": ("rs", "*"), None: (None, "*")},
    "s": {
        "2": ("few", "some", "*"),
        "3": ("few", "some", "*"),
        "10": ("ten", "some", "*"),
        "20": ("many", "lots", "*"),
        "30": ("many", "lots", "*"),
        None: (None, None, "*"),
    },
}
NUMBERS = 1_000_000
"""Numbers of the releases, beyond those of others in the same database."""

Row = tuple[Any, ...]


def hierarchy(name: str) -> InlineLevels:
    return InlineLevels(tuple((str(v), *map(str, labels)) for v, labels in LABELS[name].items() if v is not None))


def policy_of(random: Random) -> Policy:
    nulls = random.choice(list(NullPosition))
    handling = random.choice(list(SuppressedRecords))
    return Policy(
        source=TableReference("", "main", "people"),
        attributes=(
            AttributePolicy("a", Role.QUASI_IDENTIFIER, hierarchy("a"), nulls=NullHandling.SUPPRESS),
            AttributePolicy("b", Role.QUASI_IDENTIFIER, hierarchy("b")),
            AttributePolicy("s", Role.SENSITIVE, hierarchy("s"), order=ValueOrder(OrderBy.NUMBER, nulls=nulls)),
        ),
        person_column=None,
        privacy_models=(TCloseness("s", Decimal(1)),),
        release=ReleaseTarget("main", "released"),
        suppression_limit=Decimal(1),
        suppressed_records=handling,
        marker_column="" if handling is SuppressedRecords.DROP else "gone",
        population=Population(table=TableReference("", "main", "everybody")),
    )


@dataclass(frozen=True)
class Case:
    """A release that is written, and what a direct look at the rows says of it.

    `judged` are the values of each class that models look at, the pool of suppressed records among them; `people` are
    the numbers of records and of people of each; with `pool` the last of all is the pool.
    """

    policy: Policy
    plan: ReleasePlan
    written: Written
    rows: list[Row]
    judged: list[list[Value]]
    supersets: list[list[list[Value]]]
    people: list[tuple[int, int]]
    sizes: list[int]
    pool: bool

    @property
    def values(self) -> list[Value]:
        return [s for *_, s in self.rows]

    @property
    def order(self) -> list[Value]:
        """All values as the policy orders them."""
        numbers: list[Value] = [*sorted({v for v in self.values if v is not None}, key=int)]
        nulls: list[Value] = [None] if None in self.values else []
        first = self.policy.attributes[2].order.nulls is NullPosition.FIRST
        return nulls + numbers if first else numbers + nulls


def label(name: str, value: Any, level: int) -> Any:
    return LABELS[name][value][level - 1] if level else value


def written_case(session: Session, seed: int) -> Case:
    """A random table, some of whose classes are released at random levels."""
    random = Random(seed)
    policy = policy_of(random)
    rows: list[Row] = [
        (random.choice([1, 1, 2, 3, 4, None]), random.choice("pqrs"), random.choice(["2", "3", "10", "20", "30", None]))
        for _ in range(random.randrange(1, 60))
    ]
    strangers = [(random.choice([1, 2, 3, 4, None]), random.choice("pqrs")) for _ in range(random.randrange(40))]
    everybody = [row[:2] for row in rows] + strangers
    for name, columns, content in (("people", "abs", rows), ("everybody", "ab", everybody)):
        types = {"a": pa.int32(), "b": pa.string(), "s": pa.string()}
        data = {c: pa.array([row[i] for row in content], types[c]) for i, c in enumerate(columns)}
        with session.relation("given", pa.table(data)):
            session.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
    source, policy, faults = resolve_source(session, policy)
    assert source is not None, faults
    dictionaries = []
    for j, attribute in enumerate(policy.quasi_identifiers):
        dictionary, found = build_dictionary(
            session, source, CodedAttribute(attribute, hierarchy(attribute.column), "", j, "")
        )
        assert dictionary is not None, found
        dictionaries.append(dictionary)
    sensitive, found = build_sensitive(
        session, source, CodedAttribute(policy.attributes[2], hierarchy("s"), "", 2, ""), ordered=True
    )
    assert sensitive is not None, found
    base = build_base(session, source, dictionaries, CountedColumns((sensitive,)))
    counter = open_counter(session, base, (0, 0))
    levels = (random.randrange(3), random.randrange(3))
    classes = counter.classes(levels)
    kept = np.array([random.random() < 0.7 for _ in classes.counts], np.bool_)
    plan = ReleasePlan(
        policy,
        source,
        base.dictionaries,
        ByValue(levels),
        classes,
        kept,
        counter.records,
        sensitive=base.columns.sensitive,
    )
    plan.recoding.stage(session, plan)
    number = NUMBERS + seed
    write_objects(session, plan, number)
    written = written_objects(session, plan, number)

    def key(row: Row, at: tuple[int, ...]) -> Row:
        return tuple(label(name, value, level) for name, value, level in zip("ab", row, at, strict=False))

    searchable = [row for row in rows if row[0] is not None]
    of_row = Counter(key(row, levels) for row in searchable)
    gone = "AND NOT gone" if plan.marker else ""
    released = {tuple(k) for k in session.rows(f"SELECT DISTINCT a, b FROM released WHERE true {gone}")}
    typed = {key(row, levels) for row in searchable}
    names = {tuple(map(str, k)): k for k in typed}
    shown = [names[tuple(map(str, k))] for k in sorted(released, key=repr)]
    judged = [[row[2] for row in searchable if key(row, levels) == k] for k in shown]
    known = Counter(key(row, levels) for row in everybody if row[0] is not None)
    people = [(of_row[k], known[k]) for k in shown]
    above = [at for at in itertools.product(range(3), range(3)) if all(x <= y for x, y in zip(levels, at, strict=True))]
    supersets = [
        [
            [row[2] for row in searchable if key(row, at) == key(example, at)]
            for example in [next(row for row in searchable if key(row, levels) == k)]
            for at in above
        ]
        for k in shown
    ]
    pool = [row[2] for row in rows if row[0] is None or key(row, levels) not in shown]
    shows_pool = policy.suppressed_records is SuppressedRecords.KEEP and bool(pool)
    if shows_pool:
        judged.append(pool)
        supersets.append([pool, [row[2] for row in rows]])
        people.append((len(pool), len(everybody) - sum(known[k] for k in shown)))
    return Case(policy, plan, written, rows, judged, supersets, people, [len(values) for values in judged], shows_pool)


def drop(session: Session, case: Case) -> None:
    """Lets the same session make another case."""
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE temporary"):
        session.execute(f'DROP TABLE temp."{name}"')
    for name in case.policy.release.object_names:
        session.execute(f"DROP TABLE {name}")
    session.execute("DELETE FROM tableveil.sensitive_distributions")


def problems_of(session: Session, case: Case, models: list[PrivacyModel]) -> str:
    """The verification's findings for the release under a policy with these models."""
    try:
        verify(session, replace(case.policy, privacy_models=tuple(models)), case.plan.records, case.written)
    except InternalError as error:
        return error.message
    return ""
