"""The check of an analyst's statement: what it may not say, and the text that DuckDB gets in its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tableveil.backend import folded
from tableveil.endpoint.grammar import FUNCTIONS, NODES, TYPES, AnalystSql
from tableveil.errors import InvalidError, NotFoundError, nearest, shortened

CATALOG = "releases"
"""The name by which clients know the one catalog there is."""

DEFAULT_SCHEMA = "main"
"""The schema of names that say none."""

MOST_CHARACTERS = 100_000
MOST_BRACKETS = 100
"""The deepest nesting of brackets: the time of DuckDB's parser grows with the cube of the depth."""

MOST_TOKENS = 20_000

_FIELD = "statement"
_EXPECTED = "one SELECT, which may have EXPLAIN or DESCRIBE before it"
_ANALYZE = re.compile(r"\s*ANALYZE\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_]+")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")
_PARTS_OF_TABLES = {"this", "db", "catalog", "alias", "joins", "sample", "laterals"}

Tables = Mapping[tuple[str, str], int]
"""The numbers of releases by the schema and the name of each table of theirs, both folded."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The text for DuckDB, in which each table has the alias of its release, and what the text takes.

    `described` is the statement before it that asks only about it: EXPLAIN, EXPLAIN ANALYZE, DESCRIBE, or nothing.
    """

    text: str
    described: str
    releases: frozenset[int]
    parameters: int


def alias_of(release: int) -> str:
    """The name under which the file of a release is attached. A file must have one name in all of a process."""
    return f"releases_{release}"


def check(text: str, tables: Tables) -> Checked:
    """Reads a statement, and names in full the tables that it reads.

    Raises:
        InvalidError: it is no single SELECT, or has a part that is not allowed.
        NotFoundError: there is no such table among these.
    """
    if len(text) > MOST_CHARACTERS:
        raise _refused(f"{len(text):,} characters", f"at most {MOST_CHARACTERS:,}")
    if "\0" in text:
        raise _refused("a null character", "text without one")
    depths = accumulate((bracket in "([{") - (bracket in ")]}") for bracket in text)
    if max(depths, default=0) > MOST_BRACKETS:
        raise _too_deep()
    try:
        described, rest = _without_description(text)
        tree = _parsed(rest)
        resolver = _Resolver(tables)
        resolver.resolve(tree, {})
        _require_allowed(tree)
        rendered = tree.sql(AnalystSql, identify=True, comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except RecursionError:
        raise _too_deep() from None
    except sqlglot.UnsupportedError as error:
        raise _refused(shortened(str(error).splitlines()[0]), "another way to say it") from None
    names = [placeholder.name for placeholder in tree.find_all(exp.Placeholder)]
    # Each ? is a parameter of its own; $1 is the same one wherever it stands.
    parameters = sum(not name.isdecimal() for name in names) + len({name for name in names if name.isdecimal()})
    return Checked(rendered, described, frozenset(resolver.releases), parameters)


def _without_description(text: str) -> tuple[str, str]:
    """The word that asks about the statement, and the statement: sqlglot does not look into most of EXPLAIN."""
    tokens = _tokens(text)
    first = tokens[0].text.upper() if tokens else ""
    rest = text[tokens[0].end + 1 :] if tokens else ""
    if first == "EXPLAIN":
        analyze = _ANALYZE.match(rest)
        return ("EXPLAIN ANALYZE", rest[analyze.end() :]) if analyze else ("EXPLAIN", rest)
    if first in ("DESCRIBE", "DESC"):
        is_name = len(tokens) > 1 and tokens[1].token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.FROM)
        return "DESCRIBE", f"FROM {rest}" if is_name else rest
    return "", text


def _tokens(text: str) -> list[Token]:
    try:
        tokens = AnalystSql().tokenize(text)
    except sqlglot.TokenError:
        raise _refused("text that is not closed, or a character that no statement has", _EXPECTED) from None
    if len(tokens) > MOST_TOKENS:
        raise _refused(f"{len(tokens):,} words and signs", f"at most {MOST_TOKENS:,}")
    return tokens


def _parsed(text: str) -> exp.Query:
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect=AnalystSql) if tree is not None]
    except sqlglot.ParseError as error:
        found = error.errors[0] if error.errors else {}
        reason = str(found.get("description")).partition(" but got")[0].rstrip(".")
        place = f"in line {found.get('line')}, column {found.get('col')}: {reason}"
        raise _refused(f"a statement that cannot be read {place}" if found else "no statement", _EXPECTED) from None
    if len(trees) != 1:
        raise _refused(f"{len(trees)} statements" if trees else "no statement", _EXPECTED)
    (tree,) = trees
    if not isinstance(tree, exp.Query) or isinstance(tree, exp.Table):
        raise _refused(f"a statement of the kind {tree.key.upper()}", _EXPECTED)
    return tree


@dataclass(slots=True)
class _Resolver:
    """Gives each table the alias of its release, and each common table expression a name that no catalog has.

    So a name that is taken for one of a common table expression cannot be read as one of the database's own views.
    """

    tables: Tables
    releases: set[int] = field(default_factory=set)
    common: int = 0

    def resolve(self, node: exp.Expr, known: Mapping[str, str]) -> None:
        """Resolves the names below a node, where these common table expressions are known by new names."""
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            known = self._named_anew(with_, known)
        if isinstance(node, exp.Table):
            self._resolve_table(node, known)
        elif isinstance(node, exp.Column) and node.args.get("catalog"):
            number = self._number(node.args["catalog"], node.args["db"], node.args["table"])
            node.set("catalog", exp.to_identifier(alias_of(number), quoted=True))
        for child in list(node.iter_expressions()):
            if child is not with_:
                self.resolve(child, known)

    def _named_anew(self, with_: exp.With, known: Mapping[str, str]) -> Mapping[str, str]:
        for common in with_.expressions:
            self.common += 1
            written, name = folded(common.alias), f"common_{self.common}"
            inside = {**known, written: name} if with_.recursive else known
            self.resolve(common.this, inside)
            known = {**known, written: name}
            common.args["alias"].set("this", exp.to_identifier(name, quoted=True))
        return known

    def _resolve_table(self, node: exp.Table, known: Mapping[str, str]) -> None:
        name, schema, catalog = node.this, node.args.get("db"), node.args.get("catalog")
        if not isinstance(name, exp.Identifier):
            kind = name.name if isinstance(name, exp.Anonymous) else name.key
            raise _refused(f"the table function {shortened(str(kind))}", "tables of releases")
        if schema is None and folded(name.this) in known:
            if not node.alias:
                alias = node.args.get("alias") or exp.TableAlias()
                alias.set("this", name)
                node.set("alias", alias)
            node.set("this", exp.to_identifier(known[folded(name.this)], quoted=True))
            return
        number = self._number(catalog, schema, name)
        self.releases.add(number)
        node.set("db", schema or exp.to_identifier(DEFAULT_SCHEMA))
        node.set("catalog", exp.to_identifier(alias_of(number)))

    def _number(self, catalog: exp.Expr | None, schema: exp.Expr | None, name: exp.Expr) -> int:
        path = [part.name for part in (catalog, schema, name) if part is not None]
        wanted = (folded(schema.name) if schema is not None else DEFAULT_SCHEMA, folded(name.name))
        number = self.tables.get(wanted)
        if number is None or (catalog is not None and folded(catalog.name) != CATALOG):
            visible = [".".join(key) for key in self.tables]
            hint = nearest(".".join(wanted), visible) or "Ask your client for the tables that you may read."
            found = shortened(".".join(path))
            raise NotFoundError.of("TABLE_NOT_FOUND", _FIELD, found, "a table of a release that you may read", hint)
        return number


def _require_allowed(tree: exp.Expr) -> None:
    for node in tree.walk():
        kind = type(node)
        if kind not in NODES:
            raise _refused(f"{node.key.upper()}", "parts of SELECT that only compute")
        if isinstance(node, exp.Anonymous):
            name = folded(node.name)
            if name not in FUNCTIONS:
                hint = nearest(name, FUNCTIONS) or ""
                raise _refused(f"the function {shortened(name)}", "a function that only computes", hint)
            node.set("this", name)
        elif isinstance(node, exp.DataType):
            if node.this not in TYPES:
                raise _refused(f"the type {shortened(node.sql(AnalystSql))}", "a type of values")
        elif isinstance(node, exp.Var):
            if not _WORD.fullmatch(node.name):
                raise _refused(shortened(node.name), "a word")
        elif isinstance(node, exp.Literal):
            if not node.is_string and not _NUMBER.fullmatch(node.name):
                raise _refused(shortened(node.name), "a number")
        elif isinstance(node, exp.Placeholder):
            if node.name not in ("", "?") and not node.name.isdecimal():
                raise _refused(f"the parameter {shortened(node.name)}", "? or a number, such as $1")
        elif isinstance(node, exp.Table):
            parts = {part for part, value in node.args.items() if value}
            if more := parts - _PARTS_OF_TABLES:
                raise _refused(f"{', '.join(sorted(more)).upper()} of a table", "a table as it is")
        elif isinstance(node, exp.Lateral) and not isinstance(node.this, exp.Subquery):
            raise _refused("a table function", "tables of releases")


def _refused(found: str, expected: str, hint: str = "") -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", _FIELD, found, expected, hint)


def _too_deep() -> InvalidError:
    return _refused("expressions or subqueries that are nested too deeply", "a simpler statement")
