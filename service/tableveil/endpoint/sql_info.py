"""Facts about an endpoint that clients ask for, by the numbers of Flight SQL's SqlInfo."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from tableveil.endpoint.grammar import FUNCTIONS
from tableveil.endpoint.query_process import LARGEST_ROW
from tableveil.endpoint.statement import MOST_CHARACTERS
from tableveil.serving.version import installed_version

_CASE_INSENSITIVE = 1
_NULLS_AT_END = 3

Fact = str | bool | int | list[str] | dict[int, list[int]]

FACTS: dict[int, Fact] = {
    0: "Tableveil",
    1: installed_version(),
    2: pa.__version__,
    3: True,  # read only
    4: True,  # SQL
    5: False,  # Substrait
    8: 0,  # no transactions
    9: False,  # no CancelQuery: a client that leaves ends its query
    100: 0,  # handles of statements hold nothing, and need no time limit
    101: 0,
    500: False,  # DDL of catalogs, schemas, tables
    501: False,
    502: False,
    503: _CASE_INSENSITIVE,
    504: '"',
    505: _CASE_INSENSITIVE,
    506: True,  # all tables are selectable
    507: _NULLS_AT_END,
    508: [],
    509: sorted(FUNCTIONS),
    510: [],
    511: [],
    512: [],
    513: "\\",
    514: "",
    515: True,  # aliases of columns
    516: True,  # NULL || 'x' is NULL
    517: {},  # CONVERT
    518: True,  # aliases of tables
    519: False,
    520: True,  # expressions in ORDER BY
    521: True,
    522: 0b11,  # GROUP BY
    523: True,  # LIKE … ESCAPE
    524: False,  # columns that are never NULL
    525: 0b11,  # ODBC's minimum and core grammar
    526: 0b1,  # the entry level of SQL-92
    527: False,
    528: 2,  # outer joins
    529: "schema",
    530: "",
    531: "catalog",
    532: True,  # the catalog comes first
    533: 0,
    534: 0,
    535: 0,
    536: False,  # SELECT FOR UPDATE
    537: False,
    538: 0b1111,  # subqueries
    539: True,
    540: 0b11,  # UNION and UNION ALL
    556: False,
    563: False,  # no transactions
    564: 0b1,
    565: False,
    566: False,
    567: 0b10,  # rows are read once, and forwards
    568: 0,
    569: 0b10,
    570: 0,
    571: 0,
    572: False,  # batches of updates
    573: False,
    574: False,  # parameters of procedures
    575: False,
    576: False,
}

LIMITS = {**dict.fromkeys((*range(541, 556), *range(557, 563)), 0), 555: LARGEST_ROW, 557: MOST_CHARACTERS}
"""Limits, which are numbers of 64 bits; 0 means that there is none, or that it is not known.

The JDBC driver wants the transactions' isolation (562) as such a number, too, and older ones fail if a fact is missing.
"""

_CHILDREN = (
    pa.field("string_value", pa.string()),
    pa.field("bool_value", pa.bool_()),
    pa.field("bigint_value", pa.int64()),
    pa.field("int32_bitmask", pa.int32()),
    pa.field("string_list", pa.list_(pa.string())),
    pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
)

_WIDE = 2
"""The place of numbers of 64 bits."""

SCHEMA = pa.schema(
    [
        pa.field("info_name", pa.uint32(), nullable=False),
        pa.field("value", pa.dense_union(_CHILDREN), nullable=False),
    ]
)


def sql_info(wanted: Collection[int]) -> pa.Table:
    """The wanted facts, all of them if none is named; numbers without a fact are left out."""
    chosen = set(wanted)
    facts = {number: fact for number, fact in {**FACTS, **LIMITS}.items() if not chosen or number in chosen}
    children: list[list[Any]] = [[] for _ in _CHILDREN]
    types, offsets = [], []
    for number, fact in facts.items():
        place = _WIDE if number in LIMITS else _place(fact)
        types.append(place)
        offsets.append(len(children[place]))
        children[place].append(list(fact.items()) if isinstance(fact, dict) else fact)
    values = pa.UnionArray.from_dense(
        pa.array(types, pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(child, field.type) for child, field in zip(children, _CHILDREN, strict=True)],
        [field.name for field in _CHILDREN],
    )
    return pa.Table.from_arrays([pa.array(list(facts), pa.uint32()), values], schema=SCHEMA)


def _place(fact: Fact) -> int:
    match fact:
        case str():
            return 0
        case bool():
            return 1
        case int():
            return 3
        case list():
            return 4
        case _:
            return 5
