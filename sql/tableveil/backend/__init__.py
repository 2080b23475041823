"""The database: one process owns the file, one session per thread, every statement a tree until it is rendered here."""

from tableveil.backend.database import Database, Settings, check_path, read_only
from tableveil.backend.expressions import (
    alias,
    call,
    cast,
    column,
    conjunction,
    create_table,
    drop,
    identifier,
    in_one_spelling,
    number,
    parameter,
    row_number,
    table,
    text,
    try_cast,
)
from tableveil.backend.render import render
from tableveil.backend.session import Session

__all__ = [
    "Database",
    "Session",
    "Settings",
    "alias",
    "call",
    "cast",
    "check_path",
    "column",
    "conjunction",
    "create_table",
    "drop",
    "identifier",
    "in_one_spelling",
    "number",
    "parameter",
    "read_only",
    "render",
    "row_number",
    "table",
    "text",
    "try_cast",
]
