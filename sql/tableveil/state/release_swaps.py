"""Releases in a warehouse whose objects are verified, but do not all have their names yet."""

from dataclasses import dataclass

from tableveil.backend import Ledger
from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class Swap:
    """The intent to rename what is `staged` to the objects of a release, in place of the `replaced` ones."""

    warehouse: str
    staged: str
    replaced: tuple[str, ...]


SWAPS = Table("release_swaps", Swap, "release")


def open_swaps(ledger: Ledger, warehouse: str) -> list[int]:
    """The releases of a warehouse that are to be completed."""
    query = "SELECT release FROM tableveil.release_swaps WHERE warehouse = ? ORDER BY release"
    return [release for (release,) in ledger.rows(query, [warehouse])]
