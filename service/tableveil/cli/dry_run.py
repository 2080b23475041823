"""A dry run as people read it: the account of the release that the policy would make."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.account import sections
from tableveil.cli.verb import Session
from tableveil.v1.dry_run_service_pb2 import DryRun


def show_result(session: Session, name: str) -> None:
    """Writes a dry run as JSON, or as an account for people."""
    found = session.client.get_result(DryRun, name)
    session.output.result("dry_run", found, _account)


def _account(found: DryRun) -> RenderableType:
    title = Text(found.name, style="bold green")
    title.append(f"  {wording.table_name(found.release.source)}, nothing was released", style="not bold default")
    refusals = [Text(wording.printable(text), style="yellow") for text in found.refusals]
    return Group(title, *refusals, *sections(found.release))
