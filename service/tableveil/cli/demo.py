"""The command `demo`: a thin hook, so that no part of the demo is loaded before it runs."""

from importlib import import_module

import click


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def demo(arguments: tuple[str, ...]) -> None:
    """Try it all on a generated hospital table."""
    import_module("tableveil.demo.command").demo.main(list(arguments), prog_name="tableveil demo")
