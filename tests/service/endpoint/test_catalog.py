"""The patterns by which clients look for tables."""

import re

import pyarrow as pa
import pytest

from tableveil.endpoint.catalog import COMMANDS
from tableveil.endpoint.information import PublishedTable
from tableveil.errors import InvalidError
from tableveil.flight_sql import flight_sql_pb2 as sql

NAMES = ("a", "ab", "aba", "abab", "a%b", "a\\b", "Ba", "", "a\nb")


def found(pattern: str, *names: str) -> list[str]:
    tables = [PublishedTable(1, "main", name, pa.schema([])) for name in names]
    command = sql.CommandGetTables(table_name_filter_pattern=pattern)
    return list(COMMANDS[sql.CommandGetTables](command, tables)["table_name"].to_pylist())


PATTERNS = (
    "",
    "%",
    "%%",
    "a",
    "a%",
    "%a",
    "%b%",
    "a%b",
    "_",
    "%_",
    "_%_%",
    "%a%b%",
    "%ab%ab",
    "a\\%b",
    "a\\\\b",
    "%b_b%",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_in_like(pattern: str) -> None:
    signs = {"%": ".*", "_": "."}
    text = "".join(signs.get(part, re.escape(part[-1])) for part in re.findall(r"\\.|.", pattern))
    assert found(pattern, *NAMES) == [name for name in NAMES if re.fullmatch(text, name, re.IGNORECASE | re.DOTALL)]


def test_patterns_take_no_exponential_time() -> None:
    """The endpoint matches them itself, and does nothing else meanwhile."""
    assert found("%_" * 20 + "x", "a" * 40) == []
    assert found("%a" * 400 + "%b", "a" * 63) == []
    with pytest.raises(InvalidError):
        found("%a" * 501, "a")
