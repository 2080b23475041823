"""Text masked from one end, some more characters per level."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.labelled import LabelledValues, ValueKind, misfit
from tableveil.hierarchy.rules.traits import RuleTraits

MASK = "*"
"""The character that masks others, unless the policy names one."""

GREATEST_LENGTH = 1000


class MaskFrom(StrEnum):
    """The end of a text at which masking starts."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


class PadAt(StrEnum):
    """The end of a text at which padding is added."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


@dataclass(frozen=True, slots=True)
class Redaction:
    """Text of at most `length` characters, masked `step` characters per level, or as many as `masked` lists.

    A position takes one of `alphabet_size` characters, or one of `alphabet`, if these are listed. Shorter texts are
    filled up with `padding`, or with the mask if it is empty. They are filled at the end that `pad_at` names, or at the
    masked end if it is None.
    """

    length: int
    alphabet_size: int = 0
    mask_from: MaskFrom = MaskFrom.RIGHT
    step: int = 1
    alphabet: str = ""
    mask: str = MASK
    padding: str = ""
    pad_at: PadAt | None = None
    masked: tuple[int, ...] = ()

    def __str__(self) -> str:
        steps = ", ".join(map(str, self.masked)) or self.step
        return f"{self.length} characters masked from the {self.mask_from.lower()} by {steps}"

    @property
    def levels(self) -> Sequence[int]:
        """How many characters each level masks, from level 1 to the one below `*`."""
        return self.masked or range(self.step, self.length, self.step)


def check(rule: Redaction, field: str, kind: ValueKind | None) -> list[Fault]:
    """Lists the faults of the rule and, if `kind` is known, of using it on a column of that kind."""
    faults = misfit(field, "redaction", kind, (ValueKind.TEXT, ValueKind.INTEGER))
    length_fits = 1 <= rule.length <= GREATEST_LENGTH
    if not length_fits:
        faults.append(Fault(f"{field}.length", str(rule.length), f"a length from 1 to {GREATEST_LENGTH}"))
    faults += _alphabet_faults(rule, field)
    greatest_step = rule.length if length_fits else GREATEST_LENGTH
    if rule.masked and rule.step != 1:
        faults.append(Fault(f"{field}.masked", f"{len(rule.masked)} numbers beside a step", "one of the two"))
    for i, (before, number) in enumerate(pairwise((0, *rule.masked))):
        if not before < number < greatest_step:
            expected = f"a number above {before} and below the length, {greatest_step}"
            faults.append(Fault(f"{field}.masked[{i}]", str(number), expected))
    if not 1 <= rule.step <= greatest_step:
        faults.append(Fault(f"{field}.step", str(rule.step), f"a step from 1 to {greatest_step}, at most the length"))
    if kind is ValueKind.INTEGER and not (rule.padding and _pads_left(rule)):
        actual = f"{shortened(rule.padding)} at the right" if rule.padding else "nothing"
        hint = "With padding '0' and pad_at LEFT, 2139 of length 5 is 02139."
        faults.append(Fault(f"{field}.padding", actual, "padding at the left, because the column has numbers", hint))
    return faults + _character_faults(rule, field)


def _alphabet_faults(rule: Redaction, field: str) -> list[Fault]:
    different = len(set(rule.alphabet))
    if not rule.alphabet:
        if rule.alphabet_size >= 2:
            return []
        hint = "A text of digits has 10, for example; or list the characters in `alphabet`."
        return [Fault(f"{field}.alphabet_size", str(rule.alphabet_size), "at least 2", hint)]
    faults = []
    if different < len(rule.alphabet):
        repeated = next(character for character in rule.alphabet if rule.alphabet.count(character) > 1)
        faults.append(Fault(f"{field}.alphabet", f"{shortened(repeated)} more than once", "every character once"))
    if different < 2:
        faults.append(Fault(f"{field}.alphabet", f"{different} character", "at least 2"))
    if rule.alphabet_size not in (0, different):
        actual = f"{rule.alphabet_size} beside an alphabet of {different} characters"
        faults.append(Fault(f"{field}.alphabet_size", actual, "the number of its characters, or nothing"))
    if rule.mask in rule.alphabet:
        hint = "Nobody could tell it from a character that was not masked."
        faults.append(Fault(f"{field}.mask", shortened(rule.mask), "a character that is not in the alphabet", hint))
    return faults


def _character_faults(rule: Redaction, field: str) -> list[Fault]:
    faults = []
    if len(rule.mask) != 1:
        faults.append(Fault(f"{field}.mask", shortened(rule.mask), "one character, or nothing for '*'"))
    if len(rule.padding) > 1:
        faults.append(Fault(f"{field}.padding", shortened(rule.padding), "one character, or nothing for the mask"))
    return faults


def _pads_left(rule: Redaction) -> bool:
    return rule.mask_from is MaskFrom.LEFT if rule.pad_at is None else rule.pad_at is PadAt.LEFT


def label(
    rule: Redaction, kind: ValueKind, values: Sequence[object], texts: Sequence[str], own: NDArray[np.bool_]
) -> LabelledValues:
    """Masks so many of the `length` positions of each text at each level, as long as one position stays visible.

    A text is first padded to the declared length, so that every label has that length and none shows how long the text
    was. Longer texts are not covered, nor texts with a character outside a listed alphabet, nor negative numbers.
    Characters are code points.

    Labels nest for all texts, even for those that contain the mask: a label is its padded text with some positions
    masked, and a higher level masks these and more, so it is a function of the label below alone. Only the top's label
    is a lone `*`, since a level below the top has at least two positions.

    With `a` the alphabet's size, n the length and m the positions masked, a label has a^m leaves and the domain a^n.
    Where a^n exceeds a float, leaves and domain are both divided by it and measured as continuous: the shares
    (a^m - 1)/(a^n - 1) and a^m/a^n then differ by less than 1e-300.
    """
    covered = np.fromiter((_fits(rule, kind, text) for text in texts), np.bool_, len(texts))
    padding = rule.padding or rule.mask
    pad = str.rjust if _pads_left(rule) else str.ljust
    kept = [pad(text, rule.length, padding) for text in texts if _fits(rule, kind, text)]
    size = len(rule.alphabet) or rule.alphabet_size
    domain = size**rule.length
    countable = domain <= sys.float_info.max
    unit = 1 if countable else domain

    def levels() -> Iterator[tuple[list[str], NDArray[np.float64]]]:
        for masked in rule.levels:
            leaves = size**masked / unit
            yield _masked(rule, kept, masked), np.full(len(kept), leaves)

    return LabelledValues.of(covered, levels(), domain / unit, continuous=not countable)


def _fits(rule: Redaction, kind: ValueKind, text: str) -> bool:
    if len(text) > rule.length or (kind is ValueKind.INTEGER and text.startswith("-")):
        return False
    return not rule.alphabet or not text.strip(rule.alphabet)


def _masked(rule: Redaction, texts: Sequence[str], count: int) -> list[str]:
    mask = rule.mask * count
    if rule.mask_from is MaskFrom.RIGHT:
        return [text[:-count] + mask for text in texts]
    return [mask + text[count:] for text in texts]


REDACTION = RuleTraits(field="redaction", kind=Redaction, check=check, label=label, natural=False)
