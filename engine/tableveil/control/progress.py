"""How far long work is, and how often it reports that."""

from dataclasses import dataclass

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: scores as users know them, None until known.

    Where clusters are formed instead, `of_records`: `checked` of the `lattice_size` records are in one.
    """

    checked: int
    lattice_size: int
    best_score: float | None
    lower_bound: float | None
    suppressed_share: float | None
    of_records: bool = False
