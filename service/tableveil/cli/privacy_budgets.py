"""The command `privacy-budgets`: how much differentially private releases may tell of people."""

import click
from rich.console import RenderableType

from tableveil import wording
from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import listing
from tableveil.cli.verb import ONCE, CommandSession, verb
from tableveil.v1 import access_service_pb2 as v1


@click.group(name="privacy-budgets")
def privacy_budgets() -> None:
    """Set how much differentially private releases may tell of the people in some tables."""


@privacy_budgets.command(name="set")
@click.argument("people")
@request_options(v1.PrivacyBudget, "asked", option("tables", "--table"), "epsilon", "delta")
@ONCE
@verb
def set_budget(session: CommandSession, people: str, asked: v1.PrivacyBudget) -> None:
    """Set the budget of PEOPLE, a name of yours, for admins of the server; what was spent stays spent."""
    budget = session.client.set_privacy_budget(people, asked.tables, epsilon=asked.epsilon, delta=asked.delta)
    session.output.answer({"budget": budget}, _listed([budget]))


@privacy_budgets.command(name="list")
@verb
def list_budgets(session: CommandSession) -> None:
    """List all budgets with what is spent of them."""
    budgets = session.client.list_privacy_budgets()
    session.output.answer(v1.ListPrivacyBudgetsResponse(budgets=budgets), _listed(budgets))


def _listed(budgets: list[v1.PrivacyBudget]) -> RenderableType:
    rows = [
        (
            wording.short(one.people),
            wording.short(", ".join(one.tables)),
            f"{one.spent_epsilon} of {one.epsilon}",
            f"{one.spent_delta} of {one.delta}",
            "outdated: set it again" if one.outdated else wording.moment(one.set_time),
        )
        for one in budgets
    ]
    return listing(("people", "tables", "epsilon spent", "delta spent", "since"), rows, "No budgets.")
