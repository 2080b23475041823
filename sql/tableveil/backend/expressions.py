"""Small vocabulary for building statements as sqlglot trees; names are always quoted, so any name is safe."""

from collections.abc import Iterable, Sequence
from functools import cache, reduce

import sqlglot
from sqlglot import exp

from tableveil.backend.render import DIALECT


def identifier(name: str) -> exp.Identifier:
    """A quoted name."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str, of: str = "") -> exp.Column:
    """A column, of the table or alias `of` if given."""
    return exp.Column(this=identifier(name), table=identifier(of) if of else None)


def table(name: str, schema: str = "", catalog: str = "", alias: str = "") -> exp.Table:
    """A table, named by the parts that are not empty."""
    return exp.Table(
        this=identifier(name),
        db=identifier(schema) if schema else None,
        catalog=identifier(catalog) if catalog else None,
        alias=exp.TableAlias(this=identifier(alias)) if alias else None,
    )


def alias(expression: exp.Expr, name: str) -> exp.Alias:
    """`expression AS name`."""
    return exp.Alias(this=expression, alias=identifier(name))


def number(value: int) -> exp.Expr:
    """An integer literal."""
    return exp.Literal.number(value)


def text(value: str) -> exp.Expr:
    """A text literal."""
    return exp.Literal.string(value)


def parameter(position: int) -> exp.Expr:
    """A value that is bound when the statement runs: the parameter at the position, from 1 on."""
    return exp.Parameter(this=number(position))


def cast(expression: exp.Expr, type_: str) -> exp.Expr:
    """`CAST(expression AS type_)`, the type as DuckDB spells it."""
    return exp.Cast(this=expression, to=_type(type_).copy())


@cache
def _type(name: str) -> exp.DataType:
    """A type by its name in DuckDB, which is parsed once: parsing takes ten times as long as copying."""
    return exp.DataType.build(name, dialect=DIALECT)


def try_cast(expression: exp.Expr, type_: str) -> exp.Expr:
    """`TRY_CAST(expression AS type_)`: NULL for values that cannot be cast."""
    return exp.TryCast(this=expression, to=_type(type_).copy())


def in_one_spelling(value: exp.Expr) -> exp.Expr:
    """The floating-point number without a zero's sign and a NaN's payload: equal values must not look different.

    A NaN has 52 bits that nobody sees and that could mark a record. Whether a sort keeps them depends on the plan.
    """
    # In the shorter type, so that the result has the type of the value.
    spellings = [number(0), cast(text("NaN"), "FLOAT")]
    equal = [exp.If(this=exp.EQ(this=value.copy(), expression=one), true=one.copy()) for one in spellings]
    return exp.Case(ifs=equal, default=value)


def conjunction(conditions: Iterable[exp.Expr]) -> exp.Expr:
    """All conditions together; true if there are none."""
    parts = list(conditions)
    return exp.and_(*parts) if parts else exp.true()


def row_number(order: Sequence[exp.Expr]) -> exp.Expr:
    """`row_number() OVER (ORDER BY …)`, from 1; without an order in that of the rows."""
    return exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=list(order)) if order else None)


def create_table(target: exp.Table, query: exp.Expr) -> exp.Create:
    """`CREATE TABLE target AS query`."""
    return exp.Create(this=target, kind="TABLE", expression=query)


def united(queries: Sequence[exp.Query]) -> exp.Query:
    """`query UNION ALL query …`: one statement costs less to plan than many. There must be a query."""
    return reduce(lambda all_, one: exp.Union(this=all_, expression=one, distinct=False), queries)


def in_order(query: exp.Query, order: Sequence[exp.Expr], shown: Sequence[exp.Expr] = (exp.Star(),)) -> exp.Select:
    """The query's rows, sorted; `shown` are the columns, made of those of `ordered_rows` once these are sorted."""
    rows = exp.select(exp.Star()).from_(query.subquery("released", copy=False), copy=False)
    ordered = rows.order_by(*order, copy=False).subquery("ordered_rows", copy=False)
    return exp.select(*shown).from_(ordered, copy=False)


def left_join(query: exp.Select, joined: exp.Expr, on: exp.Expr) -> exp.Select:
    """The query with `LEFT JOIN joined ON on`: it is changed, since copies of long ones take longer than all else."""
    return query.join(exp.Join(this=joined, side="LEFT"), on=on, copy=False)


def drop(kind: str, target: exp.Table, if_exists: bool = False) -> exp.Drop:
    """`DROP kind [IF EXISTS] target`; `kind` is TABLE or VIEW."""
    return exp.Drop(tables=[target], kind=kind, exists=if_exists)


def row_hash(*values: exp.Expr) -> exp.Expr:
    """A number of 64 bits, computed from all values together; NULL counts as a value."""
    return _call("hash", *values)


def is_finite(value: exp.Expr) -> exp.Expr:
    """Whether a number or a time is neither infinite nor NaN; NULL for NULL."""
    return _call("isfinite", value)


def month_start(value: exp.Expr) -> exp.Expr:
    """The first day of a date's month."""
    return _call("date_trunc", text("month"), value)


def listed(entries: exp.Expr, position: exp.Expr) -> exp.Expr:
    """The entry of a list at a position, from 1 on; NULL if there is none."""
    return _call("list_extract", entries, position)


def joined_by(separator: str, values: Iterable[exp.Expr]) -> exp.Expr:
    """The texts one after another, with a separator between them; NULLs are left out."""
    return _call("concat_ws", text(separator), *values)


def json_members(value: exp.Expr) -> exp.Expr:
    """The list of the members of a JSON array, as texts; of the text itself if it is no array, and none of null."""
    has_type = exp.EQ(this=_call("json_type", value.copy()), expression=text("ARRAY"))
    is_array = exp.and_(_call("json_valid", value), has_type)
    members = _call("json_extract_string", value.copy(), text("$[*]"))
    itself = exp.func("NULLIF", value.copy(), text("null"))
    return exp.Case(ifs=[exp.If(this=is_array, true=members)], default=exp.Array(expressions=[itself]))


def _call(function: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=list(arguments))


Part = exp.Expr | Sequence[exp.Expr]
"""A tree, or several in place of a list of columns, conditions or the like."""


def sql(text: str, /, **parts: Part) -> exp.Select:
    """The tree of a SELECT in DuckDB's SQL, with the parts in place of their `$names`.

    All names in the text are quoted. A text never has the name of anything of a user's: that is a part. It is parsed at
    first use. `$1` is the first value that is bound when the statement runs.
    """
    tree = expression(text, **parts)
    assert isinstance(tree, exp.Select), "the text is a SELECT"
    return tree


def expression(text: str, /, **parts: Part) -> exp.Expr:
    """The tree of any piece of DuckDB's SQL, as `sql` makes it."""
    tree = _parsed(text).copy()
    for hole in list(tree.find_all(exp.Placeholder)):
        part = parameter(int(hole.name)) if hole.name.isdecimal() else parts[hole.name]
        trees = [one.copy() for one in ([part] if isinstance(part, exp.Expr) else part)]
        parent = hole.parent
        place = parent if isinstance(parent, exp.Table | exp.Ordered) else hole
        if isinstance(parent, exp.Table) and (name := parent.args.get("alias")):
            trees[0].set("alias", name)
        if isinstance(parent, exp.Binary | exp.Unary) and isinstance(trees[0], exp.Binary):
            trees = [exp.Paren(this=one) for one in trees]
        if place is tree:
            (tree,) = trees
        else:
            place.replace(trees[0] if isinstance(part, exp.Expr) else trees)
    return tree


@cache
def _parsed(text: str) -> exp.Expr:
    # Beside a `$`, sqlglot 30 reads no '' that ends a text.
    tree = sqlglot.parse_one(f"{text} ", dialect=DIALECT)
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return tree
