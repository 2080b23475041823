"""The command `frontier`: what score each k and each suppression limit would allow."""

import re
from decimal import Decimal

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.follow import follow
from tableveil.cli.policy_file import PolicyFile, policy_argument
from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import facts, listing
from tableveil.cli.verb import CommandSession, verb
from tableveil.v1 import frontier_service_pb2 as v1
from tableveil.v1 import policy_pb2
from tableveil.wording.methods import method_words

RESULT = v1.Frontier

# Far more than a frontier may have, far below what would fill the memory.
_WIDEST_RANGE = 10_000

OWN = "*"
"""Marks the policy's own cell."""


def _ks(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int]:
    """`5`, `2..20`, and lists of them."""
    ks: list[int] = []
    for part in value.split(",") if value is not None else ():
        match = re.fullmatch(r"([0-9]{1,9})(?:\.\.([0-9]{1,9}))?", part.strip())
        if not match:
            raise click.BadParameter(f"{part!r} is neither a number, such as 5, nor a range, such as 2..20")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < first + _WIDEST_RANGE:
            raise click.BadParameter(f"{part!r} is no range up to a larger number not far from the first")
        ks += range(first, last + 1)
    return ks


def _limits(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """The texts between commas, which the server judges."""
    return [part.strip() for part in value.split(",")] if value is not None else []


@click.command()
@policy_argument
@request_options(
    v1.SubmitFrontierRequest,
    "asked",
    option("k", note="Such as 2..20 or 2,5,10.", multiple=False, type=str, callback=_ks, metavar="K"),
    option(
        "suppression_limits", "--limit", note="Such as 0,0.01,0.05.", multiple=False, callback=_limits, metavar="LIMITS"
    ),
)
@verb
def frontier(session: CommandSession, policy: PolicyFile, asked: v1.SubmitFrontierRequest) -> None:
    """Show the best score for every k with every suppression limit.

    Nothing is released, and the policy's target is ignored. The search is one job, which can be watched and cancelled.
    With --json, one JSON object per line: the job at each change, then the frontier.
    """
    asked.policy.CopyFrom(policy.sound())
    job = session.client.submit_analysis(asked, policy.directory)
    show_result(session, follow(session, job.name, session.output.err).result)


def show_result(session: CommandSession, name: str) -> None:
    """Writes a frontier as JSON, or as a table for people."""
    result = session.client.get_result(RESULT, name)
    session.output.result("frontier", result, _frontier)


def _frontier(frontier: v1.Frontier) -> RenderableType:
    """One row per k, one column per limit."""
    points = {(point.k, point.suppression_limit): point for point in frontier.points}
    ks, limits = dict.fromkeys(k for k, _ in points), dict.fromkeys(limit for _, limit in points)
    own = _own(frontier.policy)
    columns = [f"limit {limit}" for limit in limits]
    rows = [
        (str(k), *(f"{OWN if (k, Decimal(limit)) == own else ''}{_cell(points[k, limit])}" for limit in limits))
        for k in ks
    ]
    size = wording.large_count(frontier.lattice_size)
    then = method_words(frontier.policy).then
    about = [
        ("source", f"{wording.table_name(frontier.source)}, {wording.count(frontier.records)} records"),
        ("search", f"{wording.count(frontier.transformations_checked)} of {size} transformations checked{then}"),
    ]
    return Group(
        Text(frontier.name, style="bold"),
        facts(about),
        Text(""),
        listing(("k", *columns), rows, "", numbers=("k", *columns)),
        *(Text(line) for line in _legend(frontier, any((k, Decimal(limit)) == own for k, limit in points))),
    )


def _cell(point: v1.FrontierPoint) -> str:
    if not point.HasField("optimum"):
        if not point.optimal and not point.HasField("lower_bound"):
            return "none found"
        return "-" if point.optimal else f">= {wording.score(point.lower_bound)}"
    score = wording.score(point.optimum.score)
    if point.optimal:
        return score
    return f"{wording.score(point.lower_bound)} to {score}" if point.HasField("lower_bound") else f"<= {score}"


def _legend(frontier: v1.Frontier, has_own: bool) -> list[str]:
    """Explains the marks of the table's cells, if it has any."""
    lines = []
    if has_own:
        lines.append(f"{OWN} the policy's own k and limit")
    if any(point.optimal and not point.HasField("optimum") for point in frontier.points):
        lines.append("- no transformation meets the policy")
    if not all(point.optimal for point in frontier.points):
        why = method_words(frontier.policy).ranges
        lines.append(f"Ranges: {why}the best score is proven to be at least the first, at most the second.")
    return lines


def _own(policy: policy_pb2.Policy) -> tuple[int, Decimal]:
    ks = [model.k_anonymity.k for model in policy.privacy_models if model.HasField("k_anonymity")]
    return ks[0], Decimal(policy.suppression_limit or "0")
