"""Collects the faults of a conversion, and remembers which parts of the policy are placeholders because of them."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tableveil.convert.decimals import decimal_from_text
from tableveil.convert.enums import E, EnumMap
from tableveil.convert.names import load_number, release_number
from tableveil.errors import Fault, InvalidError, shortened

MOST_FAULTS = 10_000
"""A policy of a few megabytes can have millions of faults; nobody reads that many."""


class Faults:
    """Faults in the order found. Fields that `guess` covers are judged no further: they hold placeholders."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._omitted = 0
        self._guessed: set[str] = set()
        self._around_guesses: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._faults)

    def add(self, field: str, found: str, expected: str, hint: str = "") -> None:
        """Adds a fault, and `guess`es its field."""
        self._append(Fault(field, found, expected, hint))
        self._guessed.add(field)

    def add_enum(self, field: str, number: int, enum: EnumMap[Any]) -> None:
        """Adds the fault of an enum that is required and not stated, or has a number unknown to this version."""
        actual = f"the unknown number {number}" if number else "nothing"
        self.add(field, actual, f"one of {enum.names}")

    def enum(self, number: int, enum: EnumMap[E], field: str, default: E) -> E:
        """The member of that number; the default for UNSPECIFIED, and, after adding the fault, for unknown ones."""
        member = self.enum_or_none(number, enum, field)
        return default if member is None else member

    def enum_or_none(self, number: int, enum: EnumMap[E], field: str) -> E | None:
        """The member of that number; None for UNSPECIFIED, and, after adding the fault, for unknown ones."""
        member = enum.from_proto(number)
        if number and member is None:
            self.add_enum(field, number, enum)
        return member

    def release(self, name: str, field: str) -> int | None:
        """The number in a release's name; None, after adding the fault, if it is no such name."""
        try:
            return release_number(name, field)
        except InvalidError as error:
            for fault in error.faults:
                self.add(fault.field, fault.found, fault.expected, fault.hint)
        return None

    def load(self, name: str, field: str) -> int | None:
        """The number in a load's name, which may stand alone; None, after adding the fault, if it is no such name."""
        try:
            return load_number(name if "/" in name else f"loads/{name}")
        except InvalidError:
            self.add(field, shortened(name), "the name of a load, such as loads/12 or 12")
        return None

    def decimal(self, text: str, field: str) -> Decimal | None:
        """The decimal; None for an empty text, and, after adding the fault, for one that is no decimal."""
        number = decimal_from_text(text) if text else None
        if text and number is None:
            self.add(field, shortened(text), "an exact decimal in plain digits, such as 0.05")
        return number

    def required_decimal(self, text: str, field: str, placeholder: Decimal) -> Decimal:
        """The decimal; without one it adds the fault and returns a placeholder, which `judged` must not judge."""
        number = self.decimal(text, field)
        if not text:
            self.add(field, "nothing", "an exact decimal in plain digits, such as 0.05")
        if number is None:
            self.guess(field)
        return placeholder if number is None else number

    def guess(self, path: str) -> None:
        """Holds back what `judged` may find at or below `path`, and at the nodes above it."""
        self._guessed.add(path)
        parts = _parts(path)
        self._around_guesses |= {"".join(parts[:length]) for length in range(1, len(parts))}

    def judged(self, faults: Iterable[Fault]) -> None:
        """Adds the faults of a check of the converted policy, except those about placeholders."""
        for fault in faults:
            parts = _parts(fault.field)
            above = {"".join(parts[:length]) for length in range(1, len(parts) + 1)}
            if fault.field not in self._around_guesses and not above & self._guessed:
                self._append(fault)

    def all(self) -> list[Fault]:
        """All faults up to a number that people read; a last fault counts the others."""
        if not self._omitted:
            return self._faults
        rest = Fault("policy", f"{self._omitted:,} more faults", "none", "Correct those above first.")
        return [*self._faults, rest]

    def _append(self, fault: Fault) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.append(fault)
        else:
            self._omitted += 1


def _parts(path: str) -> list[str]:
    """`a.b[2].c` as `a`, `.b`, `[2]`, `.c`."""
    return path.replace(".", "\0.").replace("[", "\0[").split("\0")
