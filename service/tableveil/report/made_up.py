"""Made-up rows before and after: values that labels stand for, which need not be anybody's."""

import re
from collections.abc import Iterator

from tableveil import wording
from tableveil.report.facts import PublicColumn, PublicFacts
from tableveil.report.model import Grid
from tableveil.report.words import identifying
from tableveil.v1.policy_pb2 import Hierarchy, Policy

MOST_COLUMNS = 12
"""A page has no room for more."""

_DIGITS = "24680"
_RANGE = re.compile(r"\[(\S+), (\S+)[\])]")
_PERIOD = re.compile(r"(\d{4})(?:-Q([1-4])|-(\d\d))?")


def made_up_rows(facts: PublicFacts, policy: Policy) -> Grid:
    """Two rows: for each column a value, and the label that the release has of it."""
    hierarchies = {wording.named_column(one, policy): one.hierarchy for one in policy.attributes}
    hidden = [
        (wording.named_column(one, policy), "…", becomes, "…", becomes)
        for one in policy.attributes
        if (becomes := identifying(one, policy))
    ]
    # Where there is no room for all, those that readers get are shown.
    rows = [*(_row(one, hierarchies.get(one.name)) for one in facts.columns), *hidden]
    names = ("column", "one row before", "after", "another before", "after")
    more = len(rows) - MOST_COLUMNS
    if more > 0:
        rows = [*rows[: MOST_COLUMNS - 1], (f"… {more + 1} more", "", "", "", "")]
    return Grid("Two made-up rows: the labels are the release's, the values are invented", names, tuple(rows))


def _row(column: PublicColumn, hierarchy: Hierarchy | None) -> tuple[str, ...]:
    if column.role != "QUASI_IDENTIFIER":
        return column.name, "…", "as before", "…", "as before"
    if not column.labels:
        return column.name, "…", "a label", "…", "a label"
    shown = (column.labels[0], column.labels[min(1, len(column.labels) - 1)])
    return column.name, *(cell for label in shown for cell in (_value(label, hierarchy), wording.short(label)))


def _value(label: str, hierarchy: Hierarchy | None) -> str:
    """A value that the label may stand for; dots where nothing tells one."""
    if hierarchy is not None:
        for row in hierarchy.inline.rows:
            if label in row.labels:
                return wording.short(row.labels[0])
    if match := _RANGE.fullmatch(label):
        return _between(*match.groups())
    if hierarchy is not None and hierarchy.HasField("dates") and (match := _PERIOD.fullmatch(label)):
        year, quarter, month = match.groups()
        return f"{year}-{month or f'{3 * int(quarter or 2) - 1:02}'}-17"
    if label == "*":
        return "…"
    if "*" in label:
        return "".join(_masked(label))
    if label.startswith((">= ", "< ")):
        bound, number = label.split(" ")
        return number if bound == ">=" else "…"
    return wording.short(label)


def _between(first: str, last: str) -> str:
    """A value between two bounds."""
    try:
        low, high = int(first), int(last)
    except ValueError:
        return first
    return str(low + (high - low) // 3)


def _masked(label: str) -> Iterator[str]:
    for place, character in enumerate(label):
        yield _DIGITS[place % len(_DIGITS)] if character == "*" else character
