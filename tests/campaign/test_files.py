"""Random files end in verified releases, by the ways that refusals say: a few of those that `make campaign` takes."""

import pytest

from tests.campaign.files import take_files
from tests.once import once

SECONDS = 600.0
"""On a busy machine; alone, each takes some seconds."""


@pytest.mark.parametrize("seed", once(range(1000, 1009)))
def test_a_file_ends_in_a_release(seed: int) -> None:
    report = take_files(seed, SECONDS, files=1)
    assert report.broken == []
    assert report.files == 1
