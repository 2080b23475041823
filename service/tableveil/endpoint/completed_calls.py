"""Calls of functions of labels, which get the bounds beside their label."""

from __future__ import annotations

import re

from sqlglot import exp

from tableveil.answers import LABEL, MACROS
from tableveil.backend import folded
from tableveil.endpoint.meanings import LabelMeaning, NamedColumns, Part
from tableveil.endpoint.misuses import ANSWERED_BY, Edit
from tableveil.endpoint.written_columns import place_of, quoted
from tableveil.errors import InvalidError

_KNOWN = "(VALUES ('a label', 0::BIGINT, 17::BIGINT)) AS known (label, least, most)"

FUNCTIONS_OF_LABELS = {macro.name: macro for macro in MACROS}


def completed(node: exp.Anonymous, meanings: list[LabelMeaning | None], scope: NamedColumns) -> Edit | None:
    """Writes the bounds after the label, unless they are there already, as in a file."""
    macro = FUNCTIONS_OF_LABELS[folded(node.name)]
    given = len(node.expressions)
    if not macro.of_label or given == len(macro.parameters):
        return None
    wanted = ", ".join(("column", *macro.parameters[3:]))
    expected = f"{macro.name}({wanted})"
    if given != len(macro.parameters) - 2:
        raise _unfit(f"{macro.name} with {given} arguments", expected)
    column, meaning = node.expressions[0], meanings[0]
    if meaning is None or meaning.part is not Part.LABEL or not meaning.bounds or not isinstance(column, exp.Column):
        hint = ""
        if meaning is not None and meaning.part is Part.LABEL and not meaning.bounds:
            parts = ", ".join((meaning.label, "least", "most", *macro.parameters[3:]))
            hint = f"Its labels tell no bounds. If you know them, join {_KNOWN} ON label = {meaning.label}, "
            hint += f"and write {macro.name}({parts})."
        raise _unfit(f"{macro.name} of something else than a column of labels with bounds", expected, hint)
    relation = scope.resolve(folded(column.name), folded(column.table) if column.table else None)[1]
    names = [relation.beside(meaning, part) for part in (Part.LOW, Part.HIGH)]
    place = place_of(column)
    if None in names or place is None:
        beside = f"{meaning.label}_from and {meaning.label}_to"
        raise _unfit(
            f"{macro.name} of a column without its bounds", expected, f"Let the subquery select {beside} as well."
        )
    prefix = f"{quoted(column.table)}." if column.table else ""
    return place[1], place[1], "".join(f", {prefix}{quoted(str(name))}" for name in names)


def answered(node: exp.Anonymous, name: str, meaning: LabelMeaning, written: str) -> tuple[Edit, ...]:
    """The edit by which a function of labels answers in place of a plain one, if there is one that does."""
    answer = ANSWERED_BY.get(name)
    column, *others = node.expressions
    wanted = len(FUNCTIONS_OF_LABELS[answer].parameters) - len(LABEL) if answer else 0
    fits = len(others) == wanted and all(isinstance(other, exp.Literal) for other in others)
    place = place_of(column) if fits else None
    plain = meaning.exact and meaning.part is Part.LABEL and not isinstance(node.parent, exp.Window)
    if not (answer and place and plain):
        return ()
    called = re.search(r"(\w+)\s*\(\s*\Z", written[: place[0]])
    return ((called.start(1), called.end(1), answer),) if called and folded(called[1]) == name else ()


def _unfit(found: str, expected: str, hint: str = "") -> InvalidError:
    return InvalidError.of("STATEMENT_INVALID", "statement", found, expected, hint)
