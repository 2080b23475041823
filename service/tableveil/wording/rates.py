"""The rates of values under labels that moved most, in words."""

from collections.abc import Iterator

from tableveil import wording
from tableveil.v1.utility_service_pb2 import UtilityReport

RATES = "Rates that moved most"
"""The heading of the table."""

ABOUT_RATES = (
    "A rate is the share of a label's records that have a value, of labels that at least 30 people have in the source "
    "and in the release. A reader of the release computes the second one."
)

RATE_COLUMNS = ("label", "value", "source", "release")


def moved_rates(report: UtilityReport) -> Iterator[tuple[str, str, str, str]]:
    """A row for each."""
    for one in report.rates:
        yield (
            _named(one.column, one.label if one.HasField("label") else None),
            _named(one.of, one.value if one.HasField("value") else None),
            f"{wording.share(one.having_before / one.records_before)} of {wording.count(one.records_before)}",
            f"{wording.share(one.having_after / one.records_after)} of {wording.count(one.records_after)}",
        )


def _named(column: str, text: str | None) -> str:
    shown = "NULL" if text is None else "(empty text)" if text == "" else wording.short(text)
    return f"{wording.short(column)}: {shown}"
