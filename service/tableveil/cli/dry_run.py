"""A dry run as people read it: the account of the release that the policy would make."""

from __future__ import annotations

from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.account import sections
from tableveil.cli.follow import follow
from tableveil.cli.guarantees import guarantees
from tableveil.cli.verb import CommandSession
from tableveil.cli.warnings import warnings
from tableveil.v1.dry_run_service_pb2 import DryRun, SubmitDryRunRequest
from tableveil.v1.policy_pb2 import Policy


def show_result(session: CommandSession, name: str, privacy: bool = False, everything: bool = False) -> None:
    """Writes a dry run as JSON, or for people: as an account, or what it reaches of every privacy model."""
    made = session.client.get_result(DryRun, name)
    session.output.result("dry_run", made, _privacy if privacy else partial(_account, everything=everything))


def advise(session: CommandSession, policy: Policy) -> None:
    """Tries a policy in a dry run, and writes that as JSON, or the warnings for people."""
    job = session.client.submit_analysis(SubmitDryRunRequest(policy=policy))
    made = session.client.get_result(DryRun, follow(session, job.name, session.output.err).result)
    release = made.release
    texts = warnings(release.warnings, release.warning_ranks, "", everything=True)
    session.output.result("dry_run", made, lambda _: Group(*texts) if texts else Text("There is nothing to advise."))


def _privacy(made: DryRun) -> RenderableType:
    return guarantees(made.release)


def _account(made: DryRun, everything: bool) -> RenderableType:
    title = Text(made.name, style="bold green")
    title.append(f"  {wording.table_name(made.release.source)}, nothing was released", style="not bold default")
    refusals = [Text(wording.printable(text), style="yellow") for text in made.refusals]
    return Group(title, *refusals, *sections(made.release, made.name, everything=everything))
