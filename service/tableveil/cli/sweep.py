"""The command `sweep`: what each way to make a release pays, for several gains of the adversary."""

import re
from collections.abc import Callable
from decimal import Decimal

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.chart_option import CHART, HTML, SVG
from tableveil.cli.files import NewFile
from tableveil.cli.follow import follow
from tableveil.cli.policy_file import PolicyFile, policy_argument
from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import below, facts
from tableveil.cli.verb import CommandSession, verb
from tableveil.report.html import as_html
from tableveil.report.payouts import amount, as_svg, by_gain, maximum, page
from tableveil.v1 import payout_service_pb2 as v1

RESULT = v1.PayoutSweep

# Far more than a sweep may have, far below what would fill the memory.
_MOST_STEPS = 10_000

_NUMBER = r"[0-9]{1,25}(?:\.[0-9]{1,25})?"


def _gains(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """`300`, `0..2000/100`, and lists of them; the server judges the numbers."""
    gains: list[str] = []
    for part in value.split(",") if value is not None else ():
        match = re.fullmatch(rf"({_NUMBER})(?:\.\.({_NUMBER})/({_NUMBER}))?", part.strip())
        if not match:
            raise click.BadParameter(f"{part!r} is neither a number, such as 300, nor a range, such as 0..2000/100")
        first, last, step = Decimal(match[1]), Decimal(match[2] or match[1]), Decimal(match[3] or 1)
        if not (first <= last and step > 0 and last - first < _MOST_STEPS * step):
            raise click.BadParameter(f"{part!r} is no range up to a larger number in at most {_MOST_STEPS:,} steps")
        gains += [f"{first + i * step:f}" for i in range(int((last - first) / step) + 1)]
    return gains


_FORMATS: dict[str, Callable[[v1.PayoutSweep], str]] = {HTML: lambda sweep: as_html(page(sweep)), SVG: as_svg}


@click.command()
@policy_argument
@request_options(
    v1.SubmitPayoutSweepRequest,
    "asked",
    option("gains", note="Such as 0..2000/100 or 0,300,1200.", multiple=False, callback=_gains, metavar="GAINS"),
    "if_method_known",
)
@CHART
@verb
def sweep(
    session: CommandSession, policy: PolicyFile, asked: v1.SubmitPayoutSweepRequest, chart: NewFile | None
) -> None:
    """Show what releases would pay, for several gains of the adversary.

    Each value stands for the gain of a successful attack and for the publisher's loss by it; benefit and cost are those
    of the policy's game. Nothing is released, and the policy's target is ignored. With --json, one JSON object per
    line: the job at each change, then the payout sweep.
    """
    if chart is not None:
        chart.require_free()
    asked.policy.CopyFrom(policy.sound())
    job = session.client.submit_analysis(asked, policy.directory)
    ended = follow(session, job.name, session.output.err)
    show_result(session, ended.result, chart)
    if not session.output.as_json:
        for warning in ended.warnings:
            session.output.tell(f"warning: {wording.printable(warning)}")


def show_result(session: CommandSession, name: str, chart: NewFile | None = None) -> None:
    """Writes a payout sweep as JSON, or as tables for people; and as a chart, if there is a path for one."""
    result = session.client.get_result(RESULT, name)
    if chart is not None:
        chart.write(_FORMATS[chart.path.suffix.lower()](result))
    session.output.result("payout_sweep", result, _payout_sweep)


def _payout_sweep(sweep: v1.PayoutSweep) -> RenderableType:
    """A table for each table that the adversary looks in: one row per gain, one column per method."""
    size = wording.large_count(sweep.lattice_size)
    counted = wording.count(sweep.transformations_counted)
    about = [("source", f"{wording.table_name(sweep.source)}, {wording.count(sweep.records)} records")]
    if sweep.HasField("population_records"):
        about.append(("population", f"{wording.count(sweep.population_records)} records"))
    about += [
        ("maximum", f"{amount(f'{maximum(sweep):f}')}, a benefit of {amount(sweep.publisher_benefit)} per record"),
        ("attack", f"costs {amount(sweep.adversary_cost)}"),
        ("sweep", f"{counted} of {size} transformations counted in {wording.duration(sweep.sweep_duration)}"),
    ]
    parts: list[RenderableType] = [Text(sweep.name, style="bold"), facts(about)]
    for grid in by_gain(sweep):
        parts += below(grid)
    return Group(*parts)
