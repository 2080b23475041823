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

# No Substrait, CancelQuery, DDL, transactions, updates, FOR UPDATE, LIKE in lists, columns that are never NULL.
_FALSE = (5, 9, 500, 501, 502, 519, 524, 527, 536, 537, 556, 563, 565, 566, *range(572, 577))
# SQL, read only; tables selectable; aliases; NULL || 'x' is NULL; expressions in ORDER BY; ESCAPE; the catalog first.
_TRUE = (3, 4, 506, 515, 516, 518, 520, 521, 523, 532, 539)
# Transactions, time limits of handles, which hold nothing, and kinds of result sets that there are none of.
_ZERO = (8, 100, 101, 533, 534, 535, 568, 570, 571)

FACTS: dict[int, Fact] = {
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_ZERO, 0),
    **{0: "Tableveil", 1: installed_version(), 2: pa.__version__},
    **{503: _CASE_INSENSITIVE, 504: '"', 505: _CASE_INSENSITIVE, 507: _NULLS_AT_END},
    **{508: [], 509: sorted(FUNCTIONS), 510: [], 511: [], 512: [], 513: "\\", 514: "", 517: {}},
    **{522: 0b11, 525: 0b11, 526: 0b1, 528: 2, 538: 0b1111, 540: 0b11},  # GROUP BY, grammars, joins, subqueries, UNION
    **{529: "schema", 530: "", 531: "catalog"},
    **{564: 0b1, 567: 0b10, 569: 0b10},  # no transactions; rows are read once, and forwards
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

_NUMBER = pa.field("info_name", pa.uint32(), nullable=False)
SCHEMA = pa.schema([_NUMBER, pa.field("value", pa.dense_union(_CHILDREN), nullable=False)])


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
    arrays = [pa.array(child, field.type) for child, field in zip(children, _CHILDREN, strict=True)]
    names = [field.name for field in _CHILDREN]
    values = pa.UnionArray.from_dense(pa.array(types, pa.int8()), pa.array(offsets, pa.int32()), arrays, names)
    return pa.Table.from_arrays([pa.array(list(facts), pa.uint32()), values], schema=SCHEMA)


def _place(fact: Fact) -> int:
    return {str: 0, bool: 1, int: 3, list: 4, dict: 5}[type(fact)]
