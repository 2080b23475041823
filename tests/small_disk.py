"""A file system of a few megabytes, which tests can fill; only root may mount one."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[Path]:
    """Mounts one; the test is skipped where that is not allowed."""
    place = directory / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only root may mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path, leave: int = 0) -> Path:
    """Takes all its room but some bytes, by a file, or what there still is: others may take some meanwhile."""
    filler = place / "filler"
    room = os.statvfs(place)
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        left = room.f_bavail * room.f_frsize - leave
        while left > 0:
            left -= file.write(b"x" * min(left, 2**20))
    return filler
