"""The store of payout sweeps."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from tableveil.backend import Ledger
from tableveil.errors import TableveilError
from tableveil.game.sweep import Among, SweepMethod, SweepPoint
from tableveil.policy import BreakEven, TableReference
from tableveil.state.payout_sweeps import PAYOUT_SWEEPS, PayoutSweep

SMALLEST, LARGEST = Decimal("0.000000001"), Decimal(10**12)


def sweep(number: int, job: int) -> PayoutSweep:
    return PayoutSweep(
        number=number,
        job=job,
        created_at=datetime(2024, 2, 29, 12, 30, 15, 123456),
        source=TableReference("test", "main", 'it"s; a table'),
        source_fingerprint="abc",
        population_fingerprint="def",
        records=2**40,
        population_records=2**41,
        quasi_identifiers=("age", 'z"ip'),
        publisher_benefit=LARGEST,
        adversary_cost=SMALLEST,
        break_even=BreakEven.SUPPRESS,
        if_method_known=True,
        lattice_size="1" + "0" * 30,
        counted=17,
        sweep_seconds=0.5,
        seconds=1.5,
        policy='{"a": "é"}',
        points=(
            SweepPoint(SMALLEST, SweepMethod.FULL_DOMAIN, Among.SOURCE, 0.1, 3, 4, (1, 0)),
            SweepPoint(LARGEST, SweepMethod.FULL_DOMAIN, Among.SOURCE, -1e300, 2**40, 0, (1, 2)),
            SweepPoint(Decimal(100), SweepMethod.RECORD_LEVEL, Among.POPULATION, 0.25, 0, 0, None, 0.125),
            SweepPoint(Decimal(0), SweepMethod.SAFE_HARBOR, Among.SOURCE, 0.0, 0, 0, ()),
        ),
    )


def test_a_payout_sweep_comes_back_as_it_was(ledger: Ledger) -> None:
    first, second = (sweep(PAYOUT_SWEEPS.next_number(ledger), job) for job in (7, 8))
    second = replace(second, population_records=None, population_fingerprint="", break_even=BreakEven.KEEP)
    with ledger.transaction():
        PAYOUT_SWEEPS.insert(ledger, [first])
        PAYOUT_SWEEPS.insert(ledger, [second])
    assert PAYOUT_SWEEPS.find(ledger, first.number) == first
    assert PAYOUT_SWEEPS.find(ledger, second.number) == second
    assert PAYOUT_SWEEPS.find(ledger, 10_000) is None


def test_a_job_has_one_payout_sweep(ledger: Ledger) -> None:
    PAYOUT_SWEEPS.insert(ledger, [sweep(PAYOUT_SWEEPS.next_number(ledger), 9)])
    with pytest.raises(TableveilError):
        PAYOUT_SWEEPS.insert(ledger, [sweep(PAYOUT_SWEEPS.next_number(ledger), 9)])


def test_gains_are_numbers_in_sql(ledger: Ledger) -> None:
    stored = sweep(PAYOUT_SWEEPS.next_number(ledger), 10)
    PAYOUT_SWEEPS.insert(ledger, [stored])
    gains = ledger.rows(
        "SELECT gain FROM tableveil.payout_points WHERE payout_sweep = ? ORDER BY gain", [stored.number]
    )
    assert [gain for (gain,) in gains] == [0, SMALLEST, 100, LARGEST]
