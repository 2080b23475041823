"""A written release as the verification judges it: its objects beside what the policy says of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.backend import WarehouseSession
from tableveil.policy import Policy
from tableveil.verification.written import Written


@dataclass(frozen=True, slots=True)
class Judged:
    """A written release of so many `source_records`.

    Columns of labels come first among its `quasi_identifiers`. `marker` is the column that marks suppressed records, if
    they are shown. While its models are checked, the table `judged_classes` has its classes.
    """

    session: WarehouseSession
    policy: Policy
    quasi_identifiers: Sequence[str]
    marker: str
    source_records: int
    written: Written

    @property
    def positions(self) -> list[str]:
        """Names of the quasi-identifiers in staged tables, because a column may have any name."""
        return [f"q{i}" for i in range(len(self.quasi_identifiers))]
