"""The database: one process owns the file, one session per thread, every statement a tree until it is rendered here."""

from tableveil.backend.arrow_types import WITHOUT_ARROW, arrow_type
from tableveil.backend.attached import attached
from tableveil.backend.cleared import cleared
from tableveil.backend.database import Database, Settings, check_path, read_only
from tableveil.backend.expressions import (
    alias,
    cast,
    column,
    conjunction,
    create_table,
    drop,
    identifier,
    in_one_spelling,
    in_order,
    number,
    parameter,
    row_number,
    table,
    text,
    try_cast,
    united,
)
from tableveil.backend.file_names import file_name
from tableveil.backend.functions import (
    in_composed_form,
    is_finite,
    listed,
    padded,
    replaced,
    row_hash,
    rows_of_query,
    time_of_format,
)
from tableveil.backend.render import render
from tableveil.backend.session import Ledger, Session
from tableveil.backend.sight import (
    ALL,
    EVERYTHING,
    Look,
    Scopes,
    Sight,
    folded,
    look_from_now_on,
    looking,
    present_look,
)
from tableveil.backend.traits import Traits
from tableveil.backend.warehouse import Listed, Warehouse, WarehouseSession, collected, scoped

__all__ = [
    "ALL",
    "EVERYTHING",
    "WITHOUT_ARROW",
    "Database",
    "Ledger",
    "Listed",
    "Look",
    "Scopes",
    "Session",
    "Settings",
    "Sight",
    "Traits",
    "Warehouse",
    "WarehouseSession",
    "alias",
    "arrow_type",
    "attached",
    "cast",
    "check_path",
    "cleared",
    "collected",
    "column",
    "conjunction",
    "create_table",
    "drop",
    "file_name",
    "folded",
    "identifier",
    "in_composed_form",
    "in_one_spelling",
    "in_order",
    "is_finite",
    "listed",
    "look_from_now_on",
    "looking",
    "number",
    "padded",
    "parameter",
    "present_look",
    "read_only",
    "render",
    "replaced",
    "row_hash",
    "row_number",
    "rows_of_query",
    "scoped",
    "table",
    "text",
    "time_of_format",
    "try_cast",
    "united",
]
