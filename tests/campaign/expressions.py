"""Random statements over an endpoint's grammar: DuckDB answers the text that it gets as it answers the one written."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

import duckdb

from tableveil.endpoint.duckdb_tree import require_same
from tableveil.endpoint.grammar import FUNCTIONS
from tableveil.endpoint.statement import check
from tableveil.errors import TableveilError

RELEASE = 1
_DEEPEST = 3

_TYPES = (
    *("INTEGER", "int8", "BIGINT", "double", "FLOAT", "DECIMAL(9, 3)", "VARCHAR", "text", "DATE", "TIMESTAMP", "TIME"),
    *("timestamptz", "BOOLEAN", "HUGEINT", "UTINYINT", "BLOB", "INTERVAL", "INT[]", "UUID"),
)
_VALUES = (
    *("0", "1", "7", "2.5", ".5", "5.", "1e3", "1_000", "0x1F", "NULL", "true", "FALSE", "''", "'a''b'"),
    *("'2020-01-02'", "DATE '2020-02-29'", "TIMESTAMP '2020-01-02 03:04:05'", "TIME '01:02:03'", "INTERVAL '1' DAY"),
    *("INTERVAL 3 DAYS", "INTERVAL '2 days 3 hours'", "INTERVAL (2) MONTH", "INT '7'", "DOUBLE '1.5'", "[1, 2]"),
    *("'😀ß'", "9223372036854775807", "i", "t", "d", "x", "r.i", "main.rows.t", "releases.main.rows.x", '"i"', "$1"),
)  # fmt: skip
_BEFORE = ("-", "+", "~", "NOT", "- -", "- ~", "-\n")
_BETWEEN = (
    *("+", "-", "*", "/", "//", "%", "**", "^", "||", "&", "|", "=", "==", "<>", "!=", "<", "<=", ">", ">="),
    *("AND", "OR", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "LIKE", "NOT LIKE", "ILIKE", "SIMILAR TO", "~", "<<"),
)  # fmt: skip
_SIGNS = tuple(sign for sign in _BETWEEN if not sign[-1].isalpha())
_AFTER = ("IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "IS TRUE", "IS NOT FALSE", "[1]", "[1:2]")
_CALLED = tuple(sorted(FUNCTIONS - {"now", "today", "random", "approx_quantile", "mode", "arg_max", "arg_min"}))


@dataclass(slots=True)
class Report:
    """How many statements had an answer, failed, or were refused; and those that were answered otherwise."""

    statements: int = 0
    answered: int = 0
    failed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        refused = sum(self.refused.values())
        yield f"{self.statements:,} statements: {self.answered:,} answered, {self.failed:,} failed, {refused:,} refused"
        yield from (f"  refused {number:,}: {found}" for found, number in self.refused.most_common(10))
        yield f"{len(self.broken)} answered in another way than DuckDB does"
        yield from self.broken[:50]


def compare(seed: int, seconds: float, statements: int, rewrite: Callable[[str], str] | None = None) -> Report:
    """Compares the answers of so many statements; `rewrite` stands for an endpoint that runs another text."""
    report, until = Report(), time.monotonic() + seconds
    with duckdb.connect() as connection:
        _make_rows(connection)
        for number in range(seed, seed + statements):
            if time.monotonic() > until:
                break
            statement = random_statement(Random(number))
            report.statements += 1
            try:
                checked = check(statement, {("main", "rows"): RELEASE})
                require_same(connection, checked)
            except TableveilError as error:
                report.refused[error.message.partition("; expected")[0][:60]] += 1
                continue
            text = rewrite(checked.text) if rewrite else checked.text
            values = [2] * checked.parameters
            expected, found = (_answer(connection, one, values) for one in (statement, text))
            report.answered += expected is not None
            report.failed += expected is None
            if found != expected:
                report.broken.append(f"seed {number}: {statement!r}: {str(expected)[:200]}, not {str(found)[:200]}")
    return report


def random_statement(random: Random) -> str:
    """A statement of one to three expressions, in any of the places where queries have them."""
    columns = ", ".join(_expression(random, 0) for _ in range(random.randint(1, 3)))
    condition = _expression(random, 2)
    return random.choice(
        (
            f"SELECT {columns} FROM rows r",
            f"SELECT {columns} FROM main.rows r WHERE {condition}",
            f"select {columns}, from releases.main.rows AS r -- all",
            f"WITH few AS (SELECT * FROM rows WHERE {condition}) SELECT few.i, {columns} FROM few, rows r",
            f"WITH rows AS (FROM rows) SELECT (SELECT max(i) FROM rows) AS m, {columns} FROM rows r /* ; */",
            f"FROM (SELECT {columns} FROM rows r) AS q ORDER BY ALL LIMIT 5;",
            f"SELECT {columns} FROM rows r GROUP BY ALL HAVING {condition}",
            f"SELECT i, {columns} FROM rows r QUALIFY row_number() OVER (ORDER BY {condition}, i) < 3",
        )
    )


def _expression(random: Random, depth: int) -> str:
    if depth >= _DEEPEST or random.random() < 0.3:
        return random.choice(_VALUES)

    def part() -> str:
        return _expression(random, depth + 1)

    makes: tuple[Callable[[], str], ...] = (
        lambda: f"{random.choice(_BEFORE)} {part()}",
        lambda: f"{part()} {random.choice(_BETWEEN)} {part()}",
        lambda: f"{part()}{random.choice(_SIGNS)}{part()}",
        lambda: f"{part()} {random.choice(_BETWEEN)} {part()} {random.choice(_BETWEEN)} {part()}",
        lambda: f"({part()})",
        lambda: f"{part()}::{random.choice(_TYPES)}",
        lambda: f"{random.choice(('CAST', 'TRY_CAST'))}({part()} AS {random.choice(_TYPES)})",
        lambda: f"{part()} {random.choice(_AFTER)}",
        lambda: f"{part()} {random.choice(('', 'NOT '))}BETWEEN {part()} AND {part()}",
        lambda: f"{part()} {random.choice(('', 'NOT '))}IN ({part()}, {part()})",
        lambda: f"CASE WHEN {part()} THEN {part()} ELSE {part()} END",
        lambda: f"CASE {part()} WHEN {part()} THEN {part()} END",
        lambda: f"{random.choice(_CALLED)}({', '.join(part() for _ in range(random.randint(0, 2)))})",
        lambda: f"EXTRACT({random.choice(('year', 'MONTH', 'dow'))} FROM {part()})",
        lambda: f"(SELECT {part()} FROM rows LIMIT 1)",
        lambda: f"EXISTS (FROM rows WHERE {part()})",
        lambda: f"sum({part()}) OVER (PARTITION BY {part()} ORDER BY i ROWS 1 PRECEDING)",
        lambda: f"count(DISTINCT {part()}) FILTER (WHERE {part()})",
    )
    return random.choice(makes)()


def _make_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """The table that the statements name."""
    query = (
        "SELECT i::INTEGER AS i, ['ab', 'B', NULL][1 + i % 3] AS t, DATE '2020-01-30' + i::INTEGER AS d, "
        "i * 1.5 - 2 AS x FROM range(5) r(i)"
    )
    connection.execute("SET threads = 1; SET TimeZone = 'UTC'")
    connection.execute(f"ATTACH ':memory:' AS releases; USE releases; CREATE TABLE rows AS {query}")


def _answer(connection: duckdb.DuckDBPyConnection, text: str, values: list[int]) -> object:
    """Names, types and rows in any order; None if the text fails."""
    try:
        found = connection.execute(text, values or None)
        columns = [(name, str(type_)) for name, type_, *_ in found.description or ()]
        rows = Counter(map(repr, itertools.islice(iter(found.fetchone, None), 200)))
    except duckdb.Error:
        return None
    return columns, rows
