"""Guards of a release: conditions under which it must not take the place of the release before."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

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
