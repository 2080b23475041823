"""The chart of a payout sweep, and the table below it: payouts as shares of the unchanged source's worth."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from tableveil import wording
from tableveil.pages import Line, lines
from tableveil.report.model import Figure, Grid, Report
from tableveil.v1 import payout_service_pb2
from tableveil.v1.payout_service_pb2 import (
    AMONG_POPULATION,
    AMONG_SOURCE,
    PAYOUT_METHOD_FULL_DOMAIN,
    PAYOUT_METHOD_FULL_DOMAIN_NO_ATTACK,
    PAYOUT_METHOD_RECORD_LEVEL,
    PAYOUT_METHOD_RECORD_LEVEL_NO_ATTACK,
    PAYOUT_METHOD_SAFE_HARBOR,
)

METHODS = {
    PAYOUT_METHOD_FULL_DOMAIN: "full-domain",
    PAYOUT_METHOD_FULL_DOMAIN_NO_ATTACK: "full-domain, no attack",
    PAYOUT_METHOD_RECORD_LEVEL: "record-level",
    PAYOUT_METHOD_RECORD_LEVEL_NO_ATTACK: "record-level, no attack",
    PAYOUT_METHOD_SAFE_HARBOR: "Safe Harbor",
}

_GROUPS = {
    PAYOUT_METHOD_FULL_DOMAIN: 0,
    PAYOUT_METHOD_FULL_DOMAIN_NO_ATTACK: 5,
    PAYOUT_METHOD_RECORD_LEVEL: 1,
    PAYOUT_METHOD_RECORD_LEVEL_NO_ATTACK: 2,
    PAYOUT_METHOD_SAFE_HARBOR: 3,
}
"""The colour of each one's curve."""

_LOWEST = -50.0
"""In percent.

Safe Harbor can lose any multiple of the maximum: the payouts of the others must stay readable beside it.
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """The payouts of one kind of release, by gain; `known` if the adversary knows the method."""

    method: payout_service_pb2.PayoutMethod.ValueType
    among: payout_service_pb2.Among.ValueType
    known: bool
    points: tuple[payout_service_pb2.PayoutPoint, ...]

    @property
    def label(self) -> str:
        """The method, known or not."""
        return f"{METHODS.get(self.method, 'unknown')}{', known' if self.known else ''}"

    def payouts(self) -> list[float]:
        """The payout of each point."""
        return [point.payout_if_method_known if self.known else point.payout for point in self.points]


def curves(sweep: payout_service_pb2.PayoutSweep) -> list[Curve]:
    """The sweep's points grouped by everything but the gain, in the sweep's order."""
    read_points: dict[tuple[int, int], list[payout_service_pb2.PayoutPoint]] = {}
    for point in sweep.points:
        read_points.setdefault((point.method, point.among), []).append(point)
    made = []
    for points in read_points.values():
        method, among = points[0].method, points[0].among
        made.append(Curve(method, among, False, tuple(points)))
        if all(point.HasField("payout_if_method_known") for point in points):
            made.append(Curve(method, among, True, tuple(points)))
    return made


def maximum(sweep: payout_service_pb2.PayoutSweep) -> Decimal:
    """The payout of all records if they were released unchanged and nobody attacked."""
    return Decimal(sweep.publisher_benefit) * sweep.records


def percent(payout: float, sweep: payout_service_pb2.PayoutSweep) -> float:
    """A payout in percent of the maximum."""
    return 100.0 * payout / float(maximum(sweep))


def as_svg(sweep: payout_service_pb2.PayoutSweep) -> str:
    """The text of an SVG file, which a viewer shows on white."""
    # A viewer has no text around the drawing to take the colour from.
    drawn = str(_chart(sweep)).replace("<svg ", '<svg style="background:#ffffff;color:#1f2328" ', 1)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'


def page(sweep: payout_service_pb2.PayoutSweep) -> Report:
    """The page of a sweep, which has all numbers too."""
    of = wording.short(", ".join(sweep.quasi_identifiers))
    columns = ("release", "among", "gain", "payout", "% of maximum", "suppressed", "attacked", f"levels of {of}")
    rows = tuple(_row(curve, i, sweep) for curve in curves(sweep) for i in range(len(curve.points)))
    return Report(
        title=_title(sweep),
        edition=f"{sweep.records:,} records; benefit {amount(sweep.publisher_benefit)} each; an attack costs "
        f"{amount(sweep.adversary_cost)}.",
        opening=(
            Figure(partial(_chart, sweep), note=f"Payouts below {_LOWEST:g} % of the maximum are not drawn."),
            Grid("All payouts", columns, rows, frozenset(range(2, 7))),
        ),
    )


def by_gain(sweep: payout_service_pb2.PayoutSweep) -> Iterator[Grid]:
    """A table for each table that the adversary looks in: one row per gain, one column per method."""
    for among, where in ((AMONG_POPULATION, "population"), (AMONG_SOURCE, "source")):
        if shown := [curve for curve in curves(sweep) if curve.among == among]:
            columns = ("gain", *(curve.label for curve in shown))
            payouts = [[f"{percent(payout, sweep):.2f}" for payout in curve.payouts()] for curve in shown]
            rows = tuple(zip((amount(point.gain) for point in shown[0].points), *payouts, strict=True))
            title = f"Payout in % of the maximum, if the adversary looks among the {where}"
            yield Grid(title, columns, rows, frozenset(range(len(columns))))


def _title(sweep: payout_service_pb2.PayoutSweep) -> str:
    return f"Payouts of releases of {wording.table_name(sweep.source)}"


def _chart(sweep: payout_service_pb2.PayoutSweep) -> str:
    drawn = [_line(curve, sweep) for curve in curves(sweep)]
    lowest = min((y for line in drawn for _, y in line.points), default=0.0)
    span = (max(lowest, _LOWEST), 100.0)
    return lines(_title(sweep), "gain of an attack = loss by it", "payout, % of the maximum", drawn, y_span=span)


def _line(curve: Curve, sweep: payout_service_pb2.PayoutSweep) -> Line:
    among = "population" if curve.among == AMONG_POPULATION else "source"
    gains = [float(point.gain) for point in curve.points]
    payouts = [percent(payout, sweep) for payout in curve.payouts()]
    variant = 2 * curve.known + (curve.among != AMONG_POPULATION)
    return Line(
        f"{curve.label}; {among}", list(zip(gains, payouts, strict=True)), _GROUPS.get(curve.method, 3), variant
    )


def _row(curve: Curve, i: int, sweep: payout_service_pb2.PayoutSweep) -> tuple[str, ...]:
    point, payout = curve.points[i], curve.payouts()[i]
    return (
        curve.label,
        "population" if curve.among == AMONG_POPULATION else "source",
        amount(point.gain),
        f"{payout:,.2f}",
        f"{percent(payout, sweep):.2f}",
        wording.count(point.suppressed_records),
        # The attacks of an adversary who knows the method are not shown.
        "" if curve.known else wording.count(point.attacked_records),
        " ".join(map(str, point.levels)),
    )


def amount(text: str) -> str:
    """An exact decimal with separated thousands."""
    return f"{Decimal(text):,f}"
