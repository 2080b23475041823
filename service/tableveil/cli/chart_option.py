"""The options of a file that a chart is drawn into; a module of their own, so that `show` need not load the pages."""

from __future__ import annotations

from pathlib import Path

import click

HTML, SVG = ".html", ".svg"


def _chart(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in (HTML, SVG):
        raise click.BadParameter(f"{str(value)!r} does not end in {HTML} or {SVG}")
    return value


CHART = click.option(
    "--chart",
    type=click.Path(path_type=Path),
    callback=_chart,
    metavar="FILE",
    help="Also draw a payout sweep: a file that ends in .html has the numbers, too, one in .svg just the chart.",
)
OVERWRITE_CHART = click.option("--overwrite", is_flag=True, help="Let --chart replace a file.")
