"""Many small jobs of clients that wait, vanish, cancel and ask again leave nothing behind.

`make bench-operate` does the same with 500.
"""

import pytest

from benchmarks.operate.soak import soak

pytestmark = pytest.mark.long


def test_nothing_leaks() -> None:
    section = soak(jobs=25, clients=4)
    assert section.sound, section
