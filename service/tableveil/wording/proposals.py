"""Words of proposals: values that look wrong, the rest of each column, and how long releases last."""

from tableveil import wording
from tableveil.v1 import proposal_service_pb2 as v1

_DOUBTS = {
    v1.DOUBT_KIND_SHORT_CODE: "codes shorter than the others: lost zeros?",
    v1.DOUBT_KIND_SPELLING: "spellings that differ by case or spaces",
    v1.DOUBT_KIND_SENTINEL: "a value that stands for none",
    v1.DOUBT_KIND_FAR_OUTSIDE: "far from nearly all others",
    v1.DOUBT_KIND_FUTURE: "later than today",
    v1.DOUBT_KIND_NO_RECORD: "no record: totals of the others, a note or nothing?",
}

LASTING = "How long releases of the same people last"

WAY_COLUMNS = ("way", "releases", "months", "left of each column in the last one")


def doubt(values: v1.DoubtfulValues) -> str:
    """Says what is wrong with them; nothing about a kind of a newer version."""
    return _DOUBTS.get(values.kind, "")


def of_records(values: v1.DoubtfulValues, proposal: v1.Proposal) -> str:
    """The records that have one, and their share."""
    return f"{wording.count(values.records)} ({wording.share(values.records / max(proposal.records, 1))})"


def left(column: v1.ColumnLeft) -> str:
    """The labels of a column in a release, and the share of `*`."""
    if column.erased:
        return "erased"
    return f"{column.labels}, {wording.share(column.hidden)}" if column.hidden else str(column.labels)


def way_rows(proposal: v1.Proposal) -> list[tuple[str, ...]]:
    """How long each way lasts. One cell has all columns: ways have the same ones, and may have a dozen."""
    return [
        (
            one.way,
            _lasting(one, 1),
            _lasting(one, one.months_each),
            ", ".join(f"{column.column} {left(column)}" for column in one.columns) or "nothing",
        )
        for one in proposal.ways
    ]


def _lasting(way: v1.ForecastWay, each: int) -> str:
    few, many = way.fewest_releases * each, way.most_releases * each
    return f"{'' if way.refused else 'at least '}{few}{f' to {many}' if few < many and way.refused else ''}"


def longest(proposal: v1.Proposal) -> v1.ForecastWay | None:
    """The way with other levels that lasts longest; of equal ones the first, which keeps most."""
    ways = [way for way in proposal.ways if way.HasField("policy")]
    return max(ways, key=lambda way: way.fewest_releases * way.months_each, default=None)
