"""The check of an analyst's statement: what it may not say, and the tables that it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tableveil.backend import folded
from tableveil.endpoint.grammar import SERIES, AnalystSql, Edit, edited, end_of, quoted, refused, require_allowed
from tableveil.endpoint.information import CATALOG, DEFAULT_SCHEMA, INFORMATION, INFORMATION_VIEWS, INFORMED, shown
from tableveil.endpoint.label_rule import LabelRule, completions
from tableveil.endpoint.label_sources import LabelSources
from tableveil.endpoint.labels import ESTIMATED, LookInFiles, ReleaseTable, Values
from tableveil.errors import NotFoundError, nearest, shortened

MOST_CHARACTERS = 100_000
MOST_BRACKETS = 100
"""The deepest nesting of brackets: the time of DuckDB's parser grows with the cube of the depth."""

MOST_TOKENS = 20_000

_EXPECTED = "one SELECT, PIVOT or UNPIVOT, which may have EXPLAIN, DESCRIBE or SUMMARIZE before it, or SHOW TABLES"
_ANALYZE = re.compile(r"\s*ANALYZE\b", re.IGNORECASE)
_SUFFIXES = ("_about", "_classes", "_classification", "_columns", "_estimated", "_labels", "_risk", "_risk_histogram")
"""The ends of the names of a release's tables."""

_SUMMARIZED = ("min", "max", "avg", "std", "q25", "q50", "q75")
"""The columns in which SUMMARIZE tells of values, and of labels as if they were values."""

_FIRST = (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN, TokenType.PIVOT, TokenType.UNPIVOT)
"""The words with which a query begins, and no name of a table."""

_DATABASES = frozenset({CATALOG, "memory", "system", "temp"})
"""Databases of a query's process: DuckDB could read a schema of that name as one of them."""

_VIEWS = frozenset((INFORMATION, view) for view in INFORMATION_VIEWS)

Tables = Mapping[tuple[str, str], int]
"""The numbers of releases by the schema and the name of each table of theirs, both folded."""


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """The text for DuckDB, and what it reads and takes.

    It is the text that was written, with bounds after labels that functions of labels take, and with other names for
    the views that tell of tables. `described` is the statement before it that asks only about it: EXPLAIN, EXPLAIN
    ANALYZE, DESCRIBE, SUMMARIZE, or nothing. `hint` is what to write where labels are taken for values. `names` are
    those of its parameters, if they have any. `unordered` are its columns of labels and bounds, which SUMMARIZE would
    take for values. `informed` says whether it reads the views that tell of tables.
    """

    text: str
    described: str
    tables: frozenset[ReleaseTable]
    parameters: int
    hint: str = ""
    names: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    informed: bool = False

    @property
    def releases(self) -> frozenset[int]:
        """The numbers of the releases that it reads."""
        return frozenset(table.release for table in self.tables)

    @property
    def statement(self) -> str:
        """The statement that DuckDB runs."""
        if self.described == "SUMMARIZE" and self.unordered:
            names = ", ".join(quoted(name, "'") for name in self.unordered)
            unknown = ", ".join(f"CASE WHEN column_name NOT IN ({names}) THEN {of} END AS {of}" for of in _SUMMARIZED)
            return f"SELECT * REPLACE ({unknown}) FROM (SUMMARIZE {self.text})"
        return f"{self.described} {self.text}" if self.described else self.text


def alias_of(release: int) -> str:
    """The name under which the file of a release is attached. A file must have one name in all of a process."""
    return f"releases_{release}"


def check(
    text: str,
    tables: Tables,
    look: LookInFiles | None = None,
    withdrawn: Mapping[tuple[str, str], str] | None = None,
    *,
    lenient: bool = False,
) -> CheckedStatement:
    """Reads a statement, and finds the tables that it reads.

    Without `look` it knows no labels. `withdrawn` has the days on which releases were withdrawn, by schema and name.
    `lenient` lets statements pass that take labels for values.

    Raises:
        InvalidError: it is no single SELECT, has a part that is not allowed, or takes labels for values.
        NotFoundError: there is no such table among these.
    """
    if len(text) > MOST_CHARACTERS:
        raise refused(f"{len(text):,} characters", f"at most {MOST_CHARACTERS:,}")
    if "\0" in text:
        raise refused("a null character", "text without one")
    depths = accumulate((bracket in "([{") - (bracket in ")]}") for bracket in text)
    try:
        if max(depths, default=0) > MOST_BRACKETS:
            raise RecursionError
        described, written = _without_description(text)
        written, names, parameters = _numbered(written)
        tree, resolver = _read(written, tables, withdrawn or {})
        if look is not None:
            look.bind(parameters, names)
        if look is not None and (whole := with_values(tree, resolver.read, look, written)) != written:
            written = whole
            tree, resolver = _read(written, tables, withdrawn or {})
        hint, unordered = _with_bounds(tree, written, resolver, look, lenient=lenient) if look is not None else ("", ())
    except RecursionError:
        raise refused("expressions or subqueries that are nested too deeply", "a simpler statement") from None
    text, read = edited(written, resolver.edits), frozenset(resolver.read.values())
    return CheckedStatement(text, described, read, parameters, hint, names, unordered, resolver.informed)


def _read(
    written: str, tables: Tables, withdrawn: Mapping[tuple[str, str], str]
) -> tuple[exp.Query | exp.Pivot, _Resolver]:
    """The tree of a statement that has only allowed parts, and the tables that it names."""
    tree = _parsed(written)
    resolver = _Resolver(tables, withdrawn)
    resolver.resolve(tree, frozenset())
    require_allowed(tree)
    return tree, resolver


def _with_bounds(
    tree: exp.Expr, written: str, resolver: _Resolver, look: LookInFiles, *, lenient: bool
) -> tuple[str, tuple[str, ...]]:
    """Completes calls of functions of labels; the hint if labels mislead, and the statement's columns without order."""
    sources = LabelSources.of(tree, resolver.read, look)
    resolver.edits += completions(sources.tree if sources is not None else tree, sources, written)
    if sources is None:
        return "", ()
    rule = LabelRule(sources)
    unknown: list[Values | None] = [None]
    for values in look.rows or unknown:
        look.bound = values
        unordered = rule.read()
    if rule.misuses and not lenient:
        raise rule.misuses[0]
    return rule.misuses[0].faults[0].hint if rule.misuses else " ".join(dict.fromkeys(rule.hints)), unordered


def _numbered(text: str) -> tuple[str, tuple[str, ...], int]:
    """The text in which each ? is a parameter with its number, the names of its parameters if any, and how many."""
    tokens = _tokens(text)
    marks = [token for token in tokens if token.token_type is TokenType.PLACEHOLDER]
    named = [name.text for sign, name in pairwise(tokens) if sign.token_type is TokenType.PARAMETER]
    names = tuple(dict.fromkeys(name for name in named if not name.isdecimal()))
    if (marks and named) or (names and len(names) < len(set(named))):
        raise refused("parameters with names and without", "one kind of parameters")
    numbered = edited(text, ((token.start, token.end + 1, f"${place}") for place, token in enumerate(marks, 1)))
    return numbered, names, len(marks) or len(set(named))


def _without_description(text: str) -> tuple[str, str]:
    """The word that asks about the statement, and the statement: sqlglot does not look into most of EXPLAIN."""
    tokens = _tokens(text)
    # Comments and semicolons around it would end the statement that it becomes a part of.
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if (select := shown(tokens)) is not None:
        return "", select
    text = text[: tokens[-1].end + 1] if tokens else ""
    first = tokens[0].text.upper() if tokens else ""
    rest = text[tokens[0].end + 1 :] if tokens else ""
    if first == "EXPLAIN":
        analyze = _ANALYZE.match(rest)
        return ("EXPLAIN ANALYZE", rest[analyze.end() :]) if analyze else ("EXPLAIN", rest)
    if first in ("DESCRIBE", "DESC", "SUMMARIZE"):
        is_name = len(tokens) > 1 and tokens[1].token_type not in _FIRST
        return "SUMMARIZE" if first == "SUMMARIZE" else "DESCRIBE", f"FROM {rest}" if is_name else rest
    return "", text


def _tokens(text: str) -> list[Token]:
    try:
        tokens = AnalystSql().tokenize(text)
    except sqlglot.TokenError:
        raise refused("text that is not closed, or a character that no statement has", _EXPECTED) from None
    if len(tokens) > MOST_TOKENS:
        raise refused(f"{len(tokens):,} words and signs", f"at most {MOST_TOKENS:,}")
    return tokens


def _parsed(text: str) -> exp.Query | exp.Pivot:
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=AnalystSql) if tree is not None]
    except sqlglot.ParseError as error:
        details = error.errors[0] if error.errors else {}
        reason = str(details.get("description")).partition(" but got")[0].rstrip(".")
        place = f"in line {details.get('line')}, column {details.get('col')}: {reason}"
        # DuckDB lets ORDER BY and LIMIT follow, sqlglot does not.
        is_pivot = re.match(r"\s*(UN)?PIVOT\b", text, re.IGNORECASE) is not None
        hint = "Write SELECT * FROM (PIVOT …) ORDER BY … if anything is to follow." if is_pivot else ""
        found = f"a statement that cannot be read {place}" if details else "no statement"
        raise refused(found, _EXPECTED, hint) from None
    if len(trees) != 1:
        raise refused(f"{len(trees)} statements" if trees else "no statement", _EXPECTED)
    (tree,) = trees
    if not isinstance(tree, (exp.Query, exp.Pivot)) or isinstance(tree, exp.Table):
        raise refused(f"a statement of the kind {tree.key.upper()}", _EXPECTED)
    return tree


@dataclass(slots=True)
class _Resolver:
    """Finds the tables that a statement reads, by the identities of their nodes; `edits` make names plain to DuckDB."""

    tables: Tables
    withdrawn: Mapping[tuple[str, str], str]
    read: dict[int, ReleaseTable] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    informed: bool = False

    def resolve(self, node: exp.Expr, known: frozenset[str]) -> None:
        """Resolves the names below a node, where these common table expressions are known."""
        with_: Any = node.args.get("with_")
        for common in with_.expressions if with_ is not None else ():
            inside = known | {folded(common.alias)}
            self.resolve(common.this, inside if with_.recursive else known)
            known = inside
        if isinstance(node, exp.Table):
            self._resolve_table(node, known)
        elif isinstance(node, exp.Column) and node.args.get("catalog"):
            self._found(node.args["catalog"], node.args["db"], node.args["table"])
        for child in node.iter_expressions():
            if child is not with_:
                self.resolve(child, known)

    def _resolve_table(self, node: exp.Table, known: frozenset[str]) -> None:
        name, schema, catalog = node.this, node.args.get("db"), node.args.get("catalog")
        if isinstance(name, exp.Anonymous) and folded(name.name) in SERIES and not (schema or catalog):
            return
        if not isinstance(name, exp.Identifier):
            kind = name.name if isinstance(name, exp.Anonymous) else name.key
            raise refused(f"the table function {shortened(str(kind))}", "tables of releases")
        if schema is None and folded(name.this) in known:
            return
        is_ours = catalog is None or folded(catalog.name) == CATALOG
        if schema is not None and is_ours and (folded(schema.name), folded(name.name)) in _VIEWS:
            self.informed = True
            start = (catalog or schema).meta["start"]
            self.edits.append((start, name.meta["start"], f"{'.'.join(INFORMED)}."))
            return
        self.read[id(node)] = self._found(catalog, schema, name)
        if schema is not None and not catalog and folded(schema.name) in _DATABASES:
            self.edits.append((schema.meta["start"], schema.meta["start"], f"{CATALOG}."))

    def _found(self, catalog: exp.Expr | None, schema: exp.Expr | None, name: exp.Expr) -> ReleaseTable:
        path = shortened(".".join(part.name for part in (catalog, schema, name) if part is not None))
        wanted = (folded(schema.name) if schema is not None else DEFAULT_SCHEMA, folded(name.name))
        number = self.tables.get(wanted)
        if number is None or (catalog is not None and folded(catalog.name) != CATALOG):
            # Other tables of a release have its name as prefix.
            names = [wanted[1], *(wanted[1].removesuffix(suffix) for suffix in _SUFFIXES)]
            if days := [self.withdrawn[wanted[0], one] for one in names if (wanted[0], one) in self.withdrawn]:
                gone = f"{path}, of a release that was withdrawn on {days[0]}"
                hint = "Ask its steward why."
                raise NotFoundError.of("RELEASE_WITHDRAWN", "statement", gone, "a release that stands", hint)
            visible = [".".join(key) for key in self.tables]
            hint = nearest(".".join(wanted), visible) or "Ask your client for the tables that you may read."
            raise NotFoundError.of("TABLE_NOT_FOUND", "statement", path, "a table of a release that you may read", hint)
        estimated = f"{wanted[1]}{ESTIMATED}"
        return ReleaseTable(number, *wanted, estimated if (wanted[0], estimated) in self.tables else "")


MOST_VALUES = 1_000
"""The most columns that PIVOT makes of the values of one column."""

_LIST = "PIVOT … ON column IN ('value', 'value')"


def with_values(tree: exp.Expr, tables: Mapping[int, ReleaseTable], look: LookInFiles, written: str) -> str:
    """The text in which each column after ON has the list of its values; raises `InvalidError` if they are unknown."""
    edits = []
    for pivot in tree.find_all(exp.Pivot):
        if pivot.args.get("unpivot") or pivot.args.get("fields"):
            continue
        table = tables.get(id(pivot.this)) if not pivot.this.alias_column_names else None
        for column in pivot.expressions:
            if isinstance(column, exp.In):
                continue
            place = end_of(column)
            if table is None or place is None or not isinstance(column, exp.Column):
                raise refused("PIVOT without a list of values", _LIST, "Only for a table's column it may be left out.")
            values = look.values(table, column.name, MOST_VALUES + 1)
            if len(values) > MOST_VALUES:
                raise refused(f"PIVOT on a column of more than {MOST_VALUES:,} values", _LIST)
            listed = ", ".join(quoted(value, "'") for value in values)
            if not listed:
                raise refused("PIVOT on a column without values", _LIST)
            edits.append((place, place, f" IN ({listed})"))
    return edited(written, edits)
