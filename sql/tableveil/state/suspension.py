"""Suspension: a restored database must not revive what was revoked since, so an admin has to confirm what it brings."""

from tableveil.backend import Ledger


def suspend(ledger: Ledger, database: str = "") -> None:
    """Marks tokens, grants, releases and privacy budgets.

    `database` is the name of an attached one, by default the ledger's own.
    """
    place = f"{database}.tableveil" if database else "tableveil"
    ledger.execute(f"UPDATE {place}.tokens SET suspended = true")
    ledger.execute(f"UPDATE {place}.grants SET suspended = true")
    ledger.execute(f"UPDATE {place}.privacy_budgets SET suspended = true")
    ledger.execute(f"INSERT OR IGNORE INTO {place}.suspended_releases SELECT number FROM {place}.releases")
