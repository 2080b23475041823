"""The command `results`: lists of what jobs found out."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from tableveil import wording
from tableveil.cli.output import as_dict
from tableveil.cli.tables import listing
from tableveil.cli.verb import LIMIT, CommandSession, verb
from tableveil.client.verbs.analyses import collection_of
from tableveil.v1.classification_service_pb2 import ClassificationReport
from tableveil.v1.dry_run_service_pb2 import DryRun
from tableveil.v1.frontier_service_pb2 import Frontier
from tableveil.v1.payout_service_pb2 import PayoutSweep
from tableveil.v1.proposal_service_pb2 import Proposal
from tableveil.v1.risk_service_pb2 import RiskAnalysis
from tableveil.v1.utility_service_pb2 import UtilityReport

KINDS: dict[str, Any] = {
    collection_of(kind): kind
    for kind in (Frontier, PayoutSweep, RiskAnalysis, ClassificationReport, UtilityReport, DryRun, Proposal)
}
"""The kinds of results by their collections. Releases have a command of their own."""


@click.command()
@click.argument("kind", type=click.Choice([*KINDS]))
@LIMIT
@verb
def results(session: CommandSession, kind: str, limit: int) -> None:
    """List what jobs of a kind found out, newest first.

    See each with `tableveil show`.
    """
    entries = list(islice(session.client.list_results(KINDS[kind]), limit))
    if session.output.as_json:
        session.output.json({"results": [as_dict(result) for result in entries]})
        return
    rows = [(result.name, result.job, _subject(result), wording.moment(result.create_time)) for result in entries]
    session.output.show(listing(("result", "job", "about", "created"), rows, f"No {kind} yet."))


def _subject(result: Any) -> str:
    """A release, or a table."""
    release = getattr(result, "release", "")
    if isinstance(release, str) and release:
        return release
    return wording.table_name((release or result).source)
