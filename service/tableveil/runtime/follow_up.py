"""Work that is left to do after each release, by a thread of its own: no job waits for it, and a kill puts it off."""

import logging
import threading
from abc import ABC, abstractmethod

from tableveil.backend import Database
from tableveil.control import Control, Stopped
from tableveil.errors import TableveilError


class FollowUp(ABC):
    """A thread that looks for what is left to do: at its start, after each release, and after so many seconds."""

    def __init__(self, database: Database, name: str, seconds: float | None = None) -> None:
        self._database, self._name, self._seconds = database, name, seconds
        self._control = Control()
        self._look = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"tableveil-{name}")

    def start(self) -> None:
        """Begins with what an earlier process left undone; the state is up to date."""
        self._look.set()
        self._thread.start()

    def look(self) -> None:
        """There may be a new release."""
        self._look.set()

    def close(self, seconds: float) -> bool:
        """Stops, also in the middle of its work, and returns whether the thread ended."""
        self._control.cancel()
        self._look.set()
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    @abstractmethod
    def follow(self) -> None:
        """Does all that is left to do; sessions are given `self._control`."""

    def _work(self) -> None:
        while True:
            self._look.wait(self._seconds)
            if self._control.cancelled:
                return
            self._look.clear()
            try:
                self.follow()
            except Stopped:
                return
            except TableveilError as error:
                message = "%s after a release failed, and are tried again after the next one: %s"
                logging.getLogger(f"tableveil.{self._name}").warning(message, self._name, error.code)
