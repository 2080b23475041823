"""Values that look wrong, in words."""

from __future__ import annotations

from tableveil import wording
from tableveil.v1 import proposal_service_pb2 as v1

_DOUBTS = {
    v1.DOUBT_KIND_SHORT_CODE: "codes shorter than the others: lost zeros?",
    v1.DOUBT_KIND_SPELLING: "spellings that differ by case or spaces",
    v1.DOUBT_KIND_SENTINEL: "a value that stands for none",
    v1.DOUBT_KIND_FAR_OUTSIDE: "far from nearly all others",
    v1.DOUBT_KIND_FUTURE: "later than today",
}


def doubt(values: v1.DoubtfulValues) -> str:
    """Says what is wrong with them; nothing about a kind of a newer version."""
    return _DOUBTS.get(values.kind, "")


def of_records(values: v1.DoubtfulValues, proposal: v1.Proposal) -> str:
    """The records that have one, and their share."""
    return f"{wording.count(values.records)} ({wording.share(values.records / max(proposal.records, 1))})"
