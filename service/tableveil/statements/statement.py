"""The statements, as they were parsed."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.statements.values import Places
from tableveil.v1 import policy_pb2


@dataclass(frozen=True, slots=True)
class CreateAnonymized:
    """Makes a release, or tells what it would be."""

    policy: policy_pb2.Policy
    places: Places
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ShowReleases:
    """Lists the newest releases: as many as the server likes if the limit is 0."""

    limit: int


Statement = CreateAnonymized | ShowReleases
