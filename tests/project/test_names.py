"""Names: no two public classes share one, and words that say nothing, or mean several things, are refused."""

import ast
from collections.abc import Iterator

from tests.project.house import classes, sources
from tests.reference.syntax import parsed

REFUSED = {
    "sight": "visibility",
    "Sight": "Visibility",
    "Beside": "CompanionColumns",
    "Doors": "AccessControl",
    "way_out": "repeat_hint",
    "surprise": "significance_bits",
    "set_beside": "paired_at_random",
    "doors": "access_control",
    "several": "what there are several of",
    "gathered": "what was gathered",
    "looking": "what looks, or what it looks for",
}
"""Each with what to say instead; docs/explanations/architecture.md has the words that are in use."""


def defined(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names of functions, classes and parameters, each with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name.strip("_")
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name


def refused(tree: ast.AST) -> list[tuple[int, str]]:
    return [(line, name) for line, name in defined(tree) if name in REFUSED]


def test_no_two_public_classes_share_a_name() -> None:
    assert sorted(name for name, number in classes().items() if number > 1) == []


def test_no_name_is_a_refused_word() -> None:
    assert [
        f"{path}:{line}: {name}, say {REFUSED[name]}" for path in sources() for line, name in refused(parsed(path))
    ] == []


def test_the_lint_sees_functions_parameters_and_variables() -> None:
    written = (
        "class Sight:\n    def way_out(self, doors: int) -> int:\n        several = doors\n        return several\n"
    )
    assert refused(ast.parse(written)) == [(1, "Sight"), (2, "way_out"), (2, "doors"), (3, "several")]
