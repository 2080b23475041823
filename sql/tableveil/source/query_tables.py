"""The tables of a source query: whether they may be read, and the query's text with the full name of each."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from tableveil.backend import Session, folded, identifier, render, table
from tableveil.backend.render import DIALECT
from tableveil.errors import Fault, NearestNames, shortened
from tableveil.policy import TableReference
from tableveil.source.query_statement import FIELD, Node, QueryStatement, TableMention, described
from tableveil.source.tables import STATE_SCHEMA, MissingTable

_EXPECTED = "a table of the server's database"


def find_tables(session: Session, mentions: Sequence[TableMention]) -> tuple[list[TableReference], list[Fault]]:
    """The full name of each table, in the database's spelling; and the faults of tables that may not be read."""
    own = session.catalog
    tables, views = (
        {
            (folded(schema), folded(name)): TableReference(own, schema, name)
            for schema, name in session.rows(f"SELECT schema_name, {kind}_name FROM duckdb_{kind}s() {_HERE}", [own])
            if session.visibility.owned.has_table(schema, name)
        }
        for kind in ("table", "view")
    )
    references: list[TableReference] = []
    faults: list[Fault] = []
    hints: dict[str, NearestNames] = {}
    for mention in mentions:
        *database, schema, name = ("main", *mention.path) if len(mention.path) == 1 else mention.path
        shown = f"{shortened('.'.join(mention.path))}{mention.where}"
        key = folded(schema), folded(name)
        if database and folded(database[-1]) != folded(own):
            hint = f"Its name is {shortened(own)}; leave it out. A query reads no warehouse: name a table in `source`."
            faults.append(MissingTable(FIELD, f"{shown}, of another database", _EXPECTED, hint))
        elif key[0] == STATE_SCHEMA:
            faults.append(MissingTable(FIELD, f"{shown}, of Tableveil's own state", "a table of yours"))
        elif key in tables:
            references.append(tables[key])
        elif key in views:
            hint = "A view may change, and may read anything: write its query out, as a common table expression."
            faults.append(MissingTable(FIELD, f"the view {shown}", "a table", hint))
        else:
            if key[0] not in hints:
                hints[key[0]] = NearestNames(
                    reference.table for (where, _), reference in tables.items() if where == key[0]
                )
            faults.append(MissingTable(FIELD, f"{shown}, which is not there", _EXPECTED, hints[key[0]](name)))
    return references, faults


_HERE = "WHERE database_name = ? AND NOT internal AND NOT temporary"


def named_in_full(
    session: Session, statement: QueryStatement, references: Sequence[TableReference]
) -> tuple[str, list[Fault]]:
    """The query's text with full names, which can mean no temporary table, and none on another search path.

    DuckDB must parse it as before, apart from the names.
    """
    text = statement.text.encode()
    wanted = copy.deepcopy(statement.tree, {id(m.node): _named(m.node, r) for m, r in _with(statement, references)})
    for mention, reference in sorted(_with(statement, references), key=lambda pair: -pair[0].start):
        name = render(_table(mention.node, reference)).encode()
        text = text[: mention.start] + name + text[mention.start + mention.length :]
    full = text.decode()
    read_tree, unread = described(session, "json_serialize_sql", full)
    if unread or read_tree["error"] or [_unplaced(wanted)] != [_unplaced(tree) for tree in read_tree["statements"]]:
        expected = "tables in an ordinary FROM clause"
        hint = "Name every table in full, database.schema.table, and use ordinary spaces."
        return "", [Fault(FIELD, "table names that cannot be completed", expected, hint)]
    return full, []


def _with(statement: QueryStatement, references: Sequence[TableReference]) -> list[tuple[TableMention, TableReference]]:
    return list(zip(statement.tables, references, strict=True))


def _named(node: Node, reference: TableReference) -> Node:
    path = [reference.catalog, reference.schema, reference.table]
    names = {"catalog_name": path[0], "schema_name": path[1], "table_name": path[2], "qualified_name": {"path": path}}
    return {**node, **names}


def _table(node: Node, reference: TableReference) -> exp.Table:
    target = table(reference.table, reference.schema, reference.catalog, node["alias"])
    if node["column_name_alias"]:
        target.args["alias"].set("columns", [identifier(name) for name in node["column_name_alias"]])
    return target


def _unplaced(node: Any) -> Any:
    """The tree without the parts' places in the text."""
    if isinstance(node, dict):
        return {key: _unplaced(value) for key, value in node.items() if not key.startswith("query_location")}
    if isinstance(node, list):
        return [_unplaced(part) for part in node]
    return node


def check_second_opinion(full: str, references: Iterable[TableReference]) -> list[Fault]:
    """Whether sqlglot finds one query of the same tables in a text whose tables are named in full."""
    try:
        trees = sqlglot.parse(full, dialect=DIALECT)
    except (sqlglot.ParseError, sqlglot.TokenError):
        expected, hint = "one that both parsers read alike", "Write it in plainer SQL."
        return [Fault(FIELD, "a statement that DuckDB can read and sqlglot cannot", expected, hint)]
    (tree, *others) = [tree for tree in trees if tree is not None]
    common = {folded(cte.alias) for cte in tree.find_all(exp.CTE)}
    named = {tuple(part.name for part in node.parts) for node in tree.find_all(exp.Table) if not _makes_rows(node)}
    expected_names = {(r.catalog, r.schema, r.table) for r in references}
    unexpected = [name for name in named - expected_names if len(name) > 1 or folded(name[0]) not in common]
    if others or not isinstance(tree, exp.Query) or unexpected or not expected_names <= named:
        expected, hint = "one that both parsers read alike", "Write it in plainer SQL."
        return [Fault(FIELD, "a statement in which DuckDB and sqlglot find different tables", expected, hint)]
    return []


def _makes_rows(found: exp.Table) -> bool:
    return isinstance(found.this, exp.Func)
