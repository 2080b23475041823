"""Calls of functions of labels, which get the bounds beside their label."""

from __future__ import annotations

from sqlglot import exp

from tableveil.answers import MACROS
from tableveil.backend import folded
from tableveil.endpoint.label_sources import LabelSources
from tableveil.endpoint.labels import Part
from tableveil.endpoint.written import Edit, end_of, quoted
from tableveil.errors import InvalidError

_KNOWN = "(VALUES ('a label', 0::BIGINT, 17::BIGINT)) AS known (label, least, most)"

_FUNCTIONS = {macro.name: macro for macro in MACROS}


def completed(node: exp.Anonymous, sources: LabelSources | None) -> Edit | None:
    """Writes the bounds after the label, unless they are there already, as in a file."""
    macro = _FUNCTIONS[folded(node.name)]
    given = len(node.expressions)
    if isinstance(node.parent, (exp.Filter, exp.Window)) and node.parent.this is node:
        how = "FILTER" if isinstance(node.parent, exp.Filter) else "OVER"
        hint = f"Write the condition into WHERE, or {how} after a plain aggregate of estimated values."
        raise _unfit(f"{macro.name} with {how}", "a function of labels by itself", hint)
    if not macro.of_label or given == len(macro.parameters):
        return None
    expected = f"{macro.name}({', '.join(('column', *macro.parameters[3:]))})"
    if given != len(macro.parameters) - 2:
        raise _unfit(f"{macro.name} with {given} arguments", expected)
    column = node.expressions[0]
    meaning = sources.meaning(column) if sources is not None else None
    is_label = meaning is not None and meaning.part is Part.LABEL and isinstance(column, exp.Column)
    if sources is None or meaning is None or not is_label or not meaning.of.bounds:
        hint = ""
        if is_label and meaning is not None:
            parts = ", ".join((meaning.of.name, "least", "most", *macro.parameters[3:]))
            hint = f"Its labels tell no bounds. If you know them, join {_KNOWN} ON label = {meaning.of.name}, "
            hint += f"and write {macro.name}({parts})."
        raise _unfit(f"{macro.name} of something else than a column of labels with bounds", expected, hint)
    names = [sources.beside(column, part) for part in (Part.LOW, Part.HIGH)]
    end = end_of(column)
    if None in names or end is None:
        hint = f"Let the subquery select {meaning.of.name}_from and {meaning.of.name}_to as well."
        raise _unfit(f"{macro.name} of a column without its bounds", expected, hint)
    table = column.args.get("table")
    prefix = f"{quoted(table.name)}." if isinstance(table, exp.Identifier) and "start" in table.meta else ""
    return end, end, "".join(f", {prefix}{quoted(str(name))}" for name in names)


def _unfit(found: str, expected: str, hint: str = "") -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", "statement", found, expected, hint)
