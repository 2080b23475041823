"""A source query as DuckDB's own parser reads it: whether all of its parts are allowed, and the names in it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from tableveil.backend import Session, folded
from tableveil.errors import Fault, shortened

FIELD = "source_query"

MOST_CHARACTERS = 20_000
"""The most characters of a query: more than anybody writes, and few enough for every parser."""

MOST_BRACKETS = 100
"""The deepest nesting of brackets: the time of DuckDB's parser grows with the cube of the depth."""

MOST_READS = 1000
"""The most tables that may be read once every common table expression is expanded where it is named."""

LONGEST_SAID = 300

Node = dict[str, Any]
"""An object of the tree that DuckDB's `json_serialize_sql` gives."""

_ENUM = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")

_ANYWHERE = 2**64 - 1
"""The location of parts that are not in the text."""

_EXPRESSIONS = frozenset(
    {
        "COLUMN_REF",
        "CONSTANT",
        "FUNCTION",
        "OPERATOR",
        "CONJUNCTION",
        "COMPARISON",
        "CASE",
        "CAST",
        "TYPE",
        "BETWEEN",
        "SUBQUERY",
        "STAR",
        "WINDOW",
        "LAMBDA",
        "LAMBDA_REF",
        "COLLATE",
        "POSITIONAL_REFERENCE",
    }
)

_PARTS = frozenset(
    {
        "SELECT_NODE",
        "SET_OPERATION_NODE",
        "BASE_TABLE",
        "SUBQUERY",
        "JOIN",
        "EXPRESSION_LIST",
        "EMPTY",
        "TABLE_FUNCTION",
        "PIVOT",
        "ORDER_MODIFIER",
        "DISTINCT_MODIFIER",
        "ORDER_DEFAULT",
        "ASCENDING",
        "DESCENDING",
    }
)

_KEYWORDS = {
    "current_catalog": "current_database",
    "current_date": "current_date",
    "current_schema": "current_schema",
    "current_time": "get_current_time",
    "current_timestamp": "get_current_timestamp",
    "localtime": "current_localtime",
    "localtimestamp": "current_localtimestamp",
}
"""Functions that are called without parentheses, which the parser takes for columns."""

_JOINS = frozenset({"REGULAR", "NATURAL", "CROSS", "DEPENDENT"})

TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest"})
"""Functions that make rows from their arguments alone."""

_SAME_ROWS = "a query whose rows depend on its tables alone"
_ONLY_SELECT = "one SELECT that only reads"

_REFUSED: Mapping[str, tuple[str, str, str]] = {
    "LIMIT_MODIFIER": (
        "LIMIT or OFFSET",
        _SAME_ROWS,
        "Which rows come first is left open where an order has ties: state a condition, or "
        "QUALIFY rank() OVER (ORDER BY …) <= n, which keeps all of equal rank.",
    ),
    "RECURSIVE_CTE_NODE": ("WITH RECURSIVE", "a query that is sure to end", "Make a table of what it finds."),
    "SHOW_REF": ("DESCRIBE, SHOW or SUMMARIZE", _ONLY_SELECT, ""),
    "PARAMETER": ("a parameter", "a query that is complete", "Write its value."),
    "DEFAULT": ("DEFAULT", "an expression", ""),
    "INSERT_QUERY_NODE": ("INSERT", _ONLY_SELECT, ""),
    "UPDATE_QUERY_NODE": ("UPDATE", _ONLY_SELECT, ""),
    "DELETE_QUERY_NODE": ("DELETE", _ONLY_SELECT, ""),
    "MERGE_QUERY_NODE": ("MERGE", _ONLY_SELECT, ""),
}
"""The found and expected texts, and the hint, by kind of fault."""
_REFUSED = {**_REFUSED, "LIMIT_PERCENT_MODIFIER": _REFUSED["LIMIT_MODIFIER"]}


@dataclass(frozen=True, slots=True)
class TableMention:
    """A table in a FROM clause: `node` is its place in the tree, the rest is its place in the text, in bytes."""

    node: Node
    start: int
    length: int
    where: str

    @property
    def path(self) -> tuple[str, ...]:
        """Its name: table, schema and table, or database, schema and table."""
        return tuple(self.node["qualified_name"]["path"])


@dataclass(slots=True)
class QueryStatement:
    """A parsed statement: its tree, the tables that it reads, and where it first names each function.

    `unordered` are the functions that it calls somewhere without ORDER BY among their arguments.
    """

    text: str
    tree: Node
    tables: list[TableMention] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    unordered: dict[str, str] = field(default_factory=dict)

    def where(self, node: Node) -> str:
        """` in line 1, column 8`, or nothing for parts that are not in the text."""
        start = node.get("query_location", _ANYWHERE)
        if start == _ANYWHERE:
            return ""
        before = self.text.encode()[:start].decode(errors="ignore")
        return f" in line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"


def read_statement(session: Session, text: str) -> tuple[QueryStatement | None, list[Fault]]:
    """The only statement of a text, None if it cannot be parsed; and faults of parts that a source query may not have.

    Nothing is looked up, and nothing runs: DuckDB parses it.
    """
    if len(text) > MOST_CHARACTERS:
        hint = "Make a table of it, and name that as source."
        return None, [Fault(FIELD, f"{len(text):,} characters", f"at most {MOST_CHARACTERS:,}", hint)]
    if "\0" in text:
        return None, [Fault(FIELD, "a null character", "text without one")]
    if _depth(text) > MOST_BRACKETS:
        return None, [too_deep()]
    tree, faults = described(session, "json_serialize_sql", text)
    if faults:
        return None, faults
    if tree["error"]:
        return None, [_unreadable(tree, text)]
    if len(tree["statements"]) != 1:
        return None, [Fault(FIELD, f"{len(tree['statements'])} statements", "exactly one SELECT")]
    statement = QueryStatement(text, tree["statements"][0])
    reads = _reads(statement.tree, {})
    if reads > MOST_READS:
        hint = "Make a table of a common table expression that is named often, and read that."
        read = f"more than {MOST_READS:,} tables that are read, once its parts are written out"
        return None, [Fault(FIELD, read, f"at most {MOST_READS:,}", hint)]
    return statement, list(_faults(statement))


def described(session: Session, function: str, text: str) -> tuple[Node, list[Fault]]:
    """The output of one of DuckDB's functions that take statements; a fault if that cannot be read."""
    try:
        return json.loads(session.value(f"SELECT {function}(?)", [text])), []
    except ValueError:
        # It writes some constants, such as those of type BIT, in a way that is no JSON.
        hint = "Write constants of unusual types as text, and CAST the column they are compared with."
        return {}, [Fault(FIELD, "a statement that DuckDB cannot describe", "one that it can", hint)]


def said(found: Node) -> str:
    """The database's text about a statement that it only parsed, and so without values of any table.

    Types may contain values: those of an ENUM.
    """
    message = " ".join(_ENUM.sub("ENUM", str(found.get("error_message", ""))).split())
    return message if len(message) <= LONGEST_SAID else f"{message[:LONGEST_SAID]}…"


def unbound(error: Node) -> Fault:
    """The fault of a statement that the database does not bind, from the error that it describes."""
    return Fault(FIELD, said(error), "a SELECT that fits the tables")


def too_deep() -> Fault:
    """The fault of a statement that no parser reads to its end."""
    hint = "Make a table of a part of it, and read that."
    return Fault(FIELD, "expressions or subqueries that are nested too deeply", "a simpler query", hint)


def _unreadable(found: Node, text: str) -> Fault:
    message = said(found)
    if found.get("error_type") == "not implemented":
        return Fault(FIELD, "a statement that is no SELECT", _ONLY_SELECT)
    if "expression depth" in message:
        return too_deep()
    start = int(found.get("position", _ANYWHERE))
    where = QueryStatement(text, {}).where({"query_location": start})
    return Fault(FIELD, f"{message}{where}", "a SELECT in DuckDB's SQL")


def _depth(text: str) -> int:
    """The depth of nested brackets, including those in constants and comments."""
    depths = accumulate((bracket in "([{") - (bracket in ")]}") for bracket in text)
    return max(depths, default=0)


def _reads(node: Any, common: Mapping[str, int]) -> int:
    """The number of tables that a part of the tree reads, given the number for each common table expression."""
    if isinstance(node, list):
        return sum(_reads(part, common) for part in node)
    if not isinstance(node, dict):
        return 0
    if node.get("type") == "BASE_TABLE":
        path = node["qualified_name"]["path"]
        return common.get(folded(path[0]), 1) if len(path) == 1 else 1
    total = 0
    for entry in (node.get("cte_map") or {}).get("map", ()):
        reads = _reads(entry["value"], common)
        common = {**common, folded(entry["key"]): reads}
        total += reads
    return total + sum(_reads(part, common) for key, part in node.items() if key != "cte_map")


def _faults(statement: QueryStatement) -> Iterator[Fault]:
    """Walks over the whole tree without recursion, so that its depth does not matter.

    Anything that is not known to be harmless is refused.
    """
    waiting: list[tuple[Any, frozenset[str]]] = [(statement.tree, frozenset())]
    while waiting:
        node, common = waiting.pop()
        if isinstance(node, list):
            waiting += [(part, common) for part in reversed(node)]
        elif isinstance(node, dict):
            yield from _look(statement, node, common)
            parts = dict(node)
            # A common table expression is known to those after it, and to the query itself.
            for entry in (parts.pop("cte_map", None) or {}).get("map", ()):
                waiting.append((entry["value"], common))
                common |= {folded(entry["key"])}
            waiting += [(part, common) for part in reversed(parts.values())]


def _look(statement: QueryStatement, node: Node, common: frozenset[str]) -> Iterator[Fault]:
    kind = node.get("class") or node.get("type")
    allowed = _EXPRESSIONS if "class" in node else _PARTS
    where = statement.where(node)
    if isinstance(kind, str) and kind not in allowed:
        refusal, expected, hint = _REFUSED.get(
            kind, (kind.replace("_", " "), "a part that a source query may have", "")
        )
        yield Fault(FIELD, f"{refusal}{where}", expected, hint)
    elif kind == "BASE_TABLE":
        path = node["qualified_name"]["path"]
        if node["at_clause"] is not None:
            yield Fault(FIELD, f"AT{where}", "tables as they are")
        if len(path) > 1 or folded(path[0]) not in common:
            statement.tables.append(TableMention(node, node["query_location"], node["query_location_length"], where))
    elif kind == "TABLE_FUNCTION":
        name = node["function"]["function_name"]
        if folded(name) not in TABLE_FUNCTIONS:
            hint = "Load what it reads into a table of its own first."
            yield Fault(FIELD, f"the table function {shortened(name)}{where}", "only tables of the database", hint)
    elif kind in ("FUNCTION", "WINDOW"):
        name = folded(node["function_name"])
        statement.functions.setdefault(name, where)
        if kind == "FUNCTION" and not node["order_bys"]["orders"]:
            statement.unordered.setdefault(name, where)
    elif kind == "COLUMN_REF" and len(node["column_names"]) == 1 and folded(node["column_names"][0]) in _KEYWORDS:
        statement.functions.setdefault(_KEYWORDS[folded(node["column_names"][0])], where)
    elif kind == "COLUMN_REF" and folded(node["column_names"][-1]) == "rowid":
        yield Fault(FIELD, f"rowid{where}", _SAME_ROWS, "It is where a row is stored, which may change.")
    elif kind == "JOIN" and node["ref_type"] not in _JOINS:
        hint = "Which rows it puts together is left open where they have no order, or an order with ties."
        yield Fault(FIELD, f"{node['ref_type']} JOIN{where}", _SAME_ROWS, hint)
    elif kind == "PIVOT" and not node["unpivot_names"]:
        yield Fault(FIELD, f"PIVOT{where}", "columns that do not depend on values", "Write an aggregate per column.")
    elif kind == "DISTINCT_MODIFIER" and node["distinct_on_targets"]:
        hint = "Which row stays is left open where an order has ties: use QUALIFY rank() OVER (…) = 1."
        yield Fault(FIELD, f"DISTINCT ON{statement.where(node['distinct_on_targets'][0])}", _SAME_ROWS, hint)
    if node.get("sample") is not None:
        yield Fault(FIELD, f"a sample{where}", _SAME_ROWS, "Samples differ from run to run.")


def unnamed_columns(statement: QueryStatement) -> Iterator[Fault]:
    """Expressions of the result that have no name of their own."""
    node = statement.tree["node"]
    while node["type"] == "SET_OPERATION_NODE":
        node = node["children"][0]
    for i, item in enumerate(node.get("select_list", ()), start=1):
        if not item["alias"] and item["class"] not in ("COLUMN_REF", "STAR"):
            actual = f"column {i} without a name{statement.where(item)}"
            yield Fault(FIELD, actual, "a name for every expression", "Write expression AS name.")
