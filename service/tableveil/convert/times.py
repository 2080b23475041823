"""Moments: the domain's are UTC without a zone, as DuckDB returns them."""

from __future__ import annotations

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(moment: datetime | None) -> Timestamp | None:
    """The message for a moment, or None, which leaves a field unset."""
    if moment is None:
        return None
    message = Timestamp()
    message.FromDatetime(moment)
    return message
