"""The classes of errors with which the sources raise each code, read from their syntax."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.reference.syntax import parsed

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
MAY_RAISE = re.compile(r"""Error\b|Failure\b|["'][A-Z][A-Z0-9_]*["']""")
"""A file without this text is not read: to parse all of them takes seconds."""
DECLARED = {"Submission": "InvalidError"}
"""Classes that keep a code for errors that others raise by it."""


@cache
def raised() -> Mapping[str, set[str]]:
    """By code, the names of the classes: raised directly, or by a function that takes the code."""
    sources = [path for layer in ("engine", "sql", "service") for path in sorted((ROOT / layer).rglob("*.py"))]
    trees = [
        parsed(path) for path in sources if "codes" not in path.parts and MAY_RAISE.search(path.read_text("utf-8"))
    ]
    nodes = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call | ast.FunctionDef)]
    takers = dict(_takers(nodes)) | {name: {error} for name, error in DECLARED.items()}
    by_code: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Call):
            error = _error(node)
            for code in _codes(node, every=not error):
                by_code[code] |= {error} if error else takers.get(_name(node.func), set())
        elif node.name in takers:
            for default in node.args.defaults:
                for code in _constants(default):
                    by_code[code] |= takers[node.name]
    return {code: errors for code, errors in by_code.items() if errors}


def _takers(nodes: list[ast.Call | ast.FunctionDef]) -> Iterator[tuple[str, set[str]]]:
    """Functions that raise a code which they are given, each with the classes of the errors."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            parameters = {argument.arg for argument in node.args.args}
            errors = {
                error
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and (error := _error(call)) and call.args
                if isinstance(call.args[0], ast.Name) and call.args[0].id in parameters
            }
            if errors:
                yield node.name, errors


def _error(call: ast.Call) -> str:
    """The class of the error that a call makes; empty if it makes none."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in ("of", "about"):
        function = function.value
    name = _name(function)
    if name == "Failure" and call.args and isinstance(call.args[0], ast.Attribute):
        return f"{call.args[0].attr.title()}Error"
    return name if name.endswith("Error") else ""


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _codes(call: ast.Call, every: bool) -> Iterator[str]:
    """The codes among the arguments: the first one of an error, any one of another call."""
    first = 1 + (_name(call.func) == "Failure")
    stated = [*call.args, *(keyword.value for keyword in call.keywords)] if every else call.args[:first]
    for argument in stated:
        yield from _constants(argument)


def _constants(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(str(text)) if CODE.fullmatch(text):
            yield text
        case ast.IfExp(_, one, other):
            yield from (*_constants(one), *_constants(other))
        case ast.Starred(ast.Tuple(parts)):
            yield from (code for part in parts for code in _constants(part))
