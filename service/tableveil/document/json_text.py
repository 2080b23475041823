"""Parses JSON without giving its scalars types: numbers keep their source text, so that `0.10` stays `0.10`."""

import json

from tableveil.document.nodes import DEEPEST, Mapping, Node, UnreadableError, place, too_deep


def parse_json(text: str) -> Node:
    """The value in `text`.

    Raises:
        UnreadableError: the text is not JSON, or nested too deeply.
    """
    try:
        value = json.loads(
            text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=lambda pairs: Mapping(pairs)
        )
    except json.JSONDecodeError as error:
        actual = f"text that is not JSON at {place(error.lineno, error.colno)}"
        expected = "one JSON object" if error.msg == "Extra data" else "JSON"
        raise UnreadableError(actual, expected, _advice(error.msg)) from None
    except RecursionError:
        raise too_deep() from None
    return _node(value, 0)


def _node(value: object, depth: int) -> Node:
    if depth > DEEPEST:
        raise too_deep()
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return [_node(item, depth + 1) for item in value]
        case Mapping(entries):
            return Mapping([(key, _node(item, depth + 1)) for key, item in entries])
        case str() | None:
            return value
    raise TypeError(type(value).__name__)


def _advice(problem: str) -> str:
    if "property name" in problem or "trailing comma" in problem:
        return "Names need double quotes, and nothing may follow the last comma."
    return "One policy in one document." if problem == "Extra data" else ""
