"""How much memory the database may take."""

from __future__ import annotations

from tableveil.backend import Session

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
"""The units in which DuckDB tells its settings."""


def memory_limit(session: Session) -> int:
    """The instance's `memory_limit` in bytes, as DuckDB rounds it: to a tenth of its unit."""
    amount, _, unit = str(session.value("SELECT current_setting('memory_limit')")).partition(" ")
    return int(float(amount) * UNITS[unit])
