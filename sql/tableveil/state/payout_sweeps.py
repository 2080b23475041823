"""The store of payout sweeps, which are the owner's: they tell what records of the source are alone with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from tableveil.backend import Session
from tableveil.game.sweep import Among, Method, SweepPoint
from tableveil.policy import BreakEven, TableReference
from tableveil.state.rows import insert_rows


@dataclass(frozen=True, slots=True)
class PayoutSweep:
    """A payout sweep with its evidence; `points` by method, then among whom, then by gain, ascending.

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


def next_number(session: Session) -> int:
    """A number no payout sweep has."""
    number: int = session.value("SELECT nextval('tableveil.payout_sweep_numbers')")
    return number


def insert(session: Session, sweep: PayoutSweep) -> None:
    """Stores a payout sweep; call it in a transaction."""
    session.execute(
        "INSERT INTO tableveil.payout_sweeps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            sweep.number,
            sweep.job,
            sweep.created_at,
            sweep.source.catalog,
            sweep.source.schema,
            sweep.source.table,
            sweep.source_fingerprint,
            sweep.population_fingerprint,
            sweep.records,
            sweep.population_records,
            list(sweep.quasi_identifiers),
            sweep.publisher_benefit,
            sweep.adversary_cost,
            sweep.break_even.value,
            sweep.if_method_known,
            sweep.lattice_size,
            sweep.counted,
            sweep.sweep_seconds,
            sweep.seconds,
            sweep.policy,
        ],
    )
    insert_rows(session, "payout_points", [_row(sweep.number, point) for point in sweep.points])


def _row(sweep: int, point: SweepPoint) -> Sequence[object]:
    return (
        sweep,
        point.method.value,
        point.among.value,
        point.gain,
        point.payout,
        point.suppressed,
        point.attacked,
        None if point.transformation is None else list(point.transformation),
        point.payout_if_method_known,
    )


def find(session: Session, number: int) -> PayoutSweep | None:
    """The payout sweep of that number."""
    rows = session.rows(
        "SELECT number, job, created_at, source_catalog, source_schema, source_table, source_fingerprint, "
        "population_fingerprint, records, population_records, quasi_identifiers, publisher_benefit, adversary_cost, "
        "break_even, if_method_known, lattice_size, counted, sweep_seconds, seconds, policy "
        "FROM tableveil.payout_sweeps WHERE number = ?",
        [number],
    )
    return _sweep(session, *rows[0]) if rows else None


def _sweep(
    session: Session,
    number: int,
    job: int,
    created_at: datetime,
    catalog: str,
    schema: str,
    name: str,
    fingerprint: str,
    population_fingerprint: str,
    records: int,
    population_records: int | None,
    quasi_identifiers: list[str],
    publisher_benefit: Decimal,
    adversary_cost: Decimal,
    break_even: str,
    if_method_known: bool,
    lattice_size: str,
    counted: int,
    sweep_seconds: float,
    seconds: float,
    policy: str,
) -> PayoutSweep:
    points = session.rows(
        "SELECT gain, method, among, payout, suppressed_records, attacked_records, levels, payout_if_method_known "
        "FROM tableveil.payout_points WHERE payout_sweep = ? ORDER BY rowid",
        [number],
    )
    return PayoutSweep(
        number=number,
        job=job,
        created_at=created_at,
        source=TableReference(catalog, schema, name),
        source_fingerprint=fingerprint,
        population_fingerprint=population_fingerprint,
        records=records,
        population_records=population_records,
        quasi_identifiers=tuple(quasi_identifiers),
        publisher_benefit=_plain(publisher_benefit),
        adversary_cost=_plain(adversary_cost),
        break_even=BreakEven(break_even),
        if_method_known=if_method_known,
        lattice_size=lattice_size,
        counted=counted,
        sweep_seconds=sweep_seconds,
        seconds=seconds,
        policy=policy,
        points=tuple(_point(*row) for row in points),
    )


def _point(
    gain: Decimal,
    method: str,
    among: str,
    payout: float,
    suppressed: int,
    attacked: int,
    levels: list[int] | None,
    payout_if_method_known: float | None,
) -> SweepPoint:
    transformation = None if levels is None else tuple(levels)
    return SweepPoint(
        _plain(gain),
        Method(method),
        Among(among),
        payout,
        suppressed,
        attacked,
        transformation,
        payout_if_method_known,
    )


def _plain(amount: Decimal) -> Decimal:
    """Without the zeros that fill a column's places."""
    return amount.normalize()
