"""Clearing of what is under NULLs, in buffers of our own: those of DuckDB are dirty only now and then."""

import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import cleared

DIRT = b"\x77"
NULL_IN_THE_MIDDLE = pa.py_buffer(bytes([0b101]))
PAIRS = pa.py_buffer(struct.pack("<4i", 0, 2, 4, 6))
BYTE = DIRT[0]


def dirty(kind: pa.DataType, size: int, *, null: bool = True) -> pa.Array:
    """Three values of that many bytes each; the second is NULL, unless none is."""
    return pa.Array.from_buffers(kind, 3, [NULL_IN_THE_MIDDLE if null else None, pa.py_buffer(DIRT * 3 * size)])


def nested(kind: pa.DataType, *offsets: pa.Buffer, child: pa.Array, null: bool = False) -> pa.Array:
    return pa.Array.from_buffers(
        kind, len(child) // 2, [NULL_IN_THE_MIDDLE if null else None, *offsets], children=[child]
    )


def six(*nulls: int) -> pa.Array:
    """Six bytes, those at some places under NULLs."""
    valid = pa.py_buffer(bytes([0b111111 - sum(1 << place for place in nulls)]))
    return pa.Array.from_buffers(pa.int8(), 6, [valid, pa.py_buffer(DIRT * 6)])


LIST, FIXED, RECORD = pa.list_(pa.int8()), pa.list_(pa.int8(), 2), pa.struct([("a", pa.int32())])


@pytest.mark.parametrize(
    ("found", "values", "bytes_left"),
    [
        (dirty(pa.int32(), 4), [0x77777777, None, 0x77777777], 8),
        (dirty(pa.binary(3), 3), [DIRT * 3, None, DIRT * 3], 6),
        (pa.Array.from_buffers(pa.decimal128(5, 0), 3, [NULL_IN_THE_MIDDLE, pa.py_buffer((DIRT + bytes(15)) * 3)]),
         [Decimal(BYTE), None, Decimal(BYTE)], 2),
        (nested(LIST, PAIRS, child=six(1, 4)), [[BYTE, None], [BYTE, BYTE], [None, BYTE]], 4),
        (nested(LIST, PAIRS, child=six(), null=True), [[BYTE, BYTE], None, [BYTE, BYTE]], 4),
        (nested(FIXED, child=six(1, 4)), [[BYTE, None], [BYTE, BYTE], [None, BYTE]], 4),
        (nested(FIXED, child=six(), null=True), [[BYTE, BYTE], None, [BYTE, BYTE]], 4),
        (pa.Array.from_buffers(RECORD, 3, [None], children=[dirty(pa.int32(), 4)]),
         [{"a": 0x77777777}, {"a": None}, {"a": 0x77777777}], 8),
    ],
    ids=["number", "fixed binary", "decimal", "list", "NULL list", "fixed list", "NULL fixed list", "struct"],
)  # fmt: skip
def test_nothing_is_left_under_nulls(found: pa.Array, values: list[Any], bytes_left: int) -> None:
    (left,) = cleared(pa.record_batch([found], ["x"])).columns
    assert b"".join(buffer.to_pybytes() for buffer in left.buffers() if buffer).count(DIRT) == bytes_left
    assert left.type == found.type
    assert left.to_pylist() == found.to_pylist() == values


def test_columns_without_nulls_are_not_copied() -> None:
    found = dirty(pa.int32(), 4, null=False)
    (left,) = cleared(pa.record_batch([found], ["x"])).columns
    assert left.buffers()[1].address == found.buffers()[1].address
