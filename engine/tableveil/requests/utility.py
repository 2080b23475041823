"""Which utility report is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UtilityRequest:
    """What the release of that number still tells of its source."""

    release: int
    request_id: str = ""
