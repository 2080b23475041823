"""The store of tokens: whose they are and until when they are valid. The tokens themselves are not kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger
from tableveil.state.mapper import NumberedTable


@dataclass(frozen=True, slots=True)
class Token:
    """A principal's token, by the SHA-256 of its text. Times are UTC without a zone; one without end never expires.

    A `suspended` token is one that came with a restored backup; it may have been revoked since.
    """

    number: int
    principal: str
    label: str
    digest: str
    roles: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    suspended: bool = False

    def refusal(self, now: datetime) -> str:
        """Why it is not accepted; empty if it is."""
        if self.revoked_at is not None:
            return "revoked token"
        if self.suspended:
            return "suspended token"
        return "expired token" if self.expires_at is not None and self.expires_at <= now else ""


TOKENS = NumberedTable("tokens", Token, "token_numbers")


def all_tokens(ledger: Ledger) -> list[Token]:
    """Every token that was ever created."""
    return TOKENS.where(ledger, "true", [])


def revoke(ledger: Ledger, number: int, at: datetime) -> None:
    """Notes when a token was revoked."""
    ledger.execute("UPDATE tableveil.tokens SET revoked_at = ? WHERE number = ?", [at, number])


def confirm(ledger: Ledger, number: int) -> None:
    """Ends the suspension of a token."""
    ledger.execute("UPDATE tableveil.tokens SET suspended = false WHERE number = ?", [number])


def note_uses(ledger: Ledger, uses: Mapping[int, datetime]) -> None:
    """Notes when tokens were last used, in one statement."""
    values = ", ".join(["(?, ?::TIMESTAMP)"] * len(uses))
    ledger.execute(
        f"UPDATE tableveil.tokens SET last_used_at = used_at FROM (VALUES {values}) AS uses(token, used_at) "
        "WHERE number = token",
        [value for use in uses.items() for value in use],
    )
