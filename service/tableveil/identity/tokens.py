"""Tokens: whose they are, from memory; the ledger keeps what must survive the process."""

import hmac
import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from tableveil.backend import Database, Ledger
from tableveil.errors import InvalidError, NotFoundError, TableveilError, shortened
from tableveil.identity.principal import AuthenticatedBy, Credentials, Principal, Unauthenticated, is_name
from tableveil.identity.secret import digest_of, is_well_formed, new_secret
from tableveil.state import tokens as store
from tableveil.state.audit_entries import note_offline
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.tokens import TOKENS, Token

logger = logging.getLogger("tableveil.identity")

LIFETIME = timedelta(days=90)
LONGEST_LIFETIME = timedelta(days=366)

SECONDS_BETWEEN_NOTES = 60.0
"""How often the ledger is told which tokens were used: a commit for each call would take longer than most calls."""


class Tokens:
    """The tokens of a database, which only this process has open. May be used from any thread.

    All of them are in memory by their digests, so that a wrong one costs a hash and a look-up, and leaves nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changing = threading.Lock()
        with database.ledger() as ledger:
            self._by_digest = {token.digest: token for token in store.all_tokens(ledger)}
        self._used: dict[int, datetime] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._note_uses_now_and_then, name="tableveil-tokens", daemon=True)
        self._thread.start()

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal whose token it is; see `Authenticator`."""
        secret = credentials.bearer
        if secret is None:
            raise Unauthenticated("no token")
        digest = digest_of(secret)
        token = self._by_digest.get(digest)
        if token is None or not hmac.compare_digest(token.digest, digest):
            raise Unauthenticated("unknown token" if is_well_formed(secret) else "malformed token")
        at = now()
        if refusal := token.refusal(at):
            raise Unauthenticated(refusal)
        self._used[token.number] = at
        return Principal(token.principal, frozenset(), AuthenticatedBy.TOKEN, frozenset(token.roles), digest)

    def standing(self, principal: Principal) -> Principal:
        """The principal as it stands now, after the call too: without the roles of a token that was revoked since."""
        token = self._by_digest.get(principal.token)
        return principal if token is None or token.revoked_at is None else replace(principal, roles=frozenset())

    def is_empty(self) -> bool:
        """Whether there never was a token."""
        return not self._by_digest

    def suspended(self) -> int:
        """How many tokens wait for an admin since a restore."""
        return sum(token.suspended and token.revoked_at is None for token in self._by_digest.values())

    def create(
        self,
        principal: str,
        label: str,
        roles: Collection[str],
        lifetime: timedelta | None,
        secret: str | None = None,
        *,
        without_call: str = "",
    ) -> tuple[Token, str]:
        """A new token of a principal, and its text, which nobody can tell later.

        Without a lifetime it never expires. A secret that is given has to be a new one. The audit is told of one
        that is made `without_call`, and by which command.

        Raises:
            InvalidError: the principal, the label or the lifetime cannot be so.
        """
        _check(principal, label, lifetime)
        secret = secret or new_secret()
        with self._changing:
            at = now()
            with self._changing_rights() as ledger:
                number = TOKENS.next_number(ledger)
                until = None if lifetime is None else at + lifetime
                token = Token(number, principal, label, digest_of(secret), tuple(sorted(roles)), at, until)
                TOKENS.insert(ledger, [token])
                if without_call:
                    held = ", ".join(sorted(role.lower() for role in roles)) or "no roles"
                    note_offline(ledger, at, f"{without_call}: a token of {principal} with {held}")
            self._by_digest[token.digest] = token
        return token, secret

    def page(self, before: int | None, size: int) -> list[Token]:
        """The next `size` tokens with numbers below `before`, newest first, with what is known of their use by now."""
        below = before if before is not None else 2**62
        tokens = sorted((token for token in self._all() if token.number < below), key=lambda token: -token.number)
        return tokens[:size]

    def get(self, number: int) -> Token:
        """The token of that number; `NotFoundError` if there is none."""
        for token in self._all():
            if token.number == number:
                return token
        raise NotFoundError.of("TOKEN_NOT_FOUND", "name", f"tokens/{number}", "an existing token")

    def revoke(self, number: int) -> Token:
        """Lets a token be refused from now on; again, it changes nothing."""
        with self._changing:
            token = self.get(number)
            if token.revoked_at is None:
                at = now()
                with self._changing_rights() as ledger:
                    store.revoke(ledger, number, at)
                token = replace(token, revoked_at=at)
                self._by_digest[token.digest] = token
        return token

    def confirm(self, number: int) -> Token:
        """Accepts a token that a restore suspended."""
        with self._changing:
            token = replace(self.get(number), suspended=False)
            with self._changing_rights() as ledger:
                store.confirm(ledger, number)
            self._by_digest[token.digest] = token
        return token

    def close(self) -> None:
        """Notes the last uses."""
        self._closing.set()
        self._thread.join()

    @contextmanager
    def _changing_rights(self) -> Iterator[Ledger]:
        with self._database.ledger() as ledger, changing_rights(self._database.path, ledger):
            yield ledger

    def _all(self) -> list[Token]:
        used = dict(self._used)
        # A list is made in one step, whatever other threads add meanwhile.
        tokens = list(self._by_digest.values())
        return [replace(token, last_used_at=used.get(token.number, token.last_used_at)) for token in tokens]

    def _note_uses_now_and_then(self) -> None:
        noted: dict[int, datetime] = {}
        while True:
            closing = self._closing.wait(SECONDS_BETWEEN_NOTES)
            used = dict(self._used)
            if fresh := {number: at for number, at in used.items() if noted.get(number) != at}:
                try:
                    with self._changing, self._database.ledger() as ledger:
                        store.note_uses(ledger, fresh)
                    noted = used
                except TableveilError as error:
                    logger.error("the last uses of tokens could not be noted: %s", error.code)
            if closing:
                return


def _check(principal: str, label: str, lifetime: timedelta | None) -> None:
    for field, text in (("principal", principal), ("label", label)):
        if not is_name(text):
            expected = "1 to 200 characters that show, none of them a space"
            raise InvalidError.of("TOKEN_INVALID", field, shortened(text), expected)
    if lifetime is not None and not timedelta(0) < lifetime <= LONGEST_LIFETIME:
        expected = f"more than 0, and at most {LONGEST_LIFETIME.days} days"
        raise InvalidError.of("TOKEN_INVALID", "lifetime", str(lifetime), expected)
