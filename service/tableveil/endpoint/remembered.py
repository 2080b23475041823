"""Remembers what was asked for last, such as the schemas of statements: clients ask for one before each run of it."""

import hashlib
import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """The values of so many keys, those that were asked for last. Keys may be large. Used from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Value] = OrderedDict()

    def get(self, key: object) -> Value | None:
        """The value under that key, which is known by its `repr`."""
        digest = hashlib.sha256(repr(key).encode()).digest()
        with self._lock:
            if digest in self._known:
                self._known.move_to_end(digest)
            return self._known.get(digest)

    def keep(self, key: object, value: Value) -> None:
        """Remembers a value, in place of the one that was not asked for the longest."""
        with self._lock:
            self._known[hashlib.sha256(repr(key).encode()).digest()] = value
            if len(self._known) > self._most:
                self._known.popitem(last=False)
