"""How statements misread labels, each way with what to write in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tableveil.endpoint.label_sources import LabelMeaning
from tableveil.endpoint.labels import LabelColumn, Part
from tableveil.errors import InvalidError, shortened

LONGEST_PASTED = 2_000
"""Characters of a statement, or of a list of labels, that a hint repeats."""

Edit = tuple[int, int, str]
"""The first character, the one after the last, and the text in place of those between."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A use, what is expected in its place, and words for that; `edits` of the text make a statement that is right."""

    found: str
    expected: str
    fragment: str
    edits: tuple[Edit, ...] = ()


def hint_of(misuses: Sequence[Misuse], text: str) -> str:
    """The hint for the first one: the statement as it would be right if that is known, or a part of it."""
    if all(misuse.edits for misuse in misuses):
        right = edited(text, (edit for misuse in misuses for edit in misuse.edits))
        if len(right) <= LONGEST_PASTED:
            return f"Write: {right.strip()}"
    return misuses[0].fragment


def misread(misuses: Sequence[Misuse], text: str) -> InvalidError:
    """The error for a statement with misuses."""
    first = misuses[0]
    return InvalidError.of("LABELS_MISREAD", "statement", first.found, first.expected, hint_of(misuses, text))


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


def sorted_as_text(column: LabelColumn, by: str, edits: tuple[Edit, ...]) -> Misuse:
    """Labels are sorted as texts."""
    return Misuse(
        f"the labels in {shortened(column.name)}, sorted as texts",
        "an order by their rank",
        f"Select {column.beside(Part.RANK)} as well, and write ORDER BY {by}.",
        edits,
    )


def extreme(meaning: LabelMeaning, function: str, answer: str, edits: tuple[Edit, ...]) -> Misuse:
    """The least, greatest, middle or mean one of labels, of their ranks, or of their bounds is asked for."""
    column = meaning.of
    what = {Part.LABEL: "labels", Part.RANK: "ranks of the labels"}.get(meaning.part, "bounds of the labels")
    found = f"{function} of the {what} in {shortened(column.name)}"
    if not column.bounds:
        rank = column.beside(Part.RANK)
        return Misuse(found, "an order by rank", f"Write arg_{'min' if function == 'min' else 'max'}"
                      f"({column.name}, {rank}), or GROUP BY {column.name}.")  # fmt: skip
    if function in ("sum", "fsum", "sumkahan"):
        words = f"Write count({column.name}) * (tv_mean({column.name})).low for the least sum, and .high for the most."
        return Misuse(found, "the mean of labels, times their number", words)
    more = ", 0.9" if answer == "tv_quantile" else ""
    call = f"{answer or 'tv_mean'}({column.name}{more})"
    words = f"Write {call}, and ({call}).low to sort or compare by it."
    return Misuse(found, f"{answer or 'tv_mean'}, which answers by an interval", words, edits)


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


def compared(meaning: LabelMeaning, operator: str, value: str | None, records: int, also: str) -> Misuse:
    """Labels, or one of their bounds, are compared with a value, where labels lie on both sides of it."""
    column = meaning.of
    name = column.name if meaning.part is Part.LABEL else column.beside(meaning.part)
    found = f"{shortened(name)} {operator} {written(column, value)}"
    if not column.bounds:
        rank = f"Write GROUP BY {column.name}, or compare {column.beside(Part.RANK)}"
        return Misuse(f"{found}, labels compared as texts", "=, IN, or an order by rank", f"{rank}.")
    if records and value is not None:
        found += f", a comparison of one bound, with {records:,} records whose labels lie on both sides"
    low, high = column.beside(Part.LOW), column.beside(Part.HIGH)
    certain, possible = (low, high) if operator.startswith(">") else (high, low)
    ends = [_included(column, operator, value), "NULL"]
    between = ", ".join(ends if operator.startswith(">") else reversed(ends))
    if operator not in (">", ">=", "<", "<="):
        ends = [written(column, value)] * (1 if ", " in (value or "") else 2)
        between = ", ".join(ends)
        words = f"Write tv_count_between({column.name}, {between}) for how many certainly and possibly are"
    else:
        words = (
            f"Write tv_count_between({column.name}, {between}) for how many certainly and possibly are, "
            f"coalesce({certain} {operator} {written(column, value)}, FALSE) for those who certainly are, "
            f"coalesce({possible} {operator} {written(column, value)}, TRUE) for those who possibly are"
        )
    return Misuse(
        found, "both numbers, or a statement that says which of them it wants", words + otherwise(column, also) + "."
    )


def written(column: LabelColumn, value: str | None) -> str:
    """A value that is compared with bounds, as it may be pasted."""
    if value is None:
        return "…"
    return f"DATE '{value}'" if column.of_time and len(value) == len("2024-01-01") else value


def _included(column: LabelColumn, operator: str, value: str | None) -> str:
    """The value at which what is asked for begins or ends, as functions of labels take it."""
    step = {">": 1, "<": -1}.get(operator, 0)
    try:
        if value is not None and column.bounds == "BIGINT":
            value = str(int(value) + step)
        elif value is not None and column.bounds == "DATE":
            value = str(date.fromisoformat(value) + timedelta(step))
    except (ValueError, OverflowError):
        pass
    return written(column, value)


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
