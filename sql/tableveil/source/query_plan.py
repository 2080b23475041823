"""A source query as DuckDB binds it: its tables, functions, and whether its aggregates depend on the order of rows."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tableveil.backend import Session, catalog, folded
from tableveil.errors import Fault, shortened
from tableveil.policy import TableReference
from tableveil.source.query_statement import (
    FIELD,
    TABLE_FUNCTIONS,
    Node,
    QueryStatement,
    described,
    read_statement,
    unbound,
)

_NOT_CONSISTENT = frozenset(
    {
        "current_localtime",
        "current_localtimestamp",
        "index_key",
        "json_deserialize_sql",
        "json_serialize_plan",
        "json_serialize_sql",
        "reservoir_quantile",
    }
)
"""Functions that depend on more, though the catalog calls them consistent: times of day, samples, readers."""


def check_functions(session: Session, functions: Mapping[str, str]) -> list[Fault]:
    """Faults of functions by their name in lower case, each with its place in the text.

    Unknown names are left to the database, which knows other meanings of them.
    """
    faults: list[Fault] = []
    looked_at: set[str] = set()
    waiting = dict(functions)
    while waiting:
        looked_at |= set(waiting)
        inside: dict[str, str] = {}
        for function in catalog.functions(session, waiting):
            name, where = function.name, waiting[function.name]
            if not function.built_in:
                hint = "A macro may change, and may read anything: write out what it stands for."
                faults.append(Fault(FIELD, f"the macro {shortened(name)}{where}", "functions that are built in", hint))
            elif name in _NOT_CONSISTENT or not function.consistent:
                expected = "functions whose results depend on their arguments alone"
                hint = "The source must have the same rows whenever it is read."
                faults.append(Fault(FIELD, f"{shortened(name)}{where}", expected, hint))
            for definition in function.definitions:
                statement, _ = read_statement(session, f"SELECT {definition}")
                inside |= dict.fromkeys(statement.functions if statement is not None else (), where)
        waiting = {name: where for name, where in inside.items() if name not in looked_at}
    return faults


_ANY_ORDER = frozenset(
    {
        "approx_count_distinct",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bitstring_agg",
        "bool_and",
        "bool_or",
        "count",
        "count_if",
        "count_star",
        "countif",
        "histogram",
        "histogram_exact",
        "mad",
        "max",
        "median",
        "min",
        "quantile",
        "quantile_cont",
        "quantile_disc",
        "regr_count",
    }
)
"""Aggregates with one result for any order of the values."""

_SUMS = frozenset({"avg", "mean", "sum", "sum_no_overflow"})
"""Aggregates that are exact in any order if the numbers are not floating-point ones."""

_EXACT = frozenset(
    {
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "UHUGEINT",
        "DECIMAL",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "INTERVAL",
    }
)

_BY_RANK = frozenset({"WINDOW_CUME_DIST", "WINDOW_PERCENT_RANK", "WINDOW_RANK", "WINDOW_RANK_DENSE"})
"""Window functions with one result for rows of equal order."""

_GENERATED = frozenset({"error", "first"})
"""DuckDB's own functions for a subquery that must not have more than one row."""

_SAME_IN_ANY_ORDER = "a result that is the same in whatever order rows are read"


def check_plan(
    session: Session, full: str, references: Collection[TableReference], statement: QueryStatement
) -> list[Fault]:
    """Binds a query whose text names its tables in full, without running it.

    `statement` was parsed before; it locates functions in the text.
    """
    plan, unread = described(session, "json_serialize_plan", full)
    if unread:
        return unread
    if plan["error"]:
        return [unbound(plan)]
    functions: set[str] = set()
    faults: list[Fault] = []
    for node, in_list in _nodes(plan["plans"]):
        kind = node.get("expression_class")
        if str(node.get("type")) == "LOGICAL_GET":
            faults += _check_scan(node, references)
        elif kind == "BOUND_FUNCTION":
            faults += _check_function(node, statement)
            functions.add(_name(node))
        elif kind == "BOUND_AGGREGATE" and not in_list:
            faults += _check_aggregate(node, statement)
        elif kind == "BOUND_WINDOW":
            faults += _check_window(node, statement)
    if "first" in statement.unordered:
        faults.append(_ordered("first", statement.unordered["first"]))
    # The functions in the text were checked before anything was bound; the others come from macros and keywords.
    seen = {*statement.functions, *_GENERATED}
    others = sorted(name for name in functions - seen if name.isidentifier() and name != "__cast")
    return [*dict.fromkeys(faults), *check_functions(session, dict.fromkeys(others, ""))]


def _nodes(plans: Any) -> Iterator[tuple[Node, bool]]:
    """All objects of the plan, each with whether it belongs to a function, whose aggregates are of list elements."""
    waiting: list[tuple[Any, bool]] = [(plans, False)]
    while waiting:
        node, in_list = waiting.pop()
        if isinstance(node, list):
            waiting += [(part, in_list) for part in reversed(node)]
        elif isinstance(node, dict):
            yield node, in_list
            function = node.get("expression_class") == "BOUND_FUNCTION"
            for key, part in reversed(node.items()):
                waiting.append((part, in_list or (function and key == "function_data")))


def _name(node: Node) -> str:
    return folded(node["qname"]["path"][-1])


def _check_scan(node: Node, references: Collection[TableReference]) -> Iterator[Fault]:
    name, data = _name(node), node.get("function_data") or {}
    path = data.get("qualified_name", {}).get("path", [])
    if name in TABLE_FUNCTIONS or (name == "seq_scan" and len(path) == 3 and TableReference(*path) in references):
        return
    yield Fault(FIELD, f"a scan by {shortened(name)} that the text does not name", "only tables of the database")


def _check_function(node: Node, statement: QueryStatement) -> Iterator[Fault]:
    if _name(node) == "age" and len(node["children"]) == 1:
        where = statement.functions.get("age", "")
        yield Fault(FIELD, f"'age' of one argument{where}", "two", "With one it is the age of today.")


def _check_aggregate(node: Node, statement: QueryStatement) -> Iterator[Fault]:
    name = _name(node)
    if name in _GENERATED and not node["order_bys"]:
        return
    if not _same_in_any_order(node) and not _is_ordered(node, (node["order_bys"] or {}).get("orders", [])):
        yield _ordered(name, statement.functions.get(name, ""))


def _same_in_any_order(node: Node) -> bool:
    name = _name(node)
    return name in _ANY_ORDER or (name in _SUMS and all(a["id"] in _EXACT for a in node["arguments"]))


def _is_ordered(node: Node, orders: list[Node]) -> bool:
    """Whether rows of equal order also have equal arguments."""
    keys = [_meaning(order["expression"]) for order in orders]
    return bool(keys) and all(_follows(child, keys) for child in node["children"] if _varies(child))


def _follows(child: Node, keys: list[Any]) -> bool:
    while _meaning(child) not in keys:
        if child.get("type") != "OPERATOR_CAST":
            return False
        (child,) = child["children"]
    return True


def _varies(child: Node) -> bool:
    return any(node.get("expression_class") in ("BOUND_REF", "BOUND_COLUMN_REF") for node, _ in _nodes(child))


def _meaning(node: Any) -> Any:
    """An expression without its name and its place in the text."""
    if isinstance(node, dict):
        return {k: _meaning(v) for k, v in node.items() if k != "alias" and not k.startswith("query_location")}
    if isinstance(node, list):
        return [_meaning(part) for part in node]
    return node


def _check_window(node: Node, statement: QueryStatement) -> Iterator[Fault]:
    kind = str(node["type"])
    if kind in _BY_RANK:
        return
    name = _name(node) if kind == "WINDOW_AGGREGATE" else kind.removeprefix("WINDOW_").lower()
    where = statement.functions.get(name, "")
    if kind != "WINDOW_AGGREGATE":
        hint = "It tells rows of equal order apart: use rank(), and a condition on it in QUALIFY."
        yield Fault(FIELD, f"the window function {shortened(name)}{where}", _SAME_IN_ANY_ORDER, hint)
    elif node["start"].endswith("_ROWS") or node["end"].endswith("_ROWS"):
        hint = "ROWS tells rows of equal order apart: use RANGE or GROUPS."
        yield Fault(FIELD, f"{shortened(name)} over a frame of ROWS{where}", _SAME_IN_ANY_ORDER, hint)
    elif not _same_in_any_order(node):
        hint = "CAST floating-point numbers to DECIMAL."
        yield Fault(FIELD, f"{shortened(name)} over a window{where}", _SAME_IN_ANY_ORDER, hint)


def _ordered(name: str, where: str) -> Fault:
    hint = f"Order by all of its arguments: {name}(x ORDER BY x)."
    if name in _SUMS:
        hint = f"Floating-point numbers are rounded in the order they come: CAST to DECIMAL, or {name}(x ORDER BY x)."
    return Fault(FIELD, f"{shortened(name)}{where}", _SAME_IN_ANY_ORDER, hint)
