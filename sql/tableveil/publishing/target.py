"""The interface of a target that releases are published to."""

from collections.abc import Callable, Iterable
from typing import Protocol

from tableveil.backend import Session
from tableveil.errors import Fault
from tableveil.publishing.edition import Edition, Item


class Target(Protocol):
    """A place that takes releases: each is there as a whole or not at all, also if the process ends in the middle.

    One thread uses it. A `BusyError` or an `InternalError` may pass with time, all other errors need somebody.
    """

    def faults(self, items: Iterable[Item]) -> list[Fault]:
        """Names and types for which it cannot take a release of these objects, whatever the rows."""

    def publish(self, session: Session, read: Callable[[], Edition], confirm: Callable[[], None]) -> None:
        """Writes a release in place of what it has of it, and of an earlier one of the same schema and name.

        `read` gives the release; the rows are those of the transaction in which it is called. `confirm` is called
        just before the release can be seen, and raises an error if that must not be any more.
        """

    def remove(self, number: int) -> None:
        """Removes a release, if it is there."""

    def sweep(self) -> None:
        """Removes what an earlier process left half-written."""
