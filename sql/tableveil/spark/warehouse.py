"""A warehouse behind a Spark Connect server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tableveil.backend import Session
from tableveil.spark.local import LocalServer

if TYPE_CHECKING:
    from tableveil.spark.session import SparkSession


@dataclass(frozen=True, slots=True)
class SparkWarehouse:
    """Sessions of the server at `url`, which may hold a token; `most_collected` bytes at a time leave it for a job.

    With a `local` server, the url is of that, and the server ends with the warehouse.
    """

    name: str
    url: str = field(repr=False)
    most_collected: int
    local: LocalServer | None = None

    def session(self, embedded: Session) -> SparkSession:
        """A new session for the work of an embedded one; close it before that.

        Raises:
            BusyError: the server does not answer.
            InvalidError: it refuses the connection, or its version is too old.
        """
        # PySpark takes seconds to import.
        from tableveil.spark.session import SparkSession

        return SparkSession(self.name, self.url, embedded, self.most_collected)

    def close(self) -> None:
        """Ends the local server, if there is one."""
        if self.local is not None:
            self.local.close()
