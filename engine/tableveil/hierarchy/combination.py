"""Some values by rows of their own, and a rule for all others."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.definition import Combination
from tableveil.hierarchy.labelled import TOP_LABEL, LabelledValues
from tableveil.hierarchy.listed import check_levels


def check(rule: Combination, field: str) -> list[Fault]:
    """Checks the rows and lists their faults, without those of the rule for the rest."""
    faults = []
    for index, row in enumerate(rule.rows):
        if not row:
            faults.append(Fault(f"{field}.rows[{index}]", "nothing", "a value, and its labels from level 1 on"))
        elif TOP_LABEL in row[1:-1]:
            path = f"{field}.rows[{index}].labels[{row.index(TOP_LABEL, 1)}]"
            faults.append(Fault(path, shortened(TOP_LABEL), "the top's label at the end of the row only"))
    for name in ("loss_range", "loss_days"):
        if getattr(rule.rest, name, None):
            hint = "Rows have no place in it. Leave it out, or the rows."
            faults.append(Fault(f"{field}.rest.{name}", f"a {name} beside rows", "none", hint))
    return faults or check_levels([(*row, TOP_LABEL) for row in _padded(rule, 1)], field)


def _padded(rule: Combination, least: int) -> list[tuple[str, ...]]:
    """The rows without the top, all filled up to as many labels as the longest, and to at least `least`."""
    rows = [row[:-1] if len(row) > 1 and row[-1] == TOP_LABEL else row for row in rule.rows]
    columns = max([least, *(len(row) - 1 for row in rows)]) + 1
    return [(*row, *[row[-1]] * (columns - len(row))) for row in rows]


def label(
    rule: Combination,
    values: Sequence[object],
    texts: Sequence[str],
    own: NDArray[np.bool_],
    label_rest: Callable[[Sequence[object], Sequence[str], NDArray[np.bool_]], LabelledValues],
) -> LabelledValues:
    """Looks values up in the rows by their text, and labels the others by the rule, with `label_rest`.

    Where rows or the rule have fewer levels below the top than the other, their last label is repeated; if they have no
    such level, the value itself is repeated.

    |H| is the rule's |H| plus one value per row, and the leaves of a row's label are the rows that have it. Where the
    rule is measured, rows have no width. A value without a row is not covered if its label by the rule is, at any
    level, also a label in the rows: the label would have two meanings. A row for the value resolves this.
    """
    listed = {row[0] for row in rule.rows}
    with_row = np.fromiter((text in listed for text in texts), np.bool_, len(texts))
    others = np.flatnonzero(~with_row)
    rest_texts = list(compress(texts, ~with_row))
    rest = label_rest(list(compress(values, ~with_row)), rest_texts, own[others])

    smallest = 0.0 if rest.continuous else 1.0
    rest_labels = rest.labels[:-1] or (rest_texts,)
    rest_leaves = rest.leaves[:-1] or (np.full(len(rest_texts), smallest),)
    padded = _padded(rule, len(rest.labels) - 1)
    by_value = {row[0]: row for row in padded}
    members = [by_value[text] for text in compress(texts, with_row)]
    depth = len(padded[0]) - 1

    covered = np.ones(len(texts), dtype=np.bool_)
    covered[others] = rest.covered
    for level in range(depth):
        taken = {row[level + 1] for row in padded}
        labels = rest_labels[min(level, len(rest_labels) - 1)]
        covered[others] &= np.fromiter((label not in taken for label in labels), np.bool_, len(others))

    def levels() -> Iterator[tuple[NDArray[np.object_], NDArray[np.float64]]]:
        for level in range(depth):
            of_rest = min(level, len(rest_labels) - 1)
            labels = np.full(len(texts), None, dtype=np.object_)
            leaves = np.full(len(texts), np.nan)
            labels[others], leaves[others] = rest_labels[of_rest], rest_leaves[of_rest]
            rows_with = Counter(row[level + 1] for row in padded)
            labels[with_row] = [row[level + 1] for row in members]
            leaves[with_row] = [0.0 if rest.continuous else rows_with[row[level + 1]] for row in members]
            yield labels[covered], leaves[covered]

    domain = rest.domain_size + (0 if rest.continuous else len(listed))
    return LabelledValues.of(covered, levels(), domain, continuous=rest.continuous)
