"""The command `health`: for probes of containers that speak no gRPC."""

import click

from tableveil.cli.verb import CommandSession, verb


@click.command()
@click.option("--ready", is_flag=True, help="Whether it takes calls, not only whether it lives: not while stopping.")
@verb
def health(session: CommandSession, ready: bool) -> None:
    """Ask a server whether it lives; end with 0 if so, else with 5."""
    session.client.check_health(ready)
    session.output.answer({"ready" if ready else "alive": True}, "ready" if ready else "alive")
