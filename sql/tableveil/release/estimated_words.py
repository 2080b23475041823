"""The comments on estimated tables and their columns."""

from __future__ import annotations

from tableveil.hierarchy import ValueKind
from tableveil.policy import ReleaseTarget
from tableveil.release.estimates import EstimatedColumn

_SECONDS_PER_DAY = 86_400
_UNITS = {ValueKind.DATE: "days", ValueKind.TIMESTAMP: "days"}


def estimated_comments(place: ReleaseTarget, known_as: ReleaseTarget) -> dict[str, str]:
    """The comments on the estimated tables, by their names in that place."""
    words = (
        f"Estimates: each value is one that its label in {known_as.name} allows, drawn by assumption. "
        "Rows are not people: never look one up, never join on these values. "
        "Totals by label are exact, and assumed inside of labels."
    )
    other = f"{known_as.estimated_name} under another assumption: how far they differ says how far a result may be off."
    return {place.estimated_name: words, **dict.fromkeys(place.spread_names, other)}


def estimated_words(column: EstimatedColumn) -> str:
    """The comment on a column; none on one that is as in the release."""
    if not column.estimates:
        return "The label, as in the release." if column.labels else ""
    if not column.share:
        return "No row is estimated: every label stands for one value."
    share = f"{column.share:.0%}" if column.share >= 0.01 else "under 1%"
    within = ""
    if column.width is not None:
        width = column.width / _SECONDS_PER_DAY if column.kind is ValueKind.TIMESTAMP else column.width
        within = f", half of them within {width:,.4g}{f' {_UNITS[column.kind]}' if column.kind in _UNITS else ''}"
    return f"{share.replace('%', ' %')} of the rows are estimated{within}."
