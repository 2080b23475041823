"""Remembers the schemas of statements: clients ask for a statement's schema before each of its runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from tableveil.endpoint.pipes import Message

_MOST_REMEMBERED = 1000


class Schemas:
    """The accounts of the statements that were asked for last. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Message] = OrderedDict()

    def get(self, key: Hashable) -> Message | None:
        """The account under that key."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def keep(self, key: Hashable, account: Message) -> None:
        """Remembers an account, in place of the one that was not asked for the longest."""
        with self._lock:
            self._known[key] = account
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
