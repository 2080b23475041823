"""How statements misread labels, each way with what to write in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tableveil.endpoint.label_sources import LabelMeaning
from tableveil.endpoint.labels import LabelColumn, Part
from tableveil.errors import InvalidError, shortened

LONGEST_PASTED = 2_000
"""Characters of a list of labels that a hint repeats."""

Edit = tuple[int, int, str]
"""The first character, the one after the last, and the text in place of those between."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A use, what is expected in its place, and what to write."""

    found: str
    expected: str
    hint: str
    is_cyclic: bool = False


def misread(misuses: Sequence[Misuse]) -> InvalidError:
    """The error for a statement with misuses."""
    first = misuses[0]
    if first.is_cyclic:
        return InvalidError.of("LABELS_TOO_WIDE", "statement", first.found, first.expected, first.hint)
    return InvalidError.of("LABELS_MISREAD", "statement", first.found, first.expected, first.hint)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with parts of it replaced; of two edits of one place the first counts."""
    parts, done = list[str](), 0
    for start, end, replacement in sorted(set(edits)):
        if start >= done:
            parts += [text[done:start], replacement]
            done = end
    return "".join([*parts, text[done:]])


def otherwise(column: LabelColumn, estimated: str) -> str:
    """The table that has a value for each label, if there is one."""
    return f", or ask {estimated}, which has values in place of labels" if estimated else ""


def used(meaning: LabelMeaning, how: str, estimated: str) -> Misuse:
    """A label, or what stands beside it, is used as a value."""
    column = meaning.of
    what = {Part.LABEL: "labels", Part.RANK: "ranks of the labels", Part.ANSWER: "an answer on the labels"}
    found = f"{what.get(meaning.part, 'bounds of the labels')} in {shortened(column.name)} in {how}"
    instead = f"GROUP BY {column.name}"
    if meaning.part is Part.ANSWER:
        return Misuse(found, "a part of the answer", "Write .low, .high, .certain or .possible after it, in brackets.")
    if column.bounds:
        call = f"tv_mean({column.name})"
        instead += f", tv_count_between({column.name}, low, high) for a band, ({call}).low and .high for the mean"
    return Misuse(
        found, "labels that are compared, grouped and counted", f"Write {instead}{otherwise(column, estimated)}."
    )


def sorted_as_text(column: LabelColumn, grouped: bool) -> Misuse:
    """Labels are sorted as texts."""
    rank = column.beside(Part.RANK)
    by = f"min({rank})" if grouped else rank
    return Misuse(
        f"the labels in {shortened(column.name)}, sorted as texts",
        "an order by their rank",
        f"Select {rank} as well, and write ORDER BY {by}.",
    )


def extreme(meaning: LabelMeaning, function: str, answer: str, also: str) -> Misuse:
    """The least, greatest, middle or mean one of labels, of their ranks, or of their bounds is asked for."""
    column = meaning.of
    what = {Part.LABEL: "labels", Part.RANK: "ranks of the labels"}.get(meaning.part, "bounds of the labels")
    found = f"{function} of the {what} in {shortened(column.name)}"
    if not column.bounds:
        rank = column.beside(Part.RANK)
        return Misuse(found, "an order by rank", f"Write arg_{'min' if function == 'min' else 'max'}"
                      f"({column.name}, {rank}), or GROUP BY {column.name}.")  # fmt: skip
    call = f"{answer}({column.name}{', 0.9' if answer == 'tv_quantile' else ''})"
    words = f"Write ({call}).low and ({call}).high{otherwise(column, also)}."
    return Misuse(found, f"{answer}, which answers by an interval", words)


def asked(column: LabelColumn, texts: Sequence[str], left_out: Sequence[str], rank: int | None, also: str) -> Misuse:
    """A comparison is true of some labels only that may stand for what is asked for."""
    what = shortened(", ".join(map(repr, texts[:3])))
    certain = f", {column.beside(Part.RANK)} = {rank} for the label alone" if rank is not None else ""
    every = f"{column.name} IN ({listed([*texts, *left_out])})"
    if len(every) > LONGEST_PASTED:
        every = f"GROUP BY {column.name}, since too many labels count,"
    return Misuse(
        f"{what} in {shortened(column.name)}, where {len(left_out):,} other labels of the release may stand for it",
        "all labels that may stand for it",
        f"Write {every} for all who may be meant{certain}{otherwise(column, also)}.",
    )


def unlisted(column: LabelColumn, text: str, labels: Sequence[str], holding: bool, also: str) -> Misuse:
    """A text is asked for that is no label of a column whose labels stand for more than one value."""
    which = "the labels that it may be under" if holding else "those of these labels that it may be under"
    words = f"Write {column.name} IN ({listed(labels)}) with {which}"
    if len(words) > LONGEST_PASTED:
        words = f"Write GROUP BY {column.name}: too many labels count"
    if holding and column.bounds:
        value = f"DATE '{text}'" if column.of_time and len(text) == len("2024-01-01") else text
        words += f", tv_count_between({column.name}, {value}, {value}) for how many may be"
    return Misuse(
        f"{shortened(repr(text))}, which is no label in {shortened(column.name)}",
        "a label of the release",
        f"{words}{otherwise(column, also)}.",
    )


def unknown(column: LabelColumn) -> Misuse:
    """A label is compared with a text that only the query computes."""
    return Misuse(
        f"the labels in {shortened(column.name)}, compared with a text that the query computes of others",
        "labels that are written down, parameters, or a column of labels",
        f"Write {column.name} IN (…) with labels of the release.",
    )


def compared(meaning: LabelMeaning, operator: str, value: str | None, labels: int, also: str) -> Misuse:
    """Labels, or one of their bounds, are compared with a value; so many labels lie on both sides of it."""
    column = meaning.of
    name = column.name if meaning.part is Part.LABEL else column.beside(meaning.part)
    found = f"{shortened(name)} {operator} {value or '…'}"
    if not column.bounds:
        rank = f"Write GROUP BY {column.name}, or compare {column.beside(Part.RANK)}"
        return Misuse(f"{found}, labels compared as texts", "=, IN, or an order by rank", f"{rank}.")
    if labels:
        found += f", a comparison of one bound, with {labels:,} labels on both sides of it"
    low, high = column.beside(Part.LOW), column.beside(Part.HIGH)
    certain, possible = (low, high) if operator.startswith(">") else (high, low)
    words = f"Write tv_count_between({column.name}, low, high) for how many certainly and possibly are"
    if operator in (">", ">=", "<", "<="):
        words += f", coalesce({certain} {operator} …, FALSE) for those who certainly are, "
        words += f"coalesce({possible} {operator} …, TRUE) for those who possibly are"
    expected = "both numbers, or a statement that says which of them it wants"
    return Misuse(found, expected, f"{words}{otherwise(column, also)}.")


def cyclic_of_wide(written: str, column: LabelColumn, label: str) -> Misuse:
    """A part of estimates that comes back again and again is asked for, and labels hold several of it."""
    truncated = f"date_trunc('quarter', {column.name})" if column.of_time else f"{column.name} // 10 * 10"
    return Misuse(
        f"{shortened(written)}, where the label {shortened(label)} holds several values of it",
        "a part of estimated values that their labels tell: no assumption can",
        f"Write {truncated}, or another truncation or band, whose spread tells how far off it may be.",
        is_cyclic=True,
    )


def grouped_by_bound(meaning: LabelMeaning) -> Misuse:
    """Groups by one bound hold labels of different width."""
    return Misuse(
        f"groups by a bound of the labels in {shortened(meaning.of.name)}, which hold labels of different width",
        "groups by labels",
        f"Write GROUP BY {meaning.of.name}.",
    )


def counted_apart(column: LabelColumn) -> Misuse:
    """Different labels are counted for different values."""
    return Misuse(
        f"different labels in {shortened(column.name)}, counted for different values",
        "the number of labels, since nobody knows that of the values",
        f"Write count(DISTINCT {column.beside(Part.RANK)}) for it.",
    )


def overlapping(column: LabelColumn, also: str) -> str:
    """The hint where labels are grouped, or joined, that stand for some value both."""
    return (
        f"Labels in {column.name} overlap: people of one group may belong to another one as well, such as those under "
        f"{ANY_OR_WIDE}. Each number is that of a label, not of a value{otherwise(column, also)}."
    )


ANY_OR_WIDE = "* or a wider label"


def listed(labels: Sequence[str]) -> str:
    """Labels as texts in a statement."""
    return ", ".join("'" + label.replace("'", "''") + "'" for label in labels)
