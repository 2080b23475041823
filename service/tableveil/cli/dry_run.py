"""A dry run as people read it: the account of the release that the policy would make."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tableveil import wording
from tableveil.cli.account import sections
from tableveil.cli.follow import follow
from tableveil.cli.guarantees import guarantees
from tableveil.cli.tables import listing
from tableveil.cli.verb import CommandSession
from tableveil.cli.warnings import warnings
from tableveil.v1.dry_run_service_pb2 import DryRun, SubmitDryRunRequest
from tableveil.v1.policy_pb2 import Policy

RESULT = DryRun

_GAP, _NARROWEST, _WIDEST = 2, 6, 24
"""Characters between columns, and of a column."""


def show_result(session: CommandSession, name: str, privacy: bool = False, everything: bool = False) -> None:
    """Writes a dry run as JSON, or for people: as an account, or what it reaches of every privacy model."""
    made = session.client.get_result(RESULT, name)
    session.output.result("dry_run", made, _privacy if privacy else partial(account_of, everything=everything))


def advise(session: CommandSession, policy: Policy) -> None:
    """Tries a policy in a dry run, and writes that as JSON, or the warnings for people."""
    job = session.client.submit_analysis(SubmitDryRunRequest(policy=policy))
    made = session.client.get_result(RESULT, follow(session, job.name, session.output.err).result)
    release = made.release
    texts = [*warnings(release.warnings, release.warning_ranks, "", everything=True), *_alternatives(made)]
    session.output.result("dry_run", made, lambda _: Group(*texts) if texts else Text("There is nothing to advise."))


def _privacy(made: DryRun) -> RenderableType:
    return guarantees(made.release)


def account_of(made: DryRun, everything: bool) -> RenderableType:
    """The account of the release that would be made."""
    title = Text(made.name, style="bold green")
    title.append(f"  {wording.table_name(made.release.source)}, nothing was released", style="not bold default")
    refusals = [Text(wording.printable(text), style="yellow") for text in made.refusals]
    account = sections(made.release, made.name, everything=everything)
    rows = (Text(), _Rows(made)) if made.rows else ()
    return Group(title, *refusals, *account, *_alternatives(made), *rows)


def _alternatives(made: DryRun) -> Sequence[RenderableType]:
    """The table of other policies that were tried, if some were."""
    rows = []
    for other in made.release.alternatives:
        less = made.release.score - other.score
        rows.append(
            (
                str(other.k) if other.HasField("k") else "",
                other.suppression_limit,
                wording.count(other.suppressed_records),
                wording.score(other.score),
                wording.score(less) if less > 0 else "no less was found",
            )
        )
    columns = ("k", "limit", "suppressed", "score", "less than this one")
    table = Padding(listing(columns, rows, "", numbers=("k", "limit", "suppressed")), (0, 0, 0, 2), expand=False)
    return (Text(), Text("Also reached, with little work", style="bold"), table) if rows else ()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that would be released, one a line: values are cut, and columns that have no room are counted."""

    made: DryRun

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        names = list(self.made.columns)
        fitting = max(1, (options.max_width + _GAP) // (_NARROWEST + _GAP))
        more = len(names) - fitting
        shown = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for name in names[:fitting]:
            shown.add_column(wording.printable(name), no_wrap=True, overflow="ellipsis", max_width=_WIDEST)
        for row in self.made.rows:
            cells = [wording.printable(cell.text) if cell.HasField("text") else "NULL" for cell in row.values]
            shown.add_row(*map(Text, cells[:fitting]))
        yield Text(f"{len(self.made.rows)} of the rows", style="bold")
        yield shown
        if more > 0:
            yield Text(f"{more} more columns: --json shows them.")
