"""Random tables through whole jobs, read back by code that shares nothing with what wrote them."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.backend import Database
from tableveil.errors import InfeasibleError
from tableveil.hierarchy import InlineLevels
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    IfExists,
    KAnonymity,
    LossModel,
    NullHandling,
    Policy,
    ReleaseKind,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.state.releases import Release
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]
Value = str | None
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Column:
    """A quasi-identifier: per value its labels from level 0 to the top, and what NULL means."""

    labels: dict[str, list[str]]
    nulls: NullHandling

    @property
    def levels(self) -> int:
        return len(next(iter(self.labels.values())))

    def label(self, value: Value, level: int) -> Value:
        if level == self.levels - 1:
            return "*"
        return None if value is None else self.labels[value][level]


@dataclass(frozen=True)
class Problem:
    columns: tuple[Column, ...]
    # The quasi-identifiers and, last, a sensitive value.
    rows: tuple[Row, ...]
    k: int
    limit: Decimal
    aggregate: Aggregate
    kind: ReleaseKind
    suppressed: SuppressedRecords

    @property
    def names(self) -> list[str]:
        return [f"q{j}" for j in range(len(self.columns))]

    def policy(self) -> Policy:
        quasi_identifiers = (
            AttributePolicy(
                name,
                Role.QUASI_IDENTIFIER,
                InlineLevels(tuple(tuple(labels) for labels in column.labels.values())),
                nulls=column.nulls,
            )
            for name, column in zip(self.names, self.columns, strict=True)
        )
        return Policy(
            source=TableReference("", "main", "source"),
            attributes=(*quasi_identifiers, AttributePolicy("s", Role.SENSITIVE, acknowledged=True)),
            person_column=None,
            privacy_models=(KAnonymity(self.k),),
            release=replace(plain_target("main", "out", self.kind, IfExists.REPLACE), guards=UNGUARDED),
            suppression_limit=self.limit,
            suppressed_records=self.suppressed,
            marker_column="" if self.suppressed is SuppressedRecords.DROP else "gone",
            quality_model=LossModel(self.aggregate),
            repeat_reason="a test",
        )


@st.composite
def columns(draw: st.DrawFn) -> Column:
    labels = {value: [value] for value in "abcd"[: draw(st.integers(1, 4))]}
    for _ in range(draw(st.integers(0, 2))):
        above = {label: draw(st.sampled_from("axy")) for label in sorted({found[-1] for found in labels.values()})}
        for found in labels.values():
            found.append(above[found[-1]])
    for found in labels.values():
        found.append("*")
    return Column(labels, draw(st.sampled_from([NullHandling.VALUE, NullHandling.SUPPRESS])))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    chosen = draw(st.lists(columns(), min_size=1, max_size=3))
    values = [st.sampled_from(sorted(column.labels)) for column in chosen]
    with_null = [value | st.none() if draw(st.booleans()) else value for value in values]
    row = st.tuples(*with_null, st.sampled_from(["flu", "cold"]) | st.none())
    rows = draw(st.lists(row, min_size=2, max_size=16))
    return Problem(
        columns=tuple(chosen),
        rows=tuple(rows),
        k=draw(st.integers(2, min(4, len(rows)))),
        limit=draw(st.sampled_from([Decimal(text) for text in ("0", "0.1", "0.25", "0.33", "0.5", "1")])),
        aggregate=draw(st.sampled_from(Aggregate)),
        kind=draw(st.sampled_from(ReleaseKind)),
        suppressed=draw(st.sampled_from(SuppressedRecords)),
    )


@contextmanager
def plain(database: Database) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """DuckDB without anything of Tableveil's around it, on the same open file."""
    connection = cursor(database)
    yield lambda statement: connection.execute(statement).fetchall()
    connection.close()


def cursor(database: Database) -> duckdb.DuckDBPyConnection:
    assert database._connection is not None
    return database._connection.cursor()


def relabelled(problem: Problem, transformation: tuple[int, ...]) -> tuple[Counter[Row], int]:
    """The release by definition: the multiset of kept rows under their labels, and how many are suppressed."""
    counted = [
        row
        for row in problem.rows
        if not any(
            value is None and column.nulls is NullHandling.SUPPRESS
            for value, column in zip(row, problem.columns, strict=False)
        )
    ]
    labelled = [
        (*(c.label(v, level) for c, v, level in zip(problem.columns, row, transformation, strict=False)), row[-1])
        for row in counted
    ]
    sizes = Counter(row[:-1] for row in labelled)
    kept = Counter(row for row in labelled if sizes[row[:-1]] >= problem.k)
    return kept, len(problem.rows) - kept.total()


def sort_key(row: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """NULL last, texts by their code points."""
    return [(value is None, value or "") for value in row]


def check_release(problem: Problem, release: Release, query: Callable[[str], list[tuple[Any, ...]]]) -> None:
    width = len(problem.columns)
    transformation = tuple(attribute.level for attribute in release.attributes)
    expected, suppressed = relabelled(problem, transformation)
    written = query("SELECT * FROM out")
    marked = problem.suppressed is not SuppressedRecords.DROP
    assert [name for name, *_ in query("DESCRIBE out")] == [*problem.names, "s", *(["gone"] if marked else [])]
    kept = [row[: width + 1] for row in written if not (marked and row[-1])]
    gone = [row for row in written if marked and row[-1]]
    # Each released row is the generalization of a source row, and none is missing.
    assert Counter(kept) == expected
    # Suppressed rows say nothing but that they are, and their sensitive values if they are kept: then there are k.
    assert len(gone) == (suppressed if marked else 0)
    assert {row[:width] for row in gone} <= {(None,) * width}
    if problem.suppressed is SuppressedRecords.KEEP:
        values = Counter(row[-1] for row in problem.rows) - Counter(row[-1] for row in kept)
        assert Counter(row[width] for row in gone) == values
        assert not gone or len(gone) >= problem.k
    else:
        assert {row[width] for row in gone} <= {None}
    # The limit, exactly.
    assert Fraction(suppressed, len(problem.rows)) <= Fraction(problem.limit)
    assert release.suppressed_records == suppressed
    # The order says nothing about the source's.
    assert kept == sorted(kept, key=sort_key)
    assert not marked or [row[-1] for row in written] == sorted(row[-1] for row in written)
    # k, counted here.
    sizes = Counter(row[:width] for row in kept)
    assert min(sizes.values(), default=problem.k) >= problem.k
    # The tables beside it recompute.
    found = query("SELECT * FROM out_classes")
    assert [row[: width + 2] for row in found] == sorted(
        ((*key, size, 1 / size) for key, size in sizes.items()), key=sort_key
    )
    for row in found:
        values = Counter(other[width] for other in kept if other[:width] == row[:width] and other[width] is not None)
        shares = [count / values.total() for count in values.values()]
        entropy_l = math.exp(-sum(share * math.log(share) for share in shares)) if shares else 0
        assert row[width + 2 :] == (len(values), pytest.approx(entropy_l, abs=1e-8))
    histogram = Counter(sizes.values())
    assert query("SELECT * FROM out_risk_histogram") == [(s, n, s * n, 1 / s) for s, n in sorted(histogram.items())]
    risks = {(measure, threshold): value for measure, threshold, value in query("SELECT * FROM out_risk")}
    assert risks["records", None] == len(kept)
    assert risks["classes", None] == len(sizes)
    assert risks["highest_risk", None] == (1 / min(sizes.values()) if sizes else 0)
    assert risks["lowest_risk", None] == (1 / max(sizes.values()) if sizes else 0)
    assert risks["average_risk", None] == (len(sizes) / len(kept) if kept else 0)
    assert risks["unique_records", None] == 0
    assert risks["suppressed_records", None] == suppressed
    for threshold in ("0.05", "0.1", "0.2", "0.33"):
        above = sum(size for size in sizes.values() if Fraction(1, size) > Fraction(threshold))
        assert risks["records_above_threshold", threshold] == above


def feasible(problem: Problem) -> bool:
    lattice = itertools.product(*(range(column.levels) for column in problem.columns))
    suppressed = [relabelled(problem, x)[1] for x in lattice]
    shown = problem.suppressed is SuppressedRecords.KEEP
    return any(
        number <= Fraction(problem.limit) * len(problem.rows) and not (shown and 0 < number < problem.k)
        for number in suppressed
    )


@settings(max_examples=4, deadline=None)
@given(problem=problems())
def test_what_is_written_is_what_was_promised(shared_database: Database, run: Run, problem: Problem) -> None:
    check_promises(shared_database, run, problem)


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(problem=problems())
def test_what_is_written_is_what_was_promised_of_more(shared_database: Database, run: Run, problem: Problem) -> None:
    check_promises(shared_database, run, problem)


def check_promises(shared_database: Database, run: Run, problem: Problem) -> None:
    """The job releases what the definition says, or is refused where nothing is feasible."""
    with plain(shared_database) as query:
        query(f"CREATE OR REPLACE TABLE source ({', '.join(f'{name} VARCHAR' for name in [*problem.names, 's'])})")
        rows = [", ".join("NULL" if value is None else f"'{value}'" for value in row) for row in problem.rows]
        query(f"INSERT INTO source VALUES {', '.join(f'({row})' for row in rows)}")
        try:
            release = run(shared_database, problem.policy())
        except InfeasibleError:
            assert not feasible(problem)
        else:
            check_release(problem, release, query)


@pytest.mark.long
def test_pycanon_agrees_on_k(database: Database, run: Run) -> None:
    """An independent opinion on a table of some size."""
    anonymity = pytest.importorskip("pycanon.anonymity")
    with plain(database) as query:
        random = Random(7)
        rows = tuple(
            (random.choice("abcd"), random.choice("aab"), random.choice("abbbccccd"), random.choice(["flu", "cold"]))
            for _ in range(400)
        )
        query("CREATE TABLE source (q0 VARCHAR, q1 VARCHAR, q2 VARCHAR, s VARCHAR)")
        query(f"INSERT INTO source VALUES {', '.join(map(repr, rows))}")
        column = Column({value: [value, "x" if value < "c" else "y", "*"] for value in "abcd"}, NullHandling.VALUE)
        for k, limit in ((2, "0"), (5, "0.05"), (20, "0.1")):
            problem = Problem(
                columns=(column,) * 3,
                rows=rows,
                k=k,
                limit=Decimal(limit),
                aggregate=Aggregate.GEOMETRIC_MEAN,
                kind=ReleaseKind.TABLE,
                suppressed=SuppressedRecords.DROP,
            )
            release = run(database, problem.policy())
            check_release(problem, release, query)
            frame = cursor(database).sql("SELECT * FROM out").df()
            found = anonymity.k_anonymity(frame, problem.names)
            assert found >= k
            assert found == query("SELECT min(class_size) FROM out_classes")[0][0]
