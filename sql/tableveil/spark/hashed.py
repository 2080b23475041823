"""Hashes of rows below aggregates, which Spark is made to compute first: it would interpret them row by row."""

import itertools

from sqlglot import exp

from tableveil.backend import expression, row_hash

_HASH = row_hash()

_MORE_THAN_ROWS = ("joins", "laterals", "group", "having", "distinct", "qualify", "windows", "order", "limit", "with_")

_BITS = (21, 22)
"""The lowest bits of a hash, and the next ones: sums of each part fit into 64 bits for a trillion rows."""


def hashed_first(statement: exp.Expr) -> exp.Expr:
    """The statement, with the hashes that a query over all rows aggregates computed in a subquery.

    Spark interprets the arguments of approximate counts, and compiles a projection below them.
    """
    if not isinstance(statement, exp.Select) or any(statement.args.get(part) for part in _MORE_THAN_ROWS):
        return statement
    query = statement.copy()
    source = query.find(exp.From)
    hashes = [
        node
        for projection in query.expressions
        for aggregate in projection.find_all(exp.AggFunc)
        for node in aggregate.find_all(type(_HASH))
        if node.name == _HASH.name
    ]
    columns = {node for projection in query.expressions for node in projection.find_all(exp.Column)}
    nested = any(projection.find(exp.Query) for projection in query.expressions)
    if source is None or not hashes or nested or any(node.table for node in columns):
        return statement
    taken = {node.name.casefold() for node in columns}
    free = (name for name in (f"h{i}" for i in itertools.count()) if name not in taken)
    names: dict[exp.Expr, str] = {}
    for node in hashes:
        if node not in names:
            names[node.copy()] = next(free)
        named = _column(names[node])
        total = node.parent
        if isinstance(total, exp.Sum):
            total.replace(_sum(named))
        else:
            node.replace(named)
    others = {
        node.name: node.copy()
        for projection in query.expressions
        for node in projection.find_all(exp.Column)
        if node.name not in names.values()
    }
    rows = exp.select(*others.values(), *(exp.alias_(node, name, quoted=True) for node, name in names.items()))
    rows = rows.from_(source.this)
    where = query.args.get("where")
    if where is not None:
        rows = rows.where(where.this)
        query.set("where", None)
    return query.from_(rows.subquery("hashed"))


def _sum(hashed: exp.Expr) -> exp.Expr:
    """The sum as a decimal of 38 digits, from sums of parts: decimals of all rows would take several times as long."""
    low, middle = _BITS
    wide = "CAST(sum({}) AS DECIMAL(38, 0)) * {}"
    parts = (
        wide.format(f"$hashed & {2**low - 1}", 1),
        wide.format(f"$hashed >> {low} & {2**middle - 1}", 2**low),
        wide.format(f"$hashed >> {low + middle}", 2 ** (low + middle)),
    )
    return exp.paren(expression(" + ".join(parts), hashed=hashed))


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))
