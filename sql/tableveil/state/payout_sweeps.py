"""The store of payout sweeps, which are the owner's: they show which records of the source are alone."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tableveil.game.sweep import SweepPoint
from tableveil.policy import BreakEven, TableReference
from tableveil.state.mapper import NumberedTable, Table
from tableveil.state.seen import results


@dataclass(frozen=True, slots=True)
class PayoutSweep:
    """A payout sweep with its evidence; `points` by method, then by table looked in, then by gain, ascending.

    `population_records` and `population_fingerprint` are None and empty without rows of a population. `policy` is the
    document as JSON. `seconds` are those from the job's start, `sweep_seconds` those of the sweep.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    population_fingerprint: str
    records: int
    population_records: int | None
    quasi_identifiers: tuple[str, ...]
    publisher_benefit: Decimal
    adversary_cost: Decimal
    break_even: BreakEven
    if_method_known: bool
    lattice_size: str
    counted: int
    sweep_seconds: float
    seconds: float
    policy: str
    points: tuple[SweepPoint, ...]


_COLUMNS = {"suppressed": "suppressed_records", "attacked": "attacked_records", "transformation": "levels"}

PAYOUT_SWEEPS = NumberedTable(
    "payout_sweeps",
    PayoutSweep,
    "payout_sweep_numbers",
    parts={"points": Table("payout_points", SweepPoint, "payout_sweep", names=_COLUMNS)},
    seen=results,
)
