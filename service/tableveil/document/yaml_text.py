"""Parses YAML without giving its scalars types: `02139`, `NO`, `1e5` and `2024-01-01` stay as written."""

import re
from collections.abc import Iterator

import yaml

from tableveil.document.nodes import (
    DEEPEST,
    Mapping,
    Node,
    RefusedNode,
    UnreadableError,
    line_and_column,
    place,
    too_deep,
)

# The nulls of YAML's core schema; only plain scalars can be null, so quotes make a text of any of them.
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Replaces the value of a null key, a list or a mapping.
_NAMELESS = RefusedNode("a key that is no text", "the name of a field")

# The parser in C is ten times faster; wheels have it, some builds from source do not.
_LOADER = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader


def parse_yaml(text: str) -> Node:
    """The only document in `text`; None if there is none.

    Works on the parser's events, not on PyYAML's nodes: those expand aliases, recurse, and accept repeated keys.

    Raises:
        UnreadableError: the text is not YAML, nested too deeply, or more than one document.
    """
    _refuse_unprintable(text)
    root: list[Node] = []
    # Containers that are still open, each with the key that waits for its value if it is a mapping.
    stack: list[_Open] = [_Open(root)]
    documents = 0
    for event in _events(text):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                hint = "Put each policy in a file of its own."
                raise UnreadableError(f"more than one document{_line(event)}", "one policy in one document", hint)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            stack.pop()
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            container: list[Node] | Mapping = [] if isinstance(event, yaml.SequenceStartEvent) else Mapping()
            stack[-1].add(_refusal(event) or container)
            # A refused container is still read, into nothing.
            stack.append(_Open(container))
            if len(stack) > DEEPEST:
                raise too_deep()
        elif isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]
            stack[-1].add(_refusal(event) or (None if plain and event.value in _NULLS else event.value))
        elif isinstance(event, yaml.AliasEvent):
            stack[-1].add(_without_anchors("an alias"))
    return root[0] if root else None


class _Open:
    """A container to which nodes are being added; in a mapping, every other node is a key."""

    __slots__ = ("_container", "_key", "_refused")

    def __init__(self, container: list[Node] | Mapping) -> None:
        self._container = container
        self._key: str | None = None
        self._refused: RefusedNode | None = None

    def add(self, node: Node) -> None:
        if isinstance(self._container, list):
            self._container.append(node)
        elif self._key is None:
            if isinstance(node, str):
                self._key, self._refused = node, None
            else:
                self._key, self._refused = "?", node if isinstance(node, RefusedNode) else _NAMELESS
        else:
            self._container.entries.append((self._key, self._refused or node))
            self._key = None


def _refusal(event: yaml.NodeEvent) -> RefusedNode | None:
    if event.anchor is not None:
        return _without_anchors("an anchor")
    if getattr(event, "tag", None) is not None:
        return RefusedNode(
            "a YAML tag", "no tags", "The field decides the type; a text that begins with ! needs quotes."
        )
    return None


def _without_anchors(found: str) -> RefusedNode:
    hint = "Write the value out wherever it is needed; a text that begins with * or & needs quotes."
    return RefusedNode(found, "a document without anchors and aliases", hint)


def _line(event: yaml.Event) -> str:
    return f": another begins at line {event.start_mark.line + 1}" if event.start_mark else ""


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = place(mark.line + 1, mark.column + 1) if mark else "some line"
        # The problem itself is not passed on: it may quote the document.
        hint = _advice(text, mark, str(error.problem))
        raise UnreadableError(f"text that is not YAML at {where}", "YAML", hint) from None
    except (yaml.YAMLError, RecursionError):
        raise UnreadableError("text that is not YAML", "YAML") from None


def _advice(text: str, mark: yaml.Mark | None, problem: str) -> str:
    line = text.splitlines()[mark.line] if mark and mark.line < len(text.splitlines()) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "Indent with spaces: YAML allows no tabs there."
    if "mapping values are not allowed" in problem:
        return "Text that holds ': ' needs quotes, and all fields of a mapping the same indentation."
    if line.lstrip(" -").startswith(("*", "%", "@", "`", "&", "!")) or re.search(r"[:,\[] *[*%@`&!]", line):
        return "A text that begins with one of * % @ ` & ! needs quotes."
    return ""


def _refuse_unprintable(text: str) -> None:
    if match := _UNPRINTABLE.search(text):
        where = line_and_column(text, match.start())
        hint = r'In a quoted text it can be written as an escape, such as "\x01".'
        raise UnreadableError(f"the character U+{ord(match[0]):04X} at {where}", "printable text", hint)
