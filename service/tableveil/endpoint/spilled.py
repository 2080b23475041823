"""The directory into which an endpoint's queries spill; those of endpoints that were killed are swept."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "tableveil-endpoint-"


class SpillDirectory:
    """A private directory, locked as long as its endpoint lives. The processes of its queries do not hold the lock."""

    def __init__(self) -> None:
        """Makes it, and removes those that nobody locks any more."""
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove(left, _locked(left))
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            # Another endpoint that starts may sweep it before it is locked.
            with suppress(OSError):
                self._lock = _locked(self.path)
                if self.path.exists():
                    return
                os.close(self._lock)

    def close(self) -> None:
        """Removes it."""
        _remove(self.path, self._lock)


def _locked(directory: Path) -> int:
    """A descriptor with the directory's lock; `OSError` if another process has that, or it is no directory of ours."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(directory: Path, lock: int) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    os.close(lock)
