"""A report as the text of an HTML file."""

from markupsafe import Markup

from tableveil import wording
from tableveil.pages import environment, share_bars
from tableveil.report.model import Report, Shares


def as_html(report: Report) -> str:
    """The document: no script, nothing from elsewhere, and the same bytes for the same report."""
    return (
        environment("tableveil.report").get_template("report.html").render(report=report, drawn=_drawn, shares=_table)
    )


def _drawn(chart: Shares) -> Markup:
    return share_bars(chart.title, chart.labels, chart.series)


def _table(chart: Shares) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
    """The numbers beside a chart: columns, rows, and which columns hold numbers."""
    columns = (chart.of, *(name for name, _ in chart.series))
    rows = [(label, *(wording.share(values[i]) for _, values in chart.series)) for i, label in enumerate(chart.labels)]
    return columns, rows, range(1, len(columns))
