"""Points as read from a table: its distinct combinations of values, whatever the order and the number of columns."""

from collections import Counter
from random import Random

import pyarrow as pa

from tableveil.backend import Session
from tableveil.counting import CountedColumns
from tableveil.counting.points import read_points
from tableveil.dictionary import build_aggregated, build_sensitive
from tableveil.dictionary.values import CodedAttribute
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.source import resolve_source


def test_every_combination_comes_once_with_its_records(session: Session) -> None:
    random = Random(1)
    # Codes of so many columns need several words.
    names = [f"x {j}" for j in range(14)]
    kinds = [[random.uniform(-5, 5) for _ in range(40)] for _ in names]
    some = [tuple(random.choice(values) for values in kinds) for _ in range(60)]
    rows = [(*random.choice(some), random.choice(["flu", "cold", None])) for _ in range(300)]
    # One value in two spellings, and a record that is set aside.
    rows += [(0.0, *some[0][1:], "flu"), (-0.0, *some[0][1:], "flu"), (None, *some[0][1:], "flu")]
    random.shuffle(rows)
    columns = [*names, "illness"]
    data = pa.table({name: pa.array([row[j] for row in rows]) for j, name in enumerate(columns)})
    with session.relation("given", data):
        session.execute("CREATE TABLE people AS FROM given")
    attributes = tuple(
        AttributePolicy(name, Role.QUASI_IDENTIFIER, nulls=NullHandling.SUPPRESS, aggregation=Aggregation())
        for name in names
    )
    illness = AttributePolicy("illness", Role.SENSITIVE)
    reference, target = TableReference("", "main", "people"), ReleaseTarget("main", "out")
    policy = Policy(reference, (*attributes, illness), None, (KAnonymity(2),), target)
    source, _, faults = resolve_source(session, policy)
    assert source is not None, faults
    source = source.clustered(names)
    aggregated = [
        build_aggregated(session, source, CodedAttribute(a, None, "", j, ""))[0] for j, a in enumerate(attributes)
    ]
    sensitive, _ = build_sensitive(session, source, CodedAttribute(illness, None, "", len(names), ""))
    assert sensitive is not None
    points = read_points(
        session, source, CountedColumns((sensitive,), tuple(found for found in aggregated if found is not None))
    )
    held = [row for (row,) in session.rows(f"SELECT value FROM {sensitive.table_name} ORDER BY code")]
    read = [
        (
            *(float(column.positions[codes[i]]) for column, codes in zip(points.columns, points.codes, strict=True)),
            held[points.sensitive[0][i]],
        )
        for i in range(len(points.counts))
    ]
    assert len(set(read)) == len(read)
    assert dict(zip(read, points.counts.tolist(), strict=True)) == Counter(row for row in rows if row[0] is not None)
    codes = list(zip(*(codes.tolist() for codes in (*points.codes, *points.sensitive)), strict=True))
    assert codes == sorted(codes)
