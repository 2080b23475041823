"""Writes a policy draft as YAML with comments: guesses with reasons; undecided fields are commented out."""

import textwrap
from collections.abc import Iterator
from typing import Any

from tableveil.document.write import dumped, to_document
from tableveil.v1 import draft_service_pb2 as v1

WIDTH = 120

_HEADER = (
    "A draft, made from the names, types and values of the table's columns. Everything in it is a guess: nothing here "
    "knows what the columns mean, or what others may know about the people. Bounds are rounded outwards, but come from "
    "the data.",
    "Roles: IDENTIFYING is not released. A QUASI_IDENTIFIER may be known to others: it is generalized. "
    "SENSITIVE is released unchanged, but nobody must learn it about a person. INSENSITIVE is released unchanged.",
    'Fields marked DECIDE are commented out: remove the "# " before the right ones, or write others. `tableveil '
    "check-policy` names the open ones. A default_role decides for all columns that have no role.",
)

_MARKS = {v1.DRAFT_REMARK_KIND_GUESS: "guess: ", v1.DRAFT_REMARK_KIND_DECIDE: "DECIDE: "}


_DECIDED_ALONE = ("acknowledged", "elements")
"""Fields of a column that are to be decided beside its role."""


def to_commented_yaml(draft: v1.DraftPolicyResponse) -> str:
    """The draft as a document that `read_policy` reads as the draft's policy, without the undecided fields."""
    remarks: dict[str, list[v1.DraftRemark]] = {}
    for remark in draft.remarks:
        remarks.setdefault(remark.field, []).append(remark)
    paragraphs = [*(_comment(text, "# ") for text in _HEADER), comments(remarks.get("", []), "# ")]
    lines = ["\n#\n".join("\n".join(paragraph) for paragraph in paragraphs if paragraph)]
    # The source comes first, even if it is a query.
    for field, value in sorted(to_document(draft.proposal).items(), key=lambda item: item[0] != "source_query"):
        lines += ["", *comments(remarks.get(field, []), "# ")]
        if field == "attributes":
            lines.append("attributes:")
            for position, attribute in enumerate(value):
                lines += _attribute(attribute, f"attributes[{position}]", remarks)
        else:
            lines += _commented_out({field: value}, _undecided(remarks.get(field, [])), "")
    return "\n".join(lines) + "\n"


def _attribute(attribute: dict[str, Any], path: str, remarks: dict[str, list[v1.DraftRemark]]) -> Iterator[str]:
    """An item of the list of attributes; it always has its column."""
    yield ""
    of_role = remarks.get(f"{path}.role", [])
    yield from comments([*of_role, *remarks.get(f"{path}.hierarchy", [])], "  # ")
    column = dumped({"column": attribute["column"]}).rstrip("\n")
    yield f"  - {column}"
    rest = {field: value for field, value in attribute.items() if field not in ("column", *_DECIDED_ALONE)}
    yield from _commented_out(rest, _undecided(of_role), "    ")
    for field in _DECIDED_ALONE:
        if field in attribute:
            remark = remarks.get(f"{path}.{field}", [])
            yield from comments(remark, "    # ")
            yield from _commented_out({field: attribute[field]}, _undecided(remark), "    ")


def _undecided(remarks: list[v1.DraftRemark]) -> bool:
    return any(remark.kind == v1.DRAFT_REMARK_KIND_DECIDE for remark in remarks)


def _commented_out(fields: dict[str, Any], undecided: bool, indent: str) -> list[str]:
    """The fields, all of their lines as comments if they are to be decided."""
    mark = "# " if undecided else ""
    # Not `splitlines`: YAML keeps characters in quoted texts that Python takes for the end of a line.
    return [f"{indent}{mark}{line}" for line in dumped(fields).rstrip("\n").split("\n")]


def comments(remarks: list[v1.DraftRemark], prefix: str) -> list[str]:
    """The remarks as comments, whose lines begin with the prefix."""
    return [
        line
        for remark in remarks
        for line in _comment(f"{_MARKS.get(remark.kind, '')}{printable(remark.text)}", prefix)
    ]


def _comment(text: str, prefix: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_on_hyphens=False)


def printable(text: str) -> str:
    """The text without characters that YAML forbids in comments, or that end one."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )
