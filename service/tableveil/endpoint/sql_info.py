"""Facts about an endpoint that clients ask for, by the numbers of Flight SQL's SqlInfo."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from tableveil.endpoint.grammar import FUNCTIONS
from tableveil.serving.version import installed_version

_CASE_INSENSITIVE = 1
_NULLS_AT_END = 3

Fact = str | bool | int | list[str]

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
    518: True,  # aliases of tables
    520: True,  # expressions in ORDER BY
    521: True,
    529: "schema",
    531: "catalog",
    532: True,  # the catalog comes first
}

_CHILDREN = (
    pa.field("string_value", pa.string()),
    pa.field("bool_value", pa.bool_()),
    pa.field("bigint_value", pa.int64()),
    pa.field("int32_bitmask", pa.int32()),
    pa.field("string_list", pa.list_(pa.string())),
    pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
)

SCHEMA = pa.schema(
    [
        pa.field("info_name", pa.uint32(), nullable=False),
        pa.field("value", pa.dense_union(_CHILDREN), nullable=False),
    ]
)


def sql_info(wanted: Collection[int]) -> pa.Table:
    """The wanted facts, all of them if none is named; numbers without a fact are left out."""
    chosen = set(wanted)
    facts = {number: fact for number, fact in FACTS.items() if not chosen or number in chosen}
    children: list[list[Fact]] = [[] for _ in _CHILDREN]
    types, offsets = [], []
    for fact in facts.values():
        place = _place(fact)
        types.append(place)
        offsets.append(len(children[place]))
        children[place].append(fact)
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
        case _:
            return 4
