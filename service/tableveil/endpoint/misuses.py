"""The ways in which a statement takes labels for values, each with what to write in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tableveil.endpoint.meanings import LabelMeaning, Part
from tableveil.errors import InvalidError, shortened

LONGEST_PASTED = 2_000
"""Characters of a statement that a hint repeats."""

_MOST_LISTED = 5
"""Labels that a hint names."""

Edit = tuple[int, int, str]
"""The first character, the one after the last, and the text in place of those between."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A use, what is expected in its place, and words for that; `edits` of the text make a statement that is right."""

    found: str
    expected: str
    fragment: str
    edits: tuple[Edit, ...] = ()


def hint_of(misuses: Sequence[Misuse], written: str) -> str:
    """The hint for the first one: the statement as it would be right if that is known, or a part of it."""
    if all(misuse.edits for misuse in misuses):
        right = edited(written, (edit for misuse in misuses for edit in misuse.edits))
        if len(right) <= LONGEST_PASTED:
            return f"Write: {right.strip()}"
    return misuses[0].fragment


def misread(misuses: Sequence[Misuse], written: str) -> InvalidError:
    """The error for a statement with misuses."""
    first = misuses[0]
    return InvalidError.of("LABELS_MISREAD", "statement", first.found, first.expected, hint_of(misuses, written))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with parts of it replaced; of two edits of one place the first counts."""
    parts, done = list[str](), 0
    for start, end, replacement in sorted(set(edits)):
        if start >= done:
            parts += [text[done:start], replacement]
            done = end
    return "".join([*parts, text[done:]])


def sorted_by(meaning: LabelMeaning, rank: str, edits: tuple[Edit, ...]) -> Misuse:
    """Labels are sorted as texts."""
    return Misuse(
        f"the labels in {shortened(meaning.label)}, sorted as texts",
        "an order by their rank",
        f"Write ORDER BY {rank}." if rank else f"Select {_beside(meaning, Part.RANK)} as well, and sort by it.",
        edits,
    )


def compared(meaning: LabelMeaning, operator: str, bounds: tuple[str, str] | None, value: str) -> Misuse:
    """Labels are compared as texts."""
    actual = f"the labels in {shortened(meaning.label)}, compared as texts by {operator}"
    if not meaning.bounds:
        return Misuse(actual, "=, IN, or an order by rank", f"Compare {_beside(meaning, Part.RANK)}.")
    low, high = bounds or (_beside(meaning, Part.LOW), _beside(meaning, Part.HIGH))
    value = value or "…"
    certain, possible = (low, high) if operator.startswith(">") else (high, low)
    words = (
        f"Write coalesce({certain} {operator} {value}, FALSE) for those who certainly are, "
        f"coalesce({possible} {operator} {value}, TRUE) for those who possibly are"
    )
    if operator == "BETWEEN":
        words = f"Write tv_count_between({meaning.label}, low, high), or compare {low} and {high}"
    return Misuse(actual, "=, IN, or comparisons of bounds", f"{words}; tv_count_between counts both.")


def cut(
    meaning: LabelMeaning, column: str, operator: str, value: str | None, included: str | None, records: int
) -> Misuse:
    """One bound is compared, where labels lie on both sides of the value."""
    low, high = (_beside(meaning, part) for part in (Part.LOW, Part.HIGH))
    certain, possible = (low, high) if operator.startswith(">") else (high, low)
    quoted, limit = _written(meaning, value), _written(meaning, included)
    sides = f"{records:,} records whose labels lie" if value is not None else "labels that may lie"
    limits = f"{limit}, NULL" if operator.startswith(">") else f"NULL, {limit}"
    return Misuse(
        f"{shortened(column)} {operator} {quoted}, a comparison of one bound, with {sides} on both sides",
        "both numbers, or a statement that says which of them it wants",
        f"Write tv_count_between({meaning.label}, {limits}) for both numbers, or "
        f"coalesce({certain} {operator} {quoted}, FALSE) for those who certainly are, "
        f"coalesce({possible} {operator} {quoted}, TRUE) for those who possibly are.",
    )


def _written(meaning: LabelMeaning, value: str | None) -> str:
    """A value that is compared with bounds, as it may be pasted."""
    if value is None:
        return "…"
    return f"DATE '{value}'" if meaning.of_time and len(value) == len("2024-01-01") else value


def met(meaning: LabelMeaning, what: str, value: str, records: int) -> Misuse:
    """One value is asked for, which is under labels of more than one."""
    written = _written(meaning, value)
    return Misuse(
        f"{shortened(what)}, where {records:,} records have labels that stand for {shortened(value)} and other values",
        "a label, or how many records may have the value",
        f"Write {meaning.label} = with one of its labels, or tv_count_between({meaning.label}, {written}, {written}).",
    )


def unlisted(meaning: LabelMeaning, value: str, labels: Sequence[str]) -> Misuse:
    """A text is asked for, which is no label of a column whose labels stand for more than one value."""
    masked = (
        len(label) == len(value) and all(a in (b, "*") for a, b in zip(label, value, strict=True)) for label in labels
    )
    under = [label for label, may_be in zip(labels, masked, strict=True) if may_be]
    return Misuse(
        f"{shortened(value)}, which is no label in {shortened(meaning.label)}, whose labels stand for several values",
        "a label",
        f"Write {meaning.label} IN ({_listed(under or labels)}) with the labels that it may be under.",
    )


def alike(meaning: LabelMeaning, function: str, labels: Sequence[str]) -> Misuse:
    """Labels that stand for more than one value are looked into as texts."""
    return Misuse(
        f"{function} on the labels in {shortened(meaning.label)}, which stand for several values",
        "labels as they are",
        f"Write {meaning.label} IN ({_listed(labels)}) with the labels that count, or select {meaning.label} as well.",
    )


def _listed(labels: Sequence[str]) -> str:
    named = ", ".join("'" + label.replace("'", "''") + "'" for label in labels[:_MOST_LISTED])
    return f"{named}, …" if len(labels) > _MOST_LISTED else named


def extreme(meaning: LabelMeaning, function: str, argument: str, edits: tuple[Edit, ...]) -> Misuse:
    """The least, greatest or middle one of labels, or of their bounds, is asked for."""
    what = {Part.LABEL: "labels", Part.RANK: "ranks of the labels"}.get(meaning.part, "bounds of the labels")
    actual = f"{function} of the {what} in {shortened(meaning.label)}"
    if not meaning.bounds:
        return Misuse(actual, "an order by rank", f"Write arg_{'min' if function == 'min' else 'max'}"
                      f"({meaning.label}, {_beside(meaning, Part.RANK)})")  # fmt: skip
    answer = ANSWERED_BY.get(function)
    if answer is None:
        return Misuse(
            actual, "functions of labels, such as tv_mean", f"Write tv_mean({argument}) or another tv_ function."
        )
    return Misuse(actual, f"{answer}, which answers by an interval", f"Write {answer}({argument})", edits)


ANSWERED_BY = {
    "min": "tv_min",
    "max": "tv_max",
    "median": "tv_median",
    **dict.fromkeys(("avg", "mean", "favg"), "tv_mean"),
    **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc", "approx_quantile"), "tv_median"),
}
"""The functions that answer in place of an aggregate."""


def truncated(meaning: LabelMeaning, function: str, unit: str) -> Misuse:
    """Bounds are truncated, or grouped by, as if a label were its bound."""
    call = _spread(meaning, unit)
    return Misuse(
        f"a bound of the labels in {shortened(meaning.label)} in {function}, which counts a wide label in one place",
        "a function that gives each part of a label its weight",
        f"Add , {call} AS part to FROM, group by part.{'period' if meaning.of_time else 'band'}_from, "
        "and take sum(weight) for count(*), tv_estimated_mean(value, weight) for avg(value).",
    )


def grouped_by_bound(meaning: LabelMeaning) -> Misuse:
    """Groups by one bound hold labels of different width."""
    return Misuse(
        f"groups by a bound of the labels in {shortened(meaning.label)}, which hold labels of different width",
        "groups by labels",
        f"Write GROUP BY {meaning.label}, or add , {_spread(meaning, '')} AS part to FROM and take sum(weight).",
    )


def as_text(meaning: LabelMeaning, function: str) -> Misuse:
    """A label is taken apart as text."""
    low, high = (_beside(meaning, part) for part in (Part.LOW, Part.HIGH))
    return Misuse(
        f"the labels in {shortened(meaning.label)} in {function}, as texts",
        "=, IN, or their bounds",
        f"Use {low} and {high}, or a function such as tv_mean({meaning.label}).",
    )


def _spread(meaning: LabelMeaning, unit: str) -> str:
    if meaning.of_time:
        return f"tv_period({meaning.label}, '{unit or 'month'}')"
    return f"tv_band({meaning.label}, {unit or '10'})"


def _beside(meaning: LabelMeaning, part: Part) -> str:
    return f"{meaning.label}_{part.value}"
