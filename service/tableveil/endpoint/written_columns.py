"""Columns as a statement has them: their places in its text, and names and values as they may be written."""

from __future__ import annotations

import re

from sqlglot import exp

from tableveil.endpoint.grammar import AnalystSql
from tableveil.endpoint.meanings import LabelMeaning

PERIODS = ("day", "week", "month", "quarter", "year", "decade")
"""The units of `tv_period`."""


def unit_of(call: exp.Anonymous, name: str) -> str:
    """The unit by which a function of this name truncates times."""
    literal = next((part for part in call.expressions if isinstance(part, exp.Literal)), None)
    unit = (literal.name if literal is not None else name).lower()
    return unit if unit in PERIODS else ""


def ordinal(item: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
    """The expression of GROUP BY, or the item of SELECT whose number it is."""
    if isinstance(item, exp.Literal) and item.name.isdecimal() and 0 < int(item.name) <= len(items):
        item = items[int(item.name) - 1]
    return item.this if isinstance(item, exp.Alias) else item


def column_names(node: exp.Expr) -> list[str]:
    """The names that an alias gives to columns."""
    alias = node.args.get("alias")
    return [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []


def place_of(column: exp.Expr) -> tuple[int, int] | None:
    """The first character of a column in the text, and the one after its last."""
    if not isinstance(column, exp.Column):
        return None
    parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
    if not all("start" in part.meta for part in parts):
        return None
    return int(parts[0].meta["start"]), int(parts[-1].meta["end"]) + 1


def place_in_order(by: exp.Expr, written: str) -> tuple[int, int] | None:
    """The place of what ORDER BY sorts by, or of the number that stands for it if the text has one ORDER BY of it."""
    if isinstance(by, exp.Literal):
        places = list(re.finditer(rf"ORDER\s+BY\s+({re.escape(by.name)})\b", written, re.IGNORECASE))
        return places[0].span(1) if len(places) == 1 else None
    return place_of(by)


def value_of(value: exp.Expr, meaning: LabelMeaning) -> str:
    """A value as it is compared with bounds; numbers are often written as texts."""
    if meaning.of_time:
        return f"DATE '{value.name}'" if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value.name) else ""
    return value.name if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value.name) else ""


def name_of(name: str) -> str:
    """A name as it may be pasted."""
    if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name.upper() not in AnalystSql.Tokenizer.KEYWORDS:
        return name
    return quoted(name)


def quoted(name: str) -> str:
    """A name as an identifier in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal_text(value: exp.Expr) -> str | None:
    """The text of a value that is written down; None if it is none."""
    while isinstance(value, (exp.Paren, exp.Cast)):
        value = value.this
    literal = value.this if isinstance(value, exp.Neg) else value
    if not isinstance(literal, exp.Literal):
        return None
    return f"-{literal.name}" if isinstance(value, exp.Neg) else literal.name
