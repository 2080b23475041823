"""How statements misread labels, each way with what to write in its place."""

from collections.abc import Sequence

from tableveil.endpoint.grammar import FIELD, quoted
from tableveil.endpoint.label_sources import LabelMeaning
from tableveil.endpoint.labels import LabelColumn, Part
from tableveil.errors import InvalidError, shortened

_WHAT = {Part.LABEL: "labels", Part.RANK: "ranks of the labels", Part.ANSWER: "an answer on the labels"}


def misread(found: str, expected: str, hint: str) -> InvalidError:
    """The error for a use of labels, with what is expected in its place, and what to write."""
    return InvalidError.of("LABELS_MISREAD", FIELD, found, expected, hint)


def otherwise(column: LabelColumn) -> str:
    """The table that has a value for each label, if there is one."""
    estimated = column.table.estimated
    return f", or ask {estimated}, which has values in place of labels" if estimated else ""


def used(meaning: LabelMeaning, how: str, answer: str = "") -> InvalidError:
    """A label, or what stands beside it, is used in a way that the rule does not have."""
    column = meaning.of
    rank = column.beside(Part.RANK)
    found = f"{_WHAT.get(meaning.part, 'bounds of the labels')} in {shortened(column.name)} in {how}"
    expected = "labels that are compared, grouped and counted"
    if meaning.part is Part.ANSWER:
        return misread(found, "a part of the answer", "Write .low, .high, .certain or .possible after it, in brackets.")
    if column.alone:
        return misread(found, expected, f"Ask {column.table.name}, where {rank} stands beside them.")
    if how == "ORDER BY":
        hint = f"With GROUP BY, write ORDER BY min({rank}). Else select {rank} as well, and write ORDER BY {rank}."
        return misread(found, "an order by their rank", hint)
    if how == "count(DISTINCT …)":
        hint = f"Write count(DISTINCT {rank}) for the number of labels: nobody knows that of the values."
        return misread(found, expected, hint)
    instead = f"GROUP BY {column.name}, {column.name} IN (…), or compare {rank}"
    if column.bounds:
        low, high = column.beside(Part.LOW), column.beside(Part.HIGH)
        instead = f"GROUP BY {column.name}, tv_count_between({column.name}, low, high) for how many certainly and "
        instead += f"possibly are, coalesce({low} >= …, FALSE) for those who certainly are, "
        instead += f"coalesce({high} >= …, TRUE) for those who possibly are"
    if column.bounds and answer:
        call = f"{answer}({column.name}{', 0.9' if answer == 'tv_quantile' else ''})"
        instead = f"({call}).low and ({call}).high"
    return misread(found, expected, f"Write {instead}{otherwise(column)}.")


def asked(column: LabelColumn, texts: Sequence[str], left_out: Sequence[str], rank: int | None) -> InvalidError:
    """A comparison is true of some labels only that may stand for what is asked for."""
    what = shortened(", ".join(map(repr, texts[:3])))
    certain = (
        f", {column.beside(Part.RANK)} = {rank} for the label alone" if rank is not None and not column.alone else ""
    )
    every = _every(column, [*texts, *left_out])
    return misread(
        f"{what} in {shortened(column.name)}, where {len(left_out):,} other labels of the release may stand for it",
        "all labels that may stand for it",
        f"Write {every} for all who may be meant{certain}{otherwise(column)}.",
    )


def unlisted(column: LabelColumn, text: str, labels: Sequence[str], holding: bool) -> InvalidError:
    """A text is asked for that is no label of a column whose labels stand for more than one value."""
    which = "the labels that it may be under" if holding else "those of these labels that it may be under"
    words = f"Write {_every(column, labels)} with {which}"
    if holding and column.bounds and not column.alone:
        value = f"DATE '{text}'" if column.of_time and len(text) == len("2024-01-01") else text
        words += f", tv_count_between({column.name}, {value}, {value}) for how many may be"
    found = f"{shortened(repr(text))}, which is no label in {shortened(column.name)}"
    return misread(found, "a label of the release", f"{words}{otherwise(column)}.")


def unknown(column: LabelColumn) -> InvalidError:
    """A label is compared with a text that only the query computes."""
    return misread(
        f"the labels in {shortened(column.name)}, compared with a text that the query computes of others",
        "labels that are written down, parameters, or a column of labels",
        f"Write {column.name} IN (…) with labels of the release.",
    )


def cyclic_of_wide(written: str, column: LabelColumn, label: str) -> InvalidError:
    """A part of estimates that comes back again and again is asked for, and labels hold several of it."""
    truncated = f"date_trunc('month', {column.name})" if column.of_time else f"{column.name} // 10 * 10"
    return InvalidError.of(
        "LABELS_TOO_WIDE",
        FIELD,
        f"{shortened(written)}, where the label {shortened(label)} holds several values of it",
        "a part of estimated values that their labels tell: no assumption can",
        f"Write {truncated}, or another truncation or band, whose spread tells how far off it may be.",
    )


def overlapping(column: LabelColumn) -> str:
    """The hint where labels are grouped, or joined, that stand for some value both."""
    return (
        f"Labels in {column.name} overlap: people of one group may belong to another one as well, such as those under "
        f"* or a wider label. Each number is that of a label, not of a value{otherwise(column)}."
    )


def _every(column: LabelColumn, labels: Sequence[str]) -> str:
    every = f"{column.name} IN ({', '.join(quoted(label, chr(39)) for label in labels)})"
    return every if len(every) <= 2_000 else f"GROUP BY {column.name}, since too many labels count,"
