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
from tableveil.endpoint.allowed import FIELD, refused, require_allowed
from tableveil.endpoint.grammar import SERIES, AnalystSql
from tableveil.endpoint.label_rule import LabelRule
from tableveil.endpoint.labels import ReleaseTable
from tableveil.endpoint.looked import ESTIMATED, LookInFiles
from tableveil.endpoint.pivots import with_values
from tableveil.endpoint.written import edited, quoted
from tableveil.endpoint.written_shorthands import INFORMATION, INFORMATION_VIEWS, shown
from tableveil.errors import InvalidError, NotFoundError, nearest, shortened

CATALOG = "releases"
"""The name by which clients know the one catalog there is."""

DEFAULT_SCHEMA = "main"
"""The schema of names that say none."""

INFORMED = ("memory", "information")
"""The place of the views that tell of tables, in the database of the process of a query."""

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

_TABLE = re.compile(r"\bTABLE\s*\Z", re.IGNORECASE)

Tables = Mapping[tuple[str, str], int]
"""The numbers of releases by the schema and the name of each table of theirs, both folded."""


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """The text for DuckDB, in which each table has the alias of its release, and what the text takes.

    It is the text `written` with other names of tables, and with bounds after labels that functions of labels take, so
    that DuckDB reads the rest as it would read what was written. `described` is the statement before it that asks only
    about it: EXPLAIN, EXPLAIN ANALYZE, DESCRIBE, SUMMARIZE, or nothing. `hint` is what to write where labels are taken
    for values. `names` are those of its parameters, if they have any. `unordered` are its columns of labels and bounds,
    which SUMMARIZE would take for values. `informed` says whether it reads the views that tell of tables.
    """

    text: str
    written: str
    described: str
    releases: frozenset[int]
    parameters: int
    hint: str = ""
    names: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    informed: bool = False

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
    """Reads a statement, and names in full the tables that it reads.

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
    if max(depths, default=0) > MOST_BRACKETS:
        raise _too_deep()
    try:
        described, written = _without_description(text)
        written = _numbered(written)
        tree, resolver = _read(written, tables, withdrawn or {})
        named, parameters = _parameters(tree)
        if look is not None:
            look.bind(parameters, named)
        if look is not None and (whole := with_values(tree, resolver.read, look, written)) != written:
            tree, resolver = _read(whole, tables, withdrawn or {})
        hint, unordered = _with_bounds(tree, resolver, look, lenient=lenient) if look is not None else ("", ())
    except RecursionError:
        raise _too_deep() from None
    return CheckedStatement(
        resolver.text(),
        resolver.written,
        described,
        frozenset(resolver.releases),
        parameters,
        hint,
        named,
        unordered,
        resolver.informed,
    )


def _read(
    written: str, tables: Tables, withdrawn: Mapping[tuple[str, str], str]
) -> tuple[exp.Query | exp.Pivot, _Resolver]:
    """The tree of a statement that has only allowed parts, and the tables that it names."""
    tree = _parsed(written)
    resolver = _Resolver(tables, written, withdrawn)
    resolver.resolve(tree, {})
    require_allowed(tree)
    return tree, resolver


def _with_bounds(
    tree: exp.Expr, resolver: _Resolver, look: LookInFiles, *, lenient: bool
) -> tuple[str, tuple[str, ...]]:
    """Completes calls of functions of labels; the hint if labels mislead, and the statement's columns without order."""
    estimated = {
        table: f"{table.name}{ESTIMATED}"
        for table in resolver.read.values()
        if (folded(table.schema), f"{folded(table.name)}{ESTIMATED}") in resolver.tables
    }
    rule = LabelRule(resolver.read, look, estimated)
    rule.read(tree)
    for start, end, text in rule.edits:
        resolver.edits[start] = (end, text)
    if rule.misuses and not lenient:
        raise rule.misuses[0].error()
    hint = rule.misuses[0].hint if rule.misuses else " ".join(rule.hints)
    return hint, rule.unordered


def _numbered(text: str) -> str:
    """The text in which each ? is a parameter with its number."""
    tokens = _tokens(text)
    marks = [token for token in tokens if token.token_type is TokenType.PLACEHOLDER]
    if marks and any(token.token_type is TokenType.PARAMETER for token in tokens):
        raise refused("parameters with names and without", "one kind of parameters")
    return edited(text, ((token.start, token.end + 1, f"${place}") for place, token in enumerate(marks, 1)))


def _parameters(tree: exp.Expr) -> tuple[tuple[str, ...], int]:
    """The names of a statement's parameters, if they have any, and how many it takes."""
    names = {placeholder.name for placeholder in tree.find_all(exp.Placeholder)}
    named = tuple(dict.fromkeys(one.name for one in tree.find_all(exp.Placeholder) if not one.name.isdecimal()))
    if named and len(named) < len(names):
        raise refused("parameters with names and without", "one kind of parameters")
    return named, len(names)


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
        raise refused(
            f"a statement that cannot be read {place}" if details else "no statement", _EXPECTED, hint
        ) from None
    if len(trees) != 1:
        raise refused(f"{len(trees)} statements" if trees else "no statement", _EXPECTED)
    (tree,) = trees
    if not isinstance(tree, (exp.Query, exp.Pivot)) or isinstance(tree, exp.Table):
        raise refused(f"a statement of the kind {tree.key.upper()}", _EXPECTED)
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
    withdrawn: Mapping[tuple[str, str], str]
    releases: set[int] = field(default_factory=set)
    read: dict[int, ReleaseTable] = field(default_factory=dict)
    edits: dict[int, tuple[int, str]] = field(default_factory=dict)
    common: int = 0
    informed: bool = False

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
        if isinstance(name, exp.Anonymous) and folded(name.name) in SERIES and not (schema or catalog):
            return
        if not isinstance(name, exp.Identifier):
            kind = name.name if isinstance(name, exp.Anonymous) else name.key
            raise refused(f"the table function {shortened(str(kind))}", "tables of releases")
        if schema is None and folded(name.this) in known:
            start = int(name.meta.get("start", 0))
            # TABLE takes a name without an alias.
            takes_alias = not node.alias and not _TABLE.search(self.written, 0, start)
            alias = f" AS {quoted(name.this)}" if takes_alias else ""
            self._edit([name], known[folded(name.this)], alias)
            return
        if self._is_information(catalog, schema, name):
            self.informed = True
            parts = [part for part in (catalog, schema, name) if part is not None]
            self._edit(parts, ".".join((*INFORMED, quoted(name.this))))
            return
        number = self._number(catalog, schema, name)
        self.releases.add(number)
        self.read[id(node)] = ReleaseTable(number, schema.name if schema is not None else DEFAULT_SCHEMA, name.name)
        path = (alias_of(number), schema.name if schema is not None else DEFAULT_SCHEMA, name.name)
        self._edit([part for part in (catalog, schema, name) if part is not None], ".".join(map(quoted, path)))

    def _edit(self, written: Sequence[exp.Expr], name: str, alias: str = "") -> None:
        """Writes a name in the place of these identifiers."""
        try:
            start, end = int(written[0].meta["start"]), int(written[-1].meta["end"]) + 1
        except (KeyError, AttributeError):
            raise refused("a name in a place where none is expected", _EXPECTED) from None
        if self.edits.setdefault(start, (end, name + alias)) != (end, name + alias):
            raise refused("a name that can be read in two ways", _EXPECTED)

    def _withdrawn_on(self, schema: str, name: str) -> str | None:
        """The day on which the release of that table was withdrawn; its other tables have its name as prefix."""
        names = [name, *(name.removesuffix(suffix) for suffix in _SUFFIXES)]
        return next((self.withdrawn[schema, one] for one in names if (schema, one) in self.withdrawn), None)

    @staticmethod
    def _is_information(catalog: exp.Expr | None, schema: exp.Expr | None, name: exp.Expr) -> bool:
        if schema is None or (catalog is not None and folded(catalog.name) != CATALOG):
            return False
        return folded(schema.name) == INFORMATION and folded(name.name) in INFORMATION_VIEWS

    def _number(self, catalog: exp.Expr | None, schema: exp.Expr | None, name: exp.Expr) -> int:
        path = [part.name for part in (catalog, schema, name) if part is not None]
        wanted = (folded(schema.name) if schema is not None else DEFAULT_SCHEMA, folded(name.name))
        number = self.tables.get(wanted)
        if number is None or (catalog is not None and folded(catalog.name) != CATALOG):
            actual = shortened(".".join(path))
            if (day := self._withdrawn_on(*wanted)) is not None:
                gone = f"{actual}, of a release that was withdrawn on {day}"
                raise NotFoundError.of(
                    "RELEASE_WITHDRAWN", FIELD, gone, "a release that stands", "Ask its steward why."
                )
            visible = [".".join(key) for key in self.tables]
            hint = nearest(".".join(wanted), visible) or "Ask your client for the tables that you may read."
            raise NotFoundError.of("TABLE_NOT_FOUND", FIELD, actual, "a table of a release that you may read", hint)
        return number


def _too_deep() -> InvalidError:
    return refused("expressions or subqueries that are nested too deeply", "a simpler statement")
