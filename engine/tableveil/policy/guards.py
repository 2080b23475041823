"""Guards of a release: conditions under which it must not take the place of the release before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from tableveil.errors import Fault, shortened

if TYPE_CHECKING:
    from tableveil.policy.model import Policy

FIELD = "release.guards"


class Guard(StrEnum):
    """A guard of every replacement that a policy has to switch off by name."""

    FEWER_RECORDS = "FEWER_RECORDS"
    ERASED_COLUMNS = "ERASED_COLUMNS"


@dataclass(frozen=True, slots=True)
class ReleaseGuards:
    """Conditions of a release; those that compare are about the release that it would replace.

    The source has at least `minimum_records`; their number changes by at most `maximum_record_change`, a share of the
    earlier number, or, if that is None, falls by at most half. None of `keep_columns` has one label in all released
    records, and neither has a column that had several. The guards in `off` do not hold. With `hold_undecided` no
    warning of the release must be decided: nobody is there to do it.
    """

    minimum_records: int = 0
    maximum_record_change: Decimal | None = None
    keep_columns: tuple[str, ...] = ()
    off: tuple[Guard, ...] = ()
    hold_undecided: bool = False

    @property
    def compares_records(self) -> bool:
        """Whether the number of records is compared with that of the replaced release."""
        return self.maximum_record_change is not None or Guard.FEWER_RECORDS not in self.off

    @property
    def compares_columns(self) -> bool:
        """Whether the columns are compared with those of the replaced release."""
        return Guard.ERASED_COLUMNS not in self.off


def check_guards(policy: Policy) -> Iterator[Fault]:
    """Faults of `release.guards`."""
    guards = policy.release.guards
    change = guards.maximum_record_change
    if guards.minimum_records < 0:
        yield Fault(f"{FIELD}.minimum_records", f"{guards.minimum_records:,}", "0 or more records")
    if change is not None and not (change.is_finite() and change >= 0):
        expected = "a share of 0 or more: 0.2 allows a fifth more or less"
        yield Fault(f"{FIELD}.maximum_record_change", f"{change}", expected)
    if change is not None and Guard.FEWER_RECORDS in guards.off:
        hint = "A maximum_record_change takes the place of that guard."
        yield Fault(f"{FIELD}.off", "FEWER_RECORDS beside a maximum_record_change", "one of them", hint)
    if policy.release.if_exists != "REPLACE":
        for name, stated in (("maximum_record_change", change is not None), ("off", bool(guards.off))):
            if stated:
                actual = f"{name} without if_exists: REPLACE"
                yield Fault(f"{FIELD}.{name}", actual, "nothing to compare with, or REPLACE")
    columns = {attribute.column for attribute in policy.recognizing}
    for i, column in enumerate(guards.keep_columns):
        if column not in columns:
            expected = "a quasi-identifier: no other column is generalized"
            yield Fault(f"{FIELD}.keep_columns[{i}]", shortened(column), expected)
