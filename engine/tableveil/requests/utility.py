"""The request of a utility report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UtilityRequest:
    """Asks how much the release of that number still says about its source."""

    release: int
    request_id: str = ""
