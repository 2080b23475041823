"""The check of an analyst's statement: what it may not say, and the text that DuckDB gets in its place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tableveil.backend import folded
from tableveil.endpoint.grammar import ANSWERS, FUNCTIONS, NODES, ROWS_OF_LABELS, TYPES, AnalystSql
from tableveil.endpoint.labels_read import LabelsRead
from tableveil.endpoint.meanings import Look, ReleaseTable
from tableveil.endpoint.misuses import edited, hint_of, refused
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
_TABLE = re.compile(r"\bTABLE\s*\Z", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z_]+")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")
_PARTS_OF_TABLES = {"this", "db", "catalog", "alias", "joins", "sample", "laterals"}

Tables = Mapping[tuple[str, str], int]
"""The numbers of releases by the schema and the name of each table of theirs, both folded."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The text for DuckDB, in which each table has the alias of its release, and what the text takes.

    It is the text `written` with other names of tables, and with bounds after labels that functions of labels take, so
    that DuckDB reads the rest as it would read what was written. `described` is the statement before it that asks only
    about it: EXPLAIN, EXPLAIN ANALYZE, DESCRIBE, or nothing. `hint` is what to write where labels are taken for values.
    """

    text: str
    written: str
    described: str
    releases: frozenset[int]
    parameters: int
    hint: str = ""


def alias_of(release: int) -> str:
    """The name under which the file of a release is attached. A file must have one name in all of a process."""
    return f"releases_{release}"


def check(text: str, tables: Tables, look: Look | None = None, *, lenient: bool = False) -> Checked:
    """Reads a statement, and names in full the tables that it reads.

    Without `look` it knows no labels. `lenient` lets statements pass that take labels for values.

    Raises:
        InvalidError: it is no single SELECT, has a part that is not allowed, or takes labels for values.
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
        described, written = _without_description(text)
        tree = _parsed(written)
        resolver = _Resolver(tables, written)
        resolver.resolve(tree, {})
        _require_allowed(tree)
        hint = _with_bounds(tree, resolver, look, lenient=lenient) if look is not None else ""
    except RecursionError:
        raise _too_deep() from None
    names = [placeholder.name for placeholder in tree.find_all(exp.Placeholder)]
    # Each ? is a parameter of its own; $1 is the same one wherever it stands.
    parameters = sum(not name.isdecimal() for name in names) + len({name for name in names if name.isdecimal()})
    return Checked(resolver.text(), written, described, frozenset(resolver.releases), parameters, hint)


def _with_bounds(tree: exp.Query, resolver: _Resolver, look: Look, *, lenient: bool) -> str:
    """Completes calls of functions of labels; the hint if labels are taken for values."""
    labels = LabelsRead(resolver.written, resolver.read, look)
    labels.read(tree)
    for start, end, text in labels.edits:
        resolver.edits[start] = (end, text)
    if labels.misuses and not lenient:
        raise refused(labels.misuses, resolver.written)
    return hint_of(labels.misuses, resolver.written) if labels.misuses else ""


def _without_description(text: str) -> tuple[str, str]:
    """The word that asks about the statement, and the statement: sqlglot does not look into most of EXPLAIN."""
    tokens = _tokens(text)
    # Comments and semicolons around it would end the statement that it becomes a part of.
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    text = text[: tokens[-1].end + 1] if tokens else ""
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
    `read` are the tables by the identities of their nodes. `edits` are the new names by the first character of the old
    ones, with the character after these.
    """

    tables: Tables
    written: str
    releases: set[int] = field(default_factory=set)
    read: dict[int, ReleaseTable] = field(default_factory=dict)
    edits: dict[int, tuple[int, str]] = field(default_factory=dict)
    common: int = 0

    def text(self) -> str:
        """The text with the new names."""
        return edited(self.written, ((start, end, name) for start, (end, name) in self.edits.items()))

    def resolve(self, node: exp.Expr, known: Mapping[str, str]) -> None:
        """Resolves the names below a node, where these common table expressions are known by new names."""
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            known = self._named_anew(with_, known)
        if isinstance(node, exp.Table):
            self._resolve_table(node, known)
        elif isinstance(node, exp.Column) and node.args.get("catalog"):
            number = self._number(node.args["catalog"], node.args["db"], node.args["table"])
            self._edit([node.args["catalog"]], alias_of(number))
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
            self._edit([common.args["alias"].this], name)
        return known

    def _resolve_table(self, node: exp.Table, known: Mapping[str, str]) -> None:
        name, schema, catalog = node.this, node.args.get("db"), node.args.get("catalog")
        if isinstance(name, exp.Anonymous) and folded(name.name) in ROWS_OF_LABELS and not (schema or catalog):
            return
        if not isinstance(name, exp.Identifier):
            kind = name.name if isinstance(name, exp.Anonymous) else name.key
            raise _refused(f"the table function {shortened(str(kind))}", "tables of releases")
        if schema is None and folded(name.this) in known:
            start = int(name.meta.get("start", 0))
            # TABLE takes a name without an alias.
            takes_alias = not node.alias and not _TABLE.search(self.written, 0, start)
            alias = f" AS {_quoted(name.this)}" if takes_alias else ""
            self._edit([name], known[folded(name.this)], alias)
            return
        number = self._number(catalog, schema, name)
        self.releases.add(number)
        self.read[id(node)] = ReleaseTable(number, schema.name if schema is not None else DEFAULT_SCHEMA, name.name)
        path = (alias_of(number), schema.name if schema is not None else DEFAULT_SCHEMA, name.name)
        self._edit([part for part in (catalog, schema, name) if part is not None], ".".join(map(_quoted, path)))

    def _edit(self, written: Sequence[exp.Expr], name: str, alias: str = "") -> None:
        """Writes a name in the place of these identifiers."""
        try:
            start, end = int(written[0].meta["start"]), int(written[-1].meta["end"]) + 1
        except (KeyError, AttributeError):
            raise _refused("a name in a place where none is expected", _EXPECTED) from None
        if self.edits.setdefault(start, (end, name + alias)) != (end, name + alias):
            raise _refused("a name that can be read in two ways", _EXPECTED)

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
            known = ROWS_OF_LABELS if isinstance(node.parent, exp.Table) else FUNCTIONS | ANSWERS
            if name not in known:
                hint = nearest(name, known) or ""
                raise _refused(f"the function {shortened(name)}", "a function that only computes", hint)
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
        elif isinstance(node, exp.Dot):
            if not (_is_answer(node.this) and isinstance(node.expression, exp.Identifier)):
                raise _refused(
                    "a part of a value", "parts of what functions of labels answer, such as (tv_mean(age)).low"
                )
        elif isinstance(node, exp.Lateral) and not isinstance(node.this, exp.Subquery):
            raise _refused("a table function", "tables of releases")


def _is_answer(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Anonymous) and folded(node.name) in ANSWERS


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refused(found: str, expected: str, hint: str = "") -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", _FIELD, found, expected, hint)


def _too_deep() -> InvalidError:
    return _refused("expressions or subqueries that are nested too deeply", "a simpler statement")
