"""Every warning in the code has a figure, a column or a field in it: one without says nothing of the table at hand."""

import ast
import re
from collections.abc import Iterator

import pytest

from tableveil.errors import Warned
from tests.project.house import sources
from tests.reference.syntax import parsed
from tests.warned import of_nothing, unfilled

_RANKED = {"must_decide", "note", "Warned"}
_FIELD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]+\.[a-z_]+\b|--[a-z-]+")
"""A field of a policy or request, or an option of the command line."""

_SHORTEST = 5
"""Texts of fewer words are no sentences."""

# These tell of the place where rows are, or who may read them: there is nothing to count or to name.
_ALLOWED = (
    "No row was written or verified in the warehouse",
    "Nobody counted who else could be found by released columns",
    "By the rule of its schema, it waits for approval",
    "It was judged together with other releases, of which you may not see all",
    "Labels of numbers and dates count as the middle of their interval",
    "For text and other categories the most frequent values are shown",
    "Roles, hierarchies and models are those of the policy that was given",
)


def _warnings() -> Iterator[tuple[str, ast.expr]]:
    """The texts of all warnings: ranked ones, and sentences that functions of warnings and notes yield."""
    for path in sources():
        if "/pages/" in str(path) or "/server/" in str(path):
            continue
        for function in ast.walk(parsed(path)):
            if not isinstance(function, ast.FunctionDef):
                continue
            tells = re.search(r"warn|note|erased|account|doubt|varying|respelled|links", function.name)
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Name(id=name), args=[text, *_]) if name in _RANKED:
                        yield f"{path}:{node.lineno}", text
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="warnings"), attr="append"), args=[text]):
                        yield f"{path}:{node.lineno}", text
                    case ast.Yield(value=ast.Constant() | ast.JoinedStr() as text) if tells:
                        yield f"{path}:{node.lineno}", text


def _written(text: ast.expr) -> tuple[str, bool]:
    """The constant part of a text, and whether something of the table at hand is put into it."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    constant = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
    return constant, any(not isinstance(part, ast.Constant) for part in parts)


def _untold() -> Iterator[str]:
    """The places of ranked warnings that tell programs neither a count nor a column or field."""
    for path in sources():
        for node in ast.walk(parsed(path)):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[text], keywords=[]) if name in _RANKED:
                    constant, _ = _written(text)
                    # Without one of its own, a text is that of another warning, whose facts stay.
                    if len(constant.split()) >= _SHORTEST and not constant.startswith(_ALLOWED):
                        yield f"{path}:{node.lineno}: {constant}"


def test_every_warning_tells_programs_its_count_or_field() -> None:
    assert [*_untold()] == []


def test_every_warning_counts_something_or_names_a_column_or_field() -> None:
    bare, walked = [], 0
    for place, text in _warnings():
        constant, filled = _written(text)
        if filled or len(constant.split()) < _SHORTEST:
            walked += 1
        elif not _FIELD.search(constant) and not constant.startswith(_ALLOWED):
            bare.append(f"{place}: {constant}")
    assert bare == []
    assert walked > 40


@pytest.mark.parametrize("text", ["and 0 people more than 1/5 of one", "0 of 12 rows have none", "all of 0 records"])
def test_a_warning_that_counts_nothing_is_found(text: str) -> None:
    assert of_nothing([text, "in 10 rows, 1,000 people, 1/20 records and 3.0 rows"]) == [text]


def test_a_warning_that_tells_people_more_than_programs_is_found() -> None:
    counted, named = "1,200 of 3,000 people share k = 3 rows.", "'age' has one label."
    assert unfilled([Warned(counted), Warned(named), Warned("k = 3 rows of 'a' and 'b'")]) == [counted, named]
    assert unfilled([Warned(counted, count_of=1_200), Warned(named, field="age")]) == []
