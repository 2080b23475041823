"""The options of a file that a chart is drawn into; a module of their own, so that `show` need not load the pages."""

from tableveil.cli.files import new_file

HTML, SVG = ".html", ".svg"

CHART = new_file(
    "chart",
    "Also draw a payout sweep: a file that ends in .html has the numbers, too, one in .svg just the chart.",
    HTML,
    SVG,
)
