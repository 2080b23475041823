"""Written-out hierarchies: checks of their rows, and the labels they give."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy.labelled import LabelledValues

MOST_COLUMNS = 1000
"""The most columns of a written-out hierarchy, including the value's own."""


def check_levels(rows: Sequence[Sequence[str | None]], field: str) -> list[Fault]:
    """Lists the faults in the rows of a written-out hierarchy.

    Args:
        rows: Per value its text, then its labels from level 1 to the top.
        field: Path of the hierarchy; faults point below it, to `rows[i]` or `rows[i].labels[level]`.

    Returns:
        One fault per kind of defect, with a count and the place of the first example: the rows may come from a table,
        and faults are kept with the job. Labels are compared in rows without NULL that have the most frequent number of
        columns.
    """
    if not rows:
        return [Fault(f"{field}.rows", "no rows", "a row per value: its text, then its labels up to the top")]
    lengths = Counter(map(len, rows))
    columns = lengths.most_common(1)[0][0]
    if columns > MOST_COLUMNS:
        hint = "Is the file turned on its side? A row is for one value."
        return [Fault(f"{field}.rows", _counted(columns, "column"), f"at most {MOST_COLUMNS:,} columns", hint)]
    faults: list[Fault] = []
    if columns < 2:
        expected = "at least 2 columns: the value and the label of the top"
        faults.append(Fault(f"{field}.rows", _counted(columns, "column"), expected))
    ragged = [index for index, row in enumerate(rows) if len(row) != columns] if len(lengths) > 1 else []
    if ragged:
        actual = f"{_counted(len(rows[ragged[0]]), 'column')}; {_counted(len(ragged), 'row')} unlike the others"
        faults.append(Fault(f"{field}.rows[{ragged[0]}]", actual, f"{_counted(columns, 'column')} in every row"))
    with_null = [index for index, row in enumerate(rows) if None in row]
    if with_null:
        path = f"{field}.rows[{with_null[0]}].labels[{list(rows[with_null[0]]).index(None)}]"
        hint = "NULL needs no row: the policy says what becomes of it."
        actual = f"NULL; {_counted(len(with_null), 'row')} with NULL"
        faults.append(Fault(path, actual, "text in every column", hint))
    faults += _repeated(rows, field)
    unsound = {*ragged, *with_null}
    numbers = [index for index in range(len(rows)) if index not in unsound] if unsound else range(len(rows))
    sound = [rows[index] for index in numbers] if unsound else rows
    levels = [[row[level] for row in sound] for level in range(columns)] if columns > 1 and sound else []
    return faults + _split_top(levels, numbers, field) + _not_nesting(levels, numbers, field)


def _repeated(rows: Sequence[Sequence[str | None]], field: str) -> list[Fault]:
    values = [row[0] if row else None for row in rows]
    if len(set(values)) == len(values):
        return []
    counts = Counter(values)
    repeated = [value for value, count in counts.items() if value is not None and count > 1]
    if not repeated:
        return []
    first = values.index(repeated[0])
    second = values.index(repeated[0], first + 1)
    actual = f"the value of rows[{first}] again; {_counted(len(repeated), 'value')} repeated"
    hint = "Remove all but one of them, also if the rows are alike."
    return [Fault(f"{field}.rows[{second}].labels[0]", actual, "every value in one row only", hint)]


def _split_top(levels: Sequence[Sequence[str | None]], numbers: Sequence[int], field: str) -> list[Fault]:
    labels = list(dict.fromkeys(levels[-1])) if levels else []
    if len(labels) < 2:
        return []
    actual = f"{_counted(len(labels), 'label')} at the top"
    path = f"{field}.rows[{numbers[levels[-1].index(labels[1])]}].labels[{len(levels) - 1}]"
    hint = _blanks(labels) or "End every row with '*', for example."
    return [Fault(path, actual, "one label that all rows share", hint)]


def _blanks(labels: Iterable[str | None]) -> str:
    """A hint if some labels are told apart by blanks around them alone, which a separator with blanks leaves."""
    written = {label for label in labels if label is not None}
    alike = len(written) - len({label.strip() for label in written})
    return f"Blanks around alone tell {_counted(alike, 'label')} from another one: leave them out." if alike else ""


def _not_nesting(levels: Sequence[Sequence[str | None]], numbers: Sequence[int], field: str) -> list[Fault]:
    count = 0
    example: Fault | None = None
    # A value with two labels at level 1 is repeated, and reported as repeated.
    for level in range(1, len(levels) - 1):
        labels, parents = levels[level], levels[level + 1]
        parent_of = dict(zip(labels, parents, strict=True))
        # Large hierarchies usually nest, so this case must be quick.
        if list(map(parent_of.__getitem__, labels)) == parents:
            continue
        steps = list(zip(labels, parents, strict=True))
        above: dict[str | None, list[str | None]] = {}
        for label, parent in dict.fromkeys(steps):
            above.setdefault(label, []).append(parent)
        split = [label for label, read_example in above.items() if len(read_example) > 1]
        count += len(split)
        if example is None:
            one, other, *_ = above[split[0]]
            first, second = (numbers[steps.index((split[0], parent))] for parent in (one, other))
            text = f"a label of level {level} that is under another one in rows[{first}]"
            path = f"{field}.rows[{second}].labels[{level + 1}]"
            example = Fault(path, text, "the same label above equal labels", _blanks(above[split[0]]))
    if example is None:
        return []
    read_example = f"{example.found}; {_counted(count, 'label')} under more than one"
    return [replace(example, found=read_example)]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def label_rows(rows: Sequence[tuple[str, ...]], texts: Sequence[str]) -> LabelledValues:
    """Looks the values up by their text.

    |H| is the number of rows and the leaves of a label are the rows that have it. Values without a row are not covered.
    """
    by_value = {row[0]: row for row in rows}
    covered = np.fromiter((text in by_value for text in texts), np.bool_, len(texts))
    members = [by_value[text] for text in texts if text in by_value]
    *middle, top = range(1, len(rows[0]))

    def levels() -> Iterator[tuple[list[str], NDArray[np.float64]]]:
        for level in middle:
            leaves = Counter([row[level] for row in rows])
            labels = [row[level] for row in members]
            yield labels, np.fromiter(map(leaves.__getitem__, labels), np.float64, len(labels))

    return LabelledValues.of(covered, levels(), float(len(rows)), top_label=rows[0][top])
