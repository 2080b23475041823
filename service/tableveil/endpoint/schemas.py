"""Remembers the schemas of statements: clients ask for a statement's schema before each of its runs."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from tableveil.endpoint.pipes import Message

_MOST_REMEMBERED = 1000
_LARGEST_REMEMBERED = 2**16


class Schemas:
    """The accounts of the statements that were asked for last. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Message] = OrderedDict()

    def get(self, key: object) -> Message | None:
        """The account under that key, which is known by its `repr`."""
        digest = _digest(key)
        with self._lock:
            if digest in self._known:
                self._known.move_to_end(digest)
            return self._known.get(digest)

    def keep(self, key: object, account: Message) -> None:
        """Remembers an account that is not large, in place of the one that was not asked for the longest."""
        if len(account["schema"] or "") > _LARGEST_REMEMBERED:
            return
        with self._lock:
            self._known[_digest(key)] = account
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)


def _digest(key: object) -> bytes:
    """Parameters may be large, and a thousand keys would hold them."""
    return hashlib.sha256(repr(key).encode()).digest()
