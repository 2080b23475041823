"""The memory that counting may take."""

from tableveil.backend import Session

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
"""The units in which DuckDB shows its settings."""


def memory_limit(session: Session) -> int:
    """The session's share in bytes, or the instance's `memory_limit` as DuckDB rounds it: to a tenth of its unit."""
    if session.memory is not None:
        return session.memory
    amount, _, unit = str(session.value("SELECT current_setting('memory_limit')")).partition(" ")
    return int(float(amount) * UNITS[unit])
