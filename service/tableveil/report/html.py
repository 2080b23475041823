"""A report as the text of an HTML file."""

from tableveil.pages import environment
from tableveil.report.model import Report


def as_html(report: Report) -> str:
    """The document: no script, nothing from elsewhere, and the same bytes for the same report."""
    return environment("tableveil.report").get_template("report.html").render(report=report)
