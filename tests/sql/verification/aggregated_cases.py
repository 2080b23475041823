"""Random releases with aggregated columns that are written, and the rows that they should have, by the definitions."""

import datetime
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from tableveil.aggregation.aggregates import aggregate
from tableveil.backend import Session
from tableveil.classes import ClassValues, EquivalenceClasses
from tableveil.counting import CountedColumns, build_base, open_counter
from tableveil.dictionary import AggregatedDictionary, build_aggregated, build_dictionary, build_sensitive
from tableveil.dictionary.values import CodedAttribute
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.microaggregation.classes import classes_of
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    KAnonymity,
    NullHandling,
    OrderBy,
    Policy,
    ReleaseKind,
    ReleaseTarget,
    Role,
    Scale,
    SuppressedRecords,
    TableReference,
    ValueOrder,
)
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.release import ReleasePlan
from tableveil.release.by_value import by_value
from tableveil.release.clusters import Clusters, Members
from tableveil.release.objects import write_objects, written_objects
from tableveil.source import resolve_source
from tableveil.verification.written import Written

MEAN, MEDIAN, MODE, GEOMETRIC, INTERVAL, COMMON = AggregateFunction
NUMBER = 2_000_000

Draw = Callable[[Random], Any]
UTC = datetime.UTC


def day(n: int) -> datetime.date:
    return datetime.date(2020, 1, 1) + datetime.timedelta(days=n)


def moment(n: int) -> datetime.datetime:
    return datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=n, microseconds=7 * n)


@dataclass(frozen=True)
class Spec:
    """A column of a type, with values that are drawn, and how it is aggregated; `key` is what values are ordered by."""

    type: str
    draw: Draw
    aggregation: Aggregation
    hierarchy: InlineLevels | SuppressionOnly | None = None
    order: ValueOrder = field(default_factory=ValueOrder)
    key: Callable[[Any], Any] | None = None


TREE = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*"), ("d", "de", "*"), ("e", "de", "*"))
SIZES = ("small", "medium", "large", "huge")

SPECS = {
    "mean": Spec("INTEGER", lambda r: r.randrange(-3, 9), Aggregation(MEAN)),
    "mean_coded": Spec("DOUBLE", lambda r: r.gauss(0, 1), Aggregation(MEAN, bottom_coding="-1", top_coding="0.5")),
    "mean_large": Spec("UBIGINT", lambda r: 2**52 + r.randrange(9), Aggregation(MEAN)),
    "mean_zero": Spec("FLOAT", lambda r: r.choice([-0.0, 0.0, 0.5]), Aggregation(MEAN)),
    "mean_huge": Spec("DOUBLE", lambda r: r.choice([-1e140, 1e140, 3e139]), Aggregation(MEAN)),
    "mean_day": Spec("DATE", lambda r: day(r.randrange(9)), Aggregation(MEAN)),
    "mean_second": Spec("TIMESTAMP_S", lambda r: moment(r.randrange(9)).replace(microsecond=0), Aggregation(MEAN)),
    "mean_moment": Spec("TIMESTAMP", lambda r: moment(r.randrange(9)), Aggregation(MEAN)),
    "median": Spec("DECIMAL(9, 2)", lambda r: Decimal(r.randrange(90)) / 4, Aggregation(MEDIAN)),
    "median_day": Spec("DATE", lambda r: day(r.randrange(9)), Aggregation(MEDIAN, top_coding="2020-01-05")),
    "median_zone": Spec("TIMESTAMPTZ", lambda r: moment(r.randrange(9)).replace(tzinfo=UTC), Aggregation(MEDIAN)),
    "mode": Spec("INTEGER", lambda r: r.randrange(4), Aggregation(MODE)),
    "mode_coded": Spec("SMALLINT", lambda r: r.randrange(9), Aggregation(MODE, bottom_coding="3", top_coding="6")),
    "mode_day": Spec("DATE", lambda r: day(r.randrange(4)), Aggregation(MODE, bottom_coding="2020-01-02")),
    "geometric": Spec("DOUBLE", lambda r: 10 ** r.uniform(-3, 3), Aggregation(GEOMETRIC)),
    "interval": Spec("INTEGER", lambda r: r.randrange(-9, 30), Aggregation(INTERVAL, grid=Decimal(5))),
    "interval_coded": Spec(
        "INTEGER",
        lambda r: r.randrange(-9, 30),
        Aggregation(INTERVAL, grid=Decimal(3), bottom_coding="1", top_coding="20"),
    ),
    "interval_decimal": Spec(
        "DECIMAL(9, 1)", lambda r: Decimal(r.randrange(-9, 9)) / 10, Aggregation(INTERVAL, grid=Decimal("0.1"))
    ),
    "interval_day": Spec("DATE", lambda r: day(r.randrange(30)), Aggregation(INTERVAL, grid=Decimal(7))),
    "interval_moment": Spec("TIMESTAMP", lambda r: moment(r.randrange(9)), Aggregation(INTERVAL, grid=Decimal("1.5"))),
    "listed": Spec(
        "VARCHAR",
        lambda r: r.choice(SIZES),
        Aggregation(MEDIAN, Scale.ORDINAL),
        order=ValueOrder(values=SIZES),
        key=SIZES.index,
    ),
    "numbers": Spec(
        "VARCHAR",
        lambda r: r.choice(["9", "10", "1e3"]),
        Aggregation(MODE, Scale.ORDINAL),
        order=ValueOrder(OrderBy.NUMBER),
        key=float,
    ),
    "typed": Spec("DOUBLE", lambda r: r.choice([0.5, math.inf, -2.0]), Aggregation(MEDIAN, Scale.ORDINAL)),
    "nominal_mode": Spec("BOOLEAN", lambda r: r.random() < 0.5, Aggregation(MODE, Scale.NOMINAL), SuppressionOnly()),
    "enum": Spec(
        "ENUM('e', 'd', 'c', 'b', 'a', 'never')",
        lambda r: r.choice("abcde"),
        Aggregation(MODE, Scale.NOMINAL),
        InlineLevels(TREE),
        # An ENUM's own order is that of its declaration.
        key="edcba".index,
    ),
    "common": Spec("VARCHAR", lambda r: r.choice("abcde"), Aggregation(COMMON, Scale.NOMINAL), InlineLevels(TREE)),
}

NAMES = ["value", "n", "c0", "a0", "class", "place", "rows", 'it\'s "q"', "größe", "x0", "v0", "first", "w0", "p"]
"""Names that the statements use themselves, and others that need quoting."""


# --- the definitions ------------------------------------------------------------------------------------------------


def replaced(spec: Spec, values: Sequence[Any]) -> Any:
    """The value that replaces these values of a class, as it is read from the release."""
    aggregation = spec.aggregation
    if aggregation.scale is not Scale.NUMERIC:
        return _of_members(spec, values)
    numbers = sorted(_coded(spec, _number(value)) for value in values)
    n = len(numbers)
    match aggregation.function:
        case AggregateFunction.MEAN:
            return _released(spec, sum(numbers, Fraction(0)) / n)
        case AggregateFunction.MEDIAN:
            return _released(spec, (numbers[(n - 1) // 2] + numbers[n // 2]) / 2)
        case AggregateFunction.GEOMETRIC_MEAN:
            return math.exp(math.fsum(math.log(x) for x in numbers) / n)
        case AggregateFunction.MODE:
            counts = Counter(numbers)
            most = min(x for x in counts if counts[x] == max(counts.values()))
            return _released(spec, most) if spec.type == "DATE" else int(most)
        case _:
            return _interval(spec, numbers)


def _of_members(spec: Spec, values: Sequence[Any]) -> Any:
    if spec.aggregation.function is COMMON:
        paths = {row[0]: row for row in TREE}
        for level in range(3):
            labels = {paths[value][level] for value in values}
            if len(labels) == 1:
                return labels.pop()
    ordered = sorted(values, key=spec.key)
    if spec.aggregation.function is MEDIAN:
        return ordered[(len(values) - 1) // 2]
    counts = Counter(values)
    return min((value for value in counts if counts[value] == max(counts.values())), key=spec.key)


def _number(value: Any) -> Fraction:
    if isinstance(value, datetime.datetime):
        microseconds = (value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(
            microseconds=1
        )
        return Fraction(microseconds, 10**6)
    if isinstance(value, datetime.date):
        return Fraction((value - datetime.date(1970, 1, 1)).days)
    return Fraction(value)


def coding(spec: Spec, text: str) -> Fraction | None:
    if not text:
        return None
    return _number(datetime.date.fromisoformat(text)) if spec.type == "DATE" else Fraction(text)


def _coded(spec: Spec, x: Fraction) -> Fraction:
    bottom, top = (coding(spec, text) for text in (spec.aggregation.bottom_coding, spec.aggregation.top_coding))
    x = x if bottom is None else max(x, bottom)
    return x if top is None else min(x, top)


def _released(spec: Spec, x: Fraction) -> Any:
    if spec.type == "DATE":
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=round(x))
    if spec.type.startswith("TIMESTAMP"):
        steps = 1 if spec.type == "TIMESTAMP_S" else 10**6
        time = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=round(x * steps) * (10**6 // steps))
        return time.replace(tzinfo=UTC) if spec.type == "TIMESTAMPTZ" else time
    return float(x)


def _interval(spec: Spec, numbers: Sequence[Fraction]) -> str:
    grid = Fraction(spec.aggregation.grid or 0)
    low, high = numbers[0] // grid * grid, (numbers[-1] // grid + 1) * grid
    bottom, top = (coding(spec, text) for text in (spec.aggregation.bottom_coding, spec.aggregation.top_coding))

    def text(x: Fraction) -> str:
        if spec.type == "DATE":
            return (datetime.date(1970, 1, 1) + datetime.timedelta(days=int(x))).isoformat()
        if spec.type == "TIMESTAMP":
            shown: str = _released(spec, x).isoformat()
            return shown.rstrip("0") if "." in shown else shown
        return str(int(x)) if x == int(x) else str(float(x))

    if numbers[0] == bottom:
        return "*" if numbers[-1] == top else f"< {text(high)}"
    if numbers[-1] == top:
        return f">= {text(low)}"
    closed = spec.type in ("INTEGER", "DATE")
    return f"[{text(low)}, {text(high - 1)}]" if closed else f"[{text(low)}, {text(high)})"


# --- releases -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A release that is written; `expected` are its kept rows, of the columns `compared`, by the definitions."""

    policy: Policy
    plan: ReleasePlan
    written: Written
    compared: list[str]
    expected: list[tuple[Any, ...]]
    specs: dict[str, Spec]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def written_case(session: Session, seed: int, clusters: bool, chosen: Sequence[str] = (), records: int = 0) -> Case:
    """A random table of clusters, or of classes of a generalized column some of which are released."""
    random = Random(seed)
    specs = [SPECS[name] for name in chosen or random.sample(sorted(SPECS), random.randrange(1, 4))]
    names = random.sample(NAMES, len(specs))
    columns: list[tuple[str, str, Draw]] = [
        ("s", "VARCHAR", lambda r: r.choice(["flu", "cold", None])),
        ("i", "INTEGER", lambda r: r.randrange(3)),
        *((name, spec.type, spec.draw) for name, spec in zip(names, specs, strict=True)),
    ]
    columns += [] if clusters else [("g", "VARCHAR", lambda r: r.choice("pqrs"))]
    random.shuffle(columns)
    rows = _rows(random, columns, names, records or random.randrange(1, 40))
    declared = ", ".join(f"{quoted(name)} {type_}" for name, type_, _ in columns)
    session.execute(f"CREATE OR REPLACE TABLE people ({declared})")
    places = ", ".join(f"({', '.join('?' * len(columns))})" for _ in rows)
    session.execute(f"INSERT INTO people VALUES {places}", [value for row in rows for value in row])
    policy = _policy(random, dict(zip(names, specs, strict=True)), clusters)
    source, policy, faults = resolve_source(session, policy)
    assert source is not None, faults
    source = source.clustered(names)
    complete = [dict(zip([name for name, _, _ in columns], row, strict=True)) for row in rows]
    complete = [row for row in complete if all(row[name] is not None for name in names)]
    attributes = {attribute.column: attribute for attribute in policy.attributes}
    aggregated = [
        _built(session, source, attributes[name], spec.hierarchy, j)
        for j, (name, spec) in enumerate(zip(names, specs, strict=True))
    ]
    sensitive, _ = build_sensitive(session, source, CodedAttribute(attributes["s"], None, "", 50, ""))
    assert sensitive is not None
    if clusters:
        classes, members, groups = _clusters(session, random, complete, aggregated, sensitive)
        kept, of_columns = np.ones(len(groups), np.bool_), [_values_of(members, j) for j in range(len(names))]
        aggregates = tuple(aggregate(d.values, values) for d, values in zip(aggregated, of_columns, strict=True))
        plan = ReleasePlan(
            policy,
            source,
            (),
            Clusters(tuple(zip(aggregated, aggregates, strict=True)), members),
            classes,
            kept,
            len(rows),
            (sensitive,),
        )
        compared = [*names, "s"]
    else:
        labels = InlineLevels((("p", "pq", "*"), ("q", "pq", "*"), ("r", "rs", "*"), ("s", "rs", "*")))
        dictionary, _ = build_dictionary(session, source, CodedAttribute(attributes["g"], labels, "", 60, ""))
        assert dictionary is not None
        base = build_base(
            session, source, [dictionary], CountedColumns((sensitive,), tuple(aggregated)), len(rows) - len(complete)
        )
        level = random.randrange(3)
        classes = open_counter(session, base, (0,)).classes((level,))
        kept = np.array([random.random() < 0.7 for _ in classes.counts], np.bool_)
        kept[0] = True
        aggregates = tuple(aggregate(d.values, classes.values(1 + j)) for j, d in enumerate(aggregated))
        plan = ReleasePlan(
            policy,
            source,
            (dictionary,),
            by_value((level,), tuple(zip(aggregated, aggregates, strict=True))),
            classes,
            kept,
            len(rows),
            (sensitive,),
        )
        groups, compared = _kept_groups(complete, level, plan, labels), ["g", *names, "s", "i"]
    expected = []
    for group in groups:
        shown = {name: replaced(spec, [row[name] for row in group]) for name, spec in zip(names, specs, strict=True)}
        expected += [tuple({**row, **shown}[name] for name in compared) for row in group]
    plan.recoding.stage(session, plan)
    write_objects(session, plan, NUMBER + seed)
    written = written_objects(session, plan, NUMBER + seed)
    return Case(policy, plan, written, compared, expected, dict(zip(names, specs, strict=True)))


def _rows(random: Random, columns: Any, names: Sequence[str], records: int) -> list[tuple[Any, ...]]:
    rows = []
    for i in range(records):
        # One record is always complete, so that there is something to release.
        nulls = {name for name in names if i and random.random() < 0.05}
        rows.append(tuple(None if name in nulls else draw(random) for name, _, draw in columns))
    random.shuffle(rows)
    return rows


def _policy(random: Random, specs: dict[str, Spec], clusters: bool) -> Policy:
    handling = random.choice([SuppressedRecords.DROP, SuppressedRecords.BLANK])
    attributes = [
        AttributePolicy(
            name,
            Role.QUASI_IDENTIFIER,
            spec.hierarchy,
            nulls=NullHandling.SUPPRESS,
            order=spec.order,
            aggregation=spec.aggregation,
        )
        for name, spec in specs.items()
    ]
    attributes += [AttributePolicy("s", Role.SENSITIVE), AttributePolicy("i", Role.INSENSITIVE, acknowledged=True)]
    attributes += [] if clusters else [AttributePolicy("g", Role.QUASI_IDENTIFIER, SuppressionOnly())]
    return Policy(
        source=TableReference("", "main", "people"),
        attributes=tuple(attributes),
        person_column=None,
        privacy_models=(KAnonymity(1),),
        release=ReleaseTarget("main", "released", kind=random.choice(list(ReleaseKind))),
        suppression_limit=Decimal(1),
        suppressed_records=handling,
        marker_column="" if handling is SuppressedRecords.DROP else "gone",
        methods=(Microaggregation(),) if clusters else (),
    )


def _built(session: Session, source: Any, attribute: AttributePolicy, hierarchy: Any, j: int) -> AggregatedDictionary:
    dictionary, faults = build_aggregated(session, source, CodedAttribute(attribute, hierarchy, "", j, ""))
    assert dictionary is not None, faults
    return dictionary


def _codes(session: Session, dictionary: Any) -> dict[Any, int]:
    return dict(session.rows(f"SELECT value, code FROM {dictionary.table_name}"))


def _clusters(
    session: Session,
    random: Random,
    rows: list[dict[str, Any]],
    aggregated: Sequence[AggregatedDictionary],
    sensitive: Any,
) -> tuple[EquivalenceClasses, Members, list[list[dict[str, Any]]]]:
    """Records that are put into clusters without regard to their values."""
    random.shuffle(rows)
    groups = [[row] for row in rows[: random.randrange(1, len(rows) + 1)]]
    for row in rows[len(groups) :]:
        random.choice(groups).append(row)
    dictionaries = [*aggregated, sensitive]
    codes = [_codes(session, dictionary) for dictionary in dictionaries]
    entries = Counter(
        (c, *(codes[i][row[d.column.name]] for i, d in enumerate(dictionaries)))
        for c, group in enumerate(groups)
        for row in group
    )
    found = np.array(list(entries), np.int64).reshape(len(entries), len(dictionaries) + 1)
    of_columns = tuple(found[:, 1 + i].astype(np.int32) for i in range(len(dictionaries)))
    members = Members(
        by=(sensitive,),
        codes=of_columns[:-1],
        sensitive=of_columns[-1:],
        classes=found[:, 0],
        counts=np.array(list(entries.values()), np.int64),
    )
    return classes_of(np.array([len(group) for group in groups], np.int64), ()), members, groups


def _values_of(members: Members, j: int) -> ClassValues:
    order = np.lexsort((members.codes[j], members.classes))
    codes, classes = members.codes[j][order].astype(np.intp), members.classes[order].astype(np.intp)
    return ClassValues(classes, codes, members.counts[order])


def _kept_groups(
    rows: list[dict[str, Any]], level: int, plan: ReleasePlan, labels: InlineLevels
) -> list[list[dict[str, Any]]]:
    """The complete records of the classes that are kept, with their labels."""
    (dictionary,) = plan.dictionaries
    of_value = {row[0]: row[level] for row in labels.rows}
    present = sorted({row["g"] for row in rows})
    of_group = {int(dictionary.levels.groups[level][code]): of_value[value] for code, value in enumerate(present)}
    kept = [of_group[int(group)] for group in plan.classes.layout.unpack(plan.classes.words, 0)[plan.kept]]
    return [[{**row, "g": label} for row in rows if of_value[row["g"]] == label] for label in kept]


def drop(session: Session, case: Case) -> None:
    """Lets the same session make another case."""
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE temporary"):
        session.execute(f'DROP TABLE temp."{name}"')
    kind = case.policy.release.kind
    for name in case.policy.release.object_names:
        session.execute(f"DROP {kind if name == 'released' else 'TABLE'} {name}")
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'snapshot_%'"):
        session.execute(f"DROP TABLE tableveil.{name}")
    session.execute("DELETE FROM tableveil.sensitive_distributions")
