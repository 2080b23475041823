"""Text masked from one end, some characters more per level."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.hierarchy.definition import MaskFrom, Redaction
from tableveil.hierarchy.labelled import LabelledValues, ValueKind, misfit

MASK = "*"
GREATEST_LENGTH = 1000


def check(rule: Redaction, field: str, kind: ValueKind | None) -> list[Fault]:
    """Everything wrong with the rule, and with using it on a column of `kind` if that is known."""
    faults = misfit(field, "redaction", kind, (ValueKind.TEXT,))
    length_fits = 1 <= rule.length <= GREATEST_LENGTH
    if not length_fits:
        faults.append(Fault(f"{field}.length", str(rule.length), f"a length from 1 to {GREATEST_LENGTH}"))
    if rule.alphabet_size < 2:
        faults.append(
            Fault(
                f"{field}.alphabet_size", str(rule.alphabet_size), "at least 2", "A text of digits has 10, for example."
            )
        )
    greatest_step = rule.length if length_fits else GREATEST_LENGTH
    if not 1 <= rule.step <= greatest_step:
        faults.append(Fault(f"{field}.step", str(rule.step), f"a step from 1 to {greatest_step}, at most the length"))
    return faults


def label(rule: Redaction, kind: ValueKind, values: Sequence[object], texts: Sequence[str]) -> LabelledValues:
    """Masks `level * step` of the `length` positions of each text, for as long as one position stays.

    A text is first padded with `*` to the declared length at the end that is masked, so that every label has that
    length and none tells how long the text was. Texts longer than that are not covered. Characters are code points.

    Labels nest whatever the texts hold, `*` included: a label is its padded text with some positions masked, and a
    higher level masks these and more, so it is a function of the label below alone. None but the top's is a lone `*`,
    since a level below the top has at least two positions.

    With `a` the alphabet's size, n the length and m the positions masked, a label has a^m leaves and the domain a^n.
    Where a^n exceeds a float, leaves and domain are both divided by it and measured as continuous: the shares
    (a^m - 1)/(a^n - 1) and a^m/a^n then differ by less than 1e-300.
    """
    covered = np.fromiter((len(text) <= rule.length for text in texts), np.bool_, len(texts))
    kept = [text for text in texts if len(text) <= rule.length]
    domain = rule.alphabet_size**rule.length
    countable = domain <= sys.float_info.max
    unit = 1 if countable else domain

    def levels() -> Iterator[tuple[list[str], NDArray[np.float64]]]:
        for masked in range(rule.step, rule.length, rule.step):
            leaves = rule.alphabet_size**masked / unit
            yield [_masked(rule, text, masked) for text in kept], np.full(len(kept), leaves)

    return LabelledValues.of(covered, levels(), domain / unit, continuous=not countable)


def _masked(rule: Redaction, text: str, count: int) -> str:
    shown = rule.length - count
    if rule.mask_from is MaskFrom.RIGHT:
        return text[:shown].ljust(rule.length, MASK)
    return text.rjust(rule.length, MASK)[count:].rjust(rule.length, MASK)
