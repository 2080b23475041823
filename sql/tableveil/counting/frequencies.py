"""The distinct combinations of columns' values as arrays, for the analysis of risks: one scan counts all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    conjunction,
    create_table,
    expression,
    in_one_spelling,
    left_join,
    number,
    sql,
    table,
)
from tableveil.classes import KeyLayout
from tableveil.counting.base import summed
from tableveil.errors import InvalidError
from tableveil.hierarchy import ValueKind
from tableveil.risk import Frequencies, WeightFacts
from tableveil.risk.frequencies import MOST_RECORDS
from tableveil.source import Analyzed, Column

MOST_COMBINATIONS = 30_000_000
"""More would take gigabytes as arrays, and as many again while subsets of the columns are counted."""


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """The distinct values of one column: a temporary table of `value` and `code`, NULL last if it occurs."""

    column: Column
    table_name: str
    codes: int
    null_code: int | None


@dataclass(frozen=True, slots=True, eq=False)
class CountedFrequencies:
    """The combinations, the dictionaries of their codes, and how many rows the population has, if there is one."""

    frequencies: Frequencies
    values: tuple[DistinctValues, ...]
    population_records: int | None


def weight_facts(session: WarehouseSession, analyzed: Analyzed) -> WeightFacts:
    """Defects of the weights; none if there are no weights."""
    if analyzed.weight is None:
        return WeightFacts(0, 0, 0)
    query = (
        "SELECT count_if($w::DOUBLE IS NULL), count_if(NOT isfinite($w::DOUBLE)), "
        "count_if(isfinite($w::DOUBLE) AND $w::DOUBLE < 1) FROM $rows"
    )
    return WeightFacts(*session.row(sql(query, w=column(analyzed.weight.name), rows=analyzed.source.table())))


def count_frequencies(session: WarehouseSession, analyzed: Analyzed) -> CountedFrequencies:
    """Counts the combinations. The codes of each column are in the smallest type that holds them.

    The weights must have been checked.

    Raises:
        InvalidError: there are more than `MOST_COMBINATIONS`, or more rows than the arrays can number.
    """
    rows = session.value(sql("SELECT count(*) FROM $rows", rows=analyzed.source.table()))
    if rows >= MOST_RECORDS:
        raise InvalidError.of(
            "TOO_MANY_RECORDS",
            "table",
            f"{rows} records",
            f"fewer than {MOST_RECORDS}",
            "Analyze a sample of the rows, and say so by population.sampling_fraction.",
        )
    values = tuple(_distinct_values(session, analyzed, j) for j in range(len(analyzed.quasi_identifiers)))
    # Powers of two, so that shifts take codes out of keys: dividing takes three times as long.
    layout = KeyLayout.of([1 << max(dictionary.codes - 1, 0).bit_length() for dictionary in values])
    keys = _keys(analyzed.source.table("source"), values, layout)
    if analyzed.weight is not None:
        keys = keys.select(alias(cast(column(analyzed.weight.name, "source"), "DOUBLE"), "weight"))
    if not session.traits.collects and layout.words == 1 and rows <= MOST_COMBINATIONS:
        combinations = _by_sorting(session, keys, analyzed.weight is not None)
    else:
        combinations = _by_grouping(session, keys, layout, analyzed.weight is not None)
    people, population_records = None, None
    if analyzed.source.population is not None:
        population = analyzed.source.population.table("source")
        population_records = session.value(sql("SELECT count(*) FROM $rows", rows=population))
        people = _people(session, combinations, _keys(population, values, layout))
    frequencies = Frequencies(
        codes=tuple(
            _codes(layout, combinations.words, j).astype(np.min_scalar_type(max(dictionary.codes - 1, 0)))
            for j, dictionary in enumerate(values)
        ),
        values=tuple(dictionary.codes for dictionary in values),
        records=combinations.records,
        people=people,
        weights=combinations.weights,
    )
    return CountedFrequencies(frequencies, values, population_records)


@dataclass(frozen=True, slots=True, eq=False)
class _Combinations:
    """The distinct keys, by words, with their records and the sums of their weights."""

    words: tuple[NDArray[np.int64], ...]
    records: NDArray[np.int64]
    weights: NDArray[np.float64] | None


def _by_sorting(session: WarehouseSession, keys: exp.Select, weighted: bool) -> _Combinations:
    """Reads the key of every row: with nearly as many combinations as rows, this is much faster than grouping."""
    if weighted:
        # Moving weights along with keys is slower in numpy than in the database, which sorts on all cores.
        keys = exp.select("*").from_(keys.subquery("packed")).order_by(column("w0"))
    arrays = session.arrays(keys)
    word = arrays["w0"].astype(np.int64, copy=False)
    if not weighted:
        word = np.sort(word)
    starts = np.flatnonzero(np.concatenate(([True], word[1:] != word[:-1]))) if len(word) else np.zeros(0, np.int64)
    records = np.diff(np.append(starts, len(word))).astype(np.int64)
    weights = None
    if weighted:
        weights = np.add.reduceat(arrays["weight"], starts) if len(starts) else np.zeros(0)
    return _Combinations((word[starts],), records, weights)


def _codes(layout: KeyLayout, words: Sequence[NDArray[np.int64]], attribute: int) -> NDArray[np.int64]:
    """Equals `layout.unpack`, for a layout whose radices are powers of two."""
    shift, radix = layout.stride[attribute].bit_length() - 1, layout.radices[attribute]
    return (words[layout.word[attribute]] >> shift) & (radix - 1)


def _by_grouping(session: WarehouseSession, keys: exp.Select, layout: KeyLayout, weighted: bool) -> _Combinations:
    words = [column(f"w{word}") for word in range(layout.words)]
    weight = ", sum(weight) AS weight" if weighted else ""
    text = f"SELECT $words, count(*) AS n{weight} FROM $keys GROUP BY $words LIMIT {MOST_COMBINATIONS + 1}"
    query = sql(text, words=words, keys=keys.subquery("packed"))
    arrays = session.embedded.arrays(sql("SELECT * FROM $rows", rows=collected(session, "risk_counted", query)))
    if len(arrays["n"]) > MOST_COMBINATIONS:
        raise InvalidError.of(
            "TOO_MANY_COMBINATIONS",
            "quasi_identifiers",
            f"more than {MOST_COMBINATIONS} distinct combinations of values",
            "as many at most",
            "Leave out columns that tell nearly everybody apart, or analyze a sample of the rows.",
        )
    read = tuple(arrays[f"w{word}"].astype(np.int64, copy=False) for word in range(layout.words))
    return _Combinations(read, arrays["n"].astype(np.int64), arrays.get("weight"))


def _people(session: WarehouseSession, combinations: _Combinations, keys: exp.Select) -> NDArray[np.int64]:
    """Per combination the number of the population's rows with it; rows with a value outside the table have no key."""
    names = [f"w{word}" for word in range(len(combinations.words))]
    arrays = {name: pa.array(words) for name, words in zip(names, combinations.words, strict=True)}
    arrays["position"] = pa.array(np.arange(len(combinations.records)))
    same = conjunction(exp.EQ(this=column(name, "known"), expression=column(name, "risk_people")) for name in names)
    counted = sql(
        "SELECT $words, count(*) AS n FROM $keys WHERE $present GROUP BY $words",
        words=[*map(column, names)],
        keys=keys.subquery("packed"),
        present=conjunction(column(name).is_(exp.null()).not_() for name in names),
    )
    query = "SELECT known.position, risk_people.n FROM known_combinations AS known JOIN $counted ON $same"
    rows = collected(session, "risk_people", counted)
    people = np.zeros(len(combinations.records), np.int64)
    with session.embedded.relation("known_combinations", pa.table(arrays)):
        counted_arrays = session.embedded.arrays(sql(query, counted=rows, same=same))
    people[counted_arrays["position"]] = counted_arrays["n"]
    return people


def write_frequencies(
    session: Session, target: exp.Table, counted: CountedFrequencies, measures: Mapping[str, NDArray[Any]]
) -> None:
    """Writes a table of all combinations with their values, and the columns of `measures` under their names.

    A measure with the name of a column of the table gets underscores.
    """
    names = {dictionary.column.name.casefold() for dictionary in counted.values}
    arrays = {f"c{j}": pa.array(codes) for j, codes in enumerate(counted.frequencies.codes)}
    arrays |= {f"m{i}": pa.array(array) for i, array in enumerate(measures.values())}
    query = exp.select(
        # Not as an ENUM, whose type the owner may drop.
        *(
            alias(cast(column("value", f"d{j}"), dictionary.column.released_type), dictionary.column.name)
            for j, dictionary in enumerate(counted.values)
        ),
        *(alias(column(f"m{i}", "frequencies"), _free(name, names)) for i, name in enumerate(measures)),
    ).from_(table("frequencies"))
    for j, dictionary in enumerate(counted.values):
        same = exp.EQ(this=column(f"c{j}", "frequencies"), expression=column("code", f"d{j}"))
        query = query.join(table(dictionary.table_name, alias=f"d{j}"), on=same)
    with session.relation("frequencies", pa.table(arrays)):
        session.execute(create_table(target, query))


def _free(name: str, taken: set[str]) -> str:
    while name.casefold() in taken:
        name += "_"
    return name


def _distinct_values(session: WarehouseSession, analyzed: Analyzed, position: int) -> DistinctValues:
    quasi_identifier = analyzed.quasi_identifiers[position]
    name = f"risk_values_{position}"
    distinct = "SELECT DISTINCT $value AS value FROM $rows"
    rows = sql(distinct, value=column(quasi_identifier.name), rows=analyzed.source.table())
    # Grouping leaves open which sign a zero has.
    shown = in_one_spelling(column("value")) if quasi_identifier.kind is ValueKind.FLOAT else column("value")
    query = "SELECT $shown AS value, row_number() OVER (ORDER BY value) - 1 AS code FROM $rows"
    session.embedded.stage(name, sql(query, shown=shown, rows=collected(session, "risk_distinct", rows)))
    session.lend(name)
    codes, present = session.embedded.row(sql("SELECT count(*), count(value) FROM $rows", rows=table(name)))
    return DistinctValues(quasi_identifier, name, codes, codes - 1 if present < codes else None)


def _keys(rows: exp.Expr, values: Sequence[DistinctValues], layout: KeyLayout) -> exp.Select:
    """The key of each of the rows, which have the alias `source`: words `w0`, `w1`, …; NULL for unknown values."""
    query = exp.select().from_(rows)
    words: list[list[exp.Expr]] = [[] for _ in range(layout.words)]
    for j, dictionary in enumerate(values):
        value = column(dictionary.column.name, "source")
        same = exp.EQ(this=value, expression=column("value", f"d{j}"))
        query = left_join(query, table(dictionary.table_name, alias=f"d{j}"), same)
        code: exp.Expr = column("code", f"d{j}")
        if dictionary.null_code is not None:
            # NULL equals nothing.
            case = "CASE WHEN $value IS NULL THEN $null_code ELSE $code END"
            code = expression(case, value=value, null_code=number(dictionary.null_code), code=code)
        words[layout.word[j]].append(exp.Mul(this=code, expression=number(layout.stride[j])))
    return query.select(*(alias(summed(parts), f"w{word}") for word, parts in enumerate(words)))
