"""The spread of an answer: a statement on estimated tables, run under all assumptions, and how far its numbers differ.

Rows of the five answers are matched by the values that a statement groups by, or else by columns that are no numbers.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tableveil.endpoint.grammar import AGGREGATES, AnalystSql, is_call
from tableveil.endpoint.labels import ESTIMATED, ReleaseTable
from tableveil.endpoint.statement import CheckedStatement
from tableveil.errors import InvalidError

MOST_ROWS = 10_000
"""The answers under all assumptions are matched in memory."""

_DEVIATIONS = 3
_LIMITS = (TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH)
_COUNTS = frozenset({"count", "count_star", "count_if", "countif"})

_Key = tuple[object, ...]
_Rows = Mapping[_Key, tuple[Any, ...]]

_WORDS = "Numbers are means of five estimates, ± is 3 standard deviations: what reasonable assumptions differ by."


def estimated_tables(checked: CheckedStatement) -> list[ReleaseTable]:
    """The estimated tables that a statement reads; raises `InvalidError` if it has none, or only asks about itself."""
    tables = [table for table in checked.tables if table.name.endswith(ESTIMATED)]
    if checked.described or not tables:
        found = checked.described or "a statement that reads no estimated table"
        raise _without_spread(found, "a SELECT from a table whose name ends with _estimated")
    return tables


def without_limit(text: str) -> str:
    """The text up to a LIMIT or OFFSET of the whole: another assumption may have other rows first."""
    depth = 0
    for token in AnalystSql().tokenize(text):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if not depth and token.token_type in _LIMITS:
            return text[: token.start]
    return text


class SpreadAnswer:
    """The columns of a statement's answer: those that tell its rows apart, and the numbers that get a spread."""

    def __init__(self, checked: CheckedStatement, schema: pa.Schema) -> None:
        self._schema = schema
        self._keys, self._counts = _keys(checked.text, schema)
        self._measured = [i for i, of in enumerate(schema) if i not in self._keys and _is_number(of.type)]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer with the spread beside each number, and the words for it."""
        fields = []
        for i, of in enumerate(self._schema):
            if i in self._measured:
                fields += [pa.field(of.name, pa.float64()), pa.field(f"{of.name} ±", pa.float64())]
            else:
                fields.append(of)
        return pa.schema(fields)

    @property
    def words(self) -> str:
        """A sentence about the numbers, and about columns that are of the first assumption alone."""
        alone = [of.name for i, of in enumerate(self._schema) if i not in self._keys and i not in self._measured]
        return f"{_WORDS} Without a spread: {', '.join(alone)}." if alone else _WORDS

    def table(self, answers: Sequence[pa.Table]) -> pa.Table:
        """The rows of the first answer, with means and spreads; raises `InvalidError` if they cannot be matched."""
        if max(answer.num_rows for answer in answers) > MOST_ROWS:
            raise _without_spread(f"more than {MOST_ROWS:,} rows", "fewer rows, which can be matched")
        rows = [self._by_key(answer) for answer in answers]
        first = list(rows[0])
        columns: list[Any] = []
        for i, _ in enumerate(self._schema):
            if i not in self._measured:
                columns.append(answers[0].column(i))
                continue
            numbers = [[self._value(answer, key, i) for answer in rows] for key in first]
            found = list(map(_mean_and_spread, numbers))
            columns += [_doubles([of[part] for of in found]) for part in range(2)]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _value(self, answer: _Rows, key: _Key, i: int) -> float | None:
        if key not in answer:
            return 0.0 if i in self._counts else None
        value = answer[key][i]
        return None if value is None else float(value)

    def _by_key(self, answer: pa.Table) -> _Rows:
        columns = [column.to_pylist() for column in answer.columns]
        rows = {
            tuple(row[i] if row[i].__hash__ is not None else repr(row[i]) for i in self._keys): row
            for row in zip(*columns, strict=True)
        }
        if len(rows) < answer.num_rows:
            names = ", ".join(self._schema[i].name for i in self._keys) or "no column"
            hint = "Group the rows, and select what you group by."
            raise _without_spread(f"several rows that {names} does not tell apart", "rows that can be matched", hint)
        return rows


def _mean_and_spread(numbers: Sequence[float | None]) -> tuple[float | None, float | None]:
    """The mean of the numbers that there are, and their spread; None without a number, or with a single one."""
    there = [number for number in numbers if number is not None]
    if len(there) < 2 or not all(map(math.isfinite, there)):
        return (fmean(there) if there else None), None
    return fmean(there), _DEVIATIONS * stdev(there)


def _doubles(numbers: Sequence[float | None]) -> pa.Array:
    """The numbers as Arrow has them; `pa.array` would look for pandas, which the process does without."""
    valid = bytearray(-(-len(numbers) // 8))
    for i, number in enumerate(numbers):
        valid[i // 8] |= (number is not None) << i % 8
    values = array("d", (0.0 if number is None else number for number in numbers))
    buffers = [pa.py_buffer(bytes(valid)), pa.py_buffer(values.tobytes())]
    return pa.Array.from_buffers(pa.float64(), len(numbers), buffers)


def _keys(written: str, schema: pa.Schema) -> tuple[set[int], set[int]]:
    """The places of the columns that tell rows apart, and of those that count, which are 0 where a row is missing."""
    tree = sqlglot.parse_one(written, dialect=AnalystSql)
    while isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
        tree = tree.this
    texts = {i for i, of in enumerate(schema) if not _is_number(of.type)}
    if not isinstance(tree, exp.Select) or len(tree.expressions) != len(schema):
        return texts, set()
    shown = [item.unalias() for item in tree.expressions]
    # The grammar of analysts leaves all functions as they are written.
    counts = {i for i, of in enumerate(shown) if is_call(of.this if isinstance(of, exp.Filter) else of, _COUNTS)}
    aggregated = {i for i, item in enumerate(shown) if any(is_call(of, AGGREGATES) for of in item.walk())}
    group = tree.args.get("group")
    if group is None:
        return (set(), counts) if len(aggregated) == len(shown) and not tree.find(exp.Window) else (texts, set())
    if group.args.get("all"):
        keys = set(range(len(shown))) - aggregated
    else:
        named = {item.alias.casefold(): i for i, item in enumerate(tree.expressions) if item.alias}
        keys = {place for by in group.expressions for place in _places(by, shown, named)}
    # Where a condition leaves groups out, a missing one may have rows.
    return keys, set() if tree.args.get("having") or tree.args.get("qualify") else counts


def _places(by: exp.Expr, shown: Sequence[exp.Expr], named: Mapping[str, int]) -> list[int]:
    """The places at which a column to group by is shown."""
    if isinstance(by, exp.Literal) and by.is_int:
        return [int(by.name) - 1]
    same = [i for i, item in enumerate(shown) if item == by]
    if not same and isinstance(by, exp.Column) and by.name.casefold() in named:
        return [named[by.name.casefold()]]
    return same


def _is_number(type_: pa.DataType) -> bool:
    return any(is_kind(type_) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


def _without_spread(found: str, expected: str, hint: str = "") -> InvalidError:
    return InvalidError.of("NO_SPREAD", "statement", found, expected, hint)
