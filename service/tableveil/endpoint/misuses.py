"""The ways in which a statement takes labels for values, each with what to write in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tableveil.endpoint.meanings import LabelMeaning, Part
from tableveil.errors import InvalidError, shortened

LONGEST_PASTED = 2_000
"""Characters of a statement that a hint repeats."""

ANY = "*"
"""The label that stands for any value, and the sign that stands for any character of a masked code."""

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
        words = f"Write tv_count_between({meaning.label}, {value})"
    return Misuse(actual, "=, IN, or comparisons of bounds", f"{words}; tv_count_between counts both.")


@dataclass(frozen=True, slots=True)
class Limit:
    """A comparison with a value, if the text says it, and the value as functions of labels take it."""

    operator: str
    value: str | None
    included: str | None


def cut(meaning: LabelMeaning, column: str, limits: Sequence[Limit], records: int) -> Misuse:
    """Bounds are compared, where labels lie on both sides of the value; the first limit is that of the column."""
    lower = next((limit for limit in limits if limit.operator.startswith(">")), None)
    upper = next((limit for limit in limits if limit.operator.startswith("<")), None)
    low, high = (_beside(meaning, part) for part in (Part.LOW, Part.HIGH))

    def decided(as_lower: str, as_upper: str, otherwise: str) -> str:
        return " AND ".join(
            f"coalesce({end} {limit.operator} {_written(meaning, limit.value)}, {otherwise})"
            for end, limit in ((as_lower, lower), (as_upper, upper))
            if limit is not None
        )

    ends = ", ".join("NULL" if limit is None else _written(meaning, limit.included) for limit in (lower, upper))
    first = limits[0]
    sides = f"{records:,} records whose labels lie" if first.value is not None else "labels that may lie"
    return Misuse(
        f"{shortened(column)} {first.operator} {_written(meaning, first.value)}, a comparison of one bound, "
        f"with {sides} on both sides",
        "both numbers, or a statement that says which of them it wants",
        f"Write tv_count_between({meaning.label}, {ends}) for both numbers, or {decided(low, high, 'FALSE')} for those "
        f"who certainly are, {decided(high, low, 'TRUE')} for those who possibly are.",
    )


def in_case(meaning: LabelMeaning, records: int, exact: str, edits: tuple[Edit, ...]) -> Misuse:
    """A CASE on bounds gives labels on both sides a result that is not that of all their values."""
    return Misuse(
        f"a CASE on bounds of {shortened(meaning.label)}, with {records:,} records whose labels lie on both sides",
        "a result of its own for labels on both sides",
        f"Write {exact}.",
        edits,
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
    words = f"Write {meaning.label} IN ({_listed(under or labels)}) with the labels that it may be under."
    return Misuse(
        f"{shortened(value)}, which is no label in {shortened(meaning.label)}, whose labels stand for several values",
        "a label",
        words if len(words) <= LONGEST_PASTED else f"Select {meaning.label} as well: too many labels count.",
    )


def alike(meaning: LabelMeaning, function: str, prefix: str | None, labels: Sequence[str]) -> Misuse:
    """Labels that stand for more than one value are looked into as texts; `prefix` is how they should begin."""
    beside = f"or select {meaning.label} as well"
    words = f"Write {meaning.label} IN ({_listed(labels)}) with the labels that count, {beside}."
    if prefix is not None and _are_masked(labels):
        certain = [label for label in labels if label.startswith(prefix) and label != ANY]
        possible = [label for label in labels if label == ANY or _may_begin(label, prefix)]
        are = f"{meaning.label} IN ({_listed(certain)}) for those who certainly are, " if certain else ""
        words = f"Write {are}{meaning.label} IN ({_listed(possible)}) for those who possibly are, {beside}."
    return Misuse(
        f"{function} on the labels in {shortened(meaning.label)}, which stand for several values",
        "labels as they are",
        words if len(words) <= LONGEST_PASTED else f"Select {meaning.label} as well: too many labels count.",
    )


def _are_masked(labels: Sequence[str]) -> bool:
    """Whether labels are codes in which a star stands for any character."""
    return len({len(label) for label in labels if label != ANY}) == 1 and any(ANY in label for label in labels)


def _may_begin(label: str, prefix: str) -> bool:
    return len(label) >= len(prefix) and all(a in (b, ANY) for a, b in zip(label, prefix, strict=False))


def _listed(labels: Sequence[str]) -> str:
    return ", ".join("'" + label.replace("'", "''") + "'" for label in labels)


def extreme(meaning: LabelMeaning, function: str, argument: str, edits: tuple[Edit, ...]) -> Misuse:
    """The least, greatest or middle one of labels, or of their bounds, is asked for."""
    what = {Part.LABEL: "labels", Part.RANK: "ranks of the labels"}.get(meaning.part, "bounds of the labels")
    actual = f"{function} of the {what} in {shortened(meaning.label)}"
    if not meaning.bounds:
        return Misuse(actual, "an order by rank", f"Write arg_{'min' if function == 'min' else 'max'}"
                      f"({meaning.label}, {_beside(meaning, Part.RANK)})")  # fmt: skip
    answer = ANSWERED_BY.get(function)
    if function in _TOTALS:
        words = f"Write count({argument}) * (tv_mean({argument})).low for the least sum, and .high for the greatest."
        return Misuse(actual, "the mean of labels, times their number", words)
    if answer is None:
        return Misuse(
            actual, "functions of labels, such as tv_mean", f"Write tv_mean({argument}) or another tv_ function."
        )
    more = ", 0.9" if answer == QUANTILE else ""
    return Misuse(actual, f"{answer}, which answers by an interval", f"Write {answer}({argument}{more})", edits)


def related(meaning: LabelMeaning, function: str) -> Misuse:
    """Bounds are related to something, as if a label were its bound."""
    return Misuse(
        f"{function} of bounds of the labels in {shortened(meaning.label)}",
        "a relation of ranks, since nobody knows that of the values",
        f"Take {_beside(meaning, Part.RANK)} for the bound.",
    )


QUANTILE = "tv_quantile"
_TOTALS = frozenset({"sum", "fsum", "sumkahan"})

ANSWERED_BY = {
    "min": "tv_min",
    "max": "tv_max",
    "median": "tv_median",
    **dict.fromkeys(("avg", "mean", "favg"), "tv_mean"),
    **dict.fromkeys(("quantile", "quantile_cont", "quantile_disc", "approx_quantile"), QUANTILE),
}
"""The functions that answer in place of an aggregate."""


def truncated(meaning: LabelMeaning, function: str, unit: str) -> Misuse:
    """Bounds are truncated, or grouped by, as if a label were its bound."""
    call, what = _spread(meaning, unit), "a bound of the labels" if meaning.is_bound else "the labels"
    return Misuse(
        f"{what} in {shortened(meaning.label)} in {function}, which counts a wide label in one place",
        "a function that gives each part of a label its weight",
        f"Add , {call} AS part to FROM, group by part.{'period' if meaning.of_time else 'band'}_from, "
        "and take sum(weight) for count(*), tv_estimated_mean(value, weight) for avg(value).",
    )


def counted_apart(meaning: LabelMeaning) -> Misuse:
    """Different labels are counted for different values."""
    return Misuse(
        f"different labels in {shortened(meaning.label)}, counted for different values",
        "the number of labels, since nobody knows that of the values",
        f"Write count(DISTINCT {_beside(meaning, Part.RANK)}) for it.",
    )


def divided(meaning: LabelMeaning, function: str) -> Misuse:
    """Records are divided by their places, where many have one label."""
    return Misuse(
        f"{function} by the labels in {shortened(meaning.label)}, which divides records of one label by chance",
        "groups by labels, or quantiles",
        f"Write GROUP BY {meaning.label}{f', or tv_quantile({meaning.label}, 0.25)' if meaning.bounds else ''}.",
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
        f"Use {low} and {high}, or a function such as {_spread(meaning, '')}.",
    )


def _spread(meaning: LabelMeaning, unit: str) -> str:
    if meaning.of_time:
        return f"tv_period({meaning.label}, '{unit or 'month'}')"
    return f"tv_band({meaning.label}, {unit or '10'})"


def _beside(meaning: LabelMeaning, part: Part) -> str:
    return f"{meaning.label}_{part.value}"
