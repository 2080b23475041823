"""Takes back the trials that have expired: nobody has to remember them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from tableveil.backend import Database
from tableveil.lifecycle import withdraw
from tableveil.runtime.follow_up import FollowUp
from tableveil.state import trials
from tableveil.state.jobs import now
from tableveil.state.releases import RELEASES

SECONDS_BETWEEN_LOOKS = 600.0


class Expiry(FollowUp):
    """Withdraws each expired trial, unless somebody uses it: then after the next look."""

    def __init__(self, database: Database, unused: Callable[[int], AbstractContextManager[None]]) -> None:
        """See `lifecycle.withdraw` for `unused`, which is given the number of a release."""
        super().__init__(database, "expiry", SECONDS_BETWEEN_LOOKS)
        self._unused = unused

    def follow(self) -> None:
        """The ones that have expired by now."""
        with self._database.ledger() as ledger:
            numbers = trials.expired(ledger, now())
            found = RELEASES.among(ledger, numbers) if numbers else []
        for trial in found:
            withdraw(self._database, trial, "It expired.", self._control, partial(self._unused, trial.number))
