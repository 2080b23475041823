"""The written rows by their labels and their values of a sensitive column; a warehouse counts each column's once."""

from collections.abc import Sequence

from tableveil.backend import WarehouseSession
from tableveil.verification.text import near, quoted
from tableveil.verification.written import Written


class Spreads:
    """The counts of the rows, which the embedded session reads. With a `marker`, that column marks suppressed rows."""

    def __init__(
        self, session: WarehouseSession, quasi_identifiers: Sequence[str], marker: str, written: Written
    ) -> None:
        self._session, self._rows = session, quoted(*written.rows)
        self.labels = len(quasi_identifiers)
        keys = [f"{quoted(label)} AS q{i}" for i, label in enumerate(quasi_identifiers)]
        self._keys = ", ".join([*keys, f"{quoted(marker) if marker else 'FALSE'} AS pool"])
        self._known: dict[str, str] = {}

    def of(self, sensitive: str) -> str:
        """For a FROM clause: labels `q0`, `q1`, …, `pool` if they are suppressed, the value `found`, `records`."""
        if sensitive not in self._known:
            query = (
                f"SELECT {self._keys}, {quoted(sensitive)} AS found, count(*) AS records FROM {self._rows} GROUP BY ALL"
            )
            self._known[sensitive] = near(self._session, f"written_spread_{len(self._known)}", query)
        return self._known[sensitive]
