"""Nothing that is shown of results changes by accident: a change that is meant renews the digests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded.digests import FILE, digests, written
from tests.recorded.made import made
from tests.recorded.shown import shown


@pytest.mark.long
def test_what_is_shown_is_as_it_was(tmp_path: Path) -> None:
    with made(tmp_path) as house:
        found = written(digests(dict(shown(house)))).splitlines()
    known = set(FILE.read_text(encoding="utf-8").splitlines())
    changed = [line.partition(" ")[2] for line in found if line not in known]
    assert len(found) == len(known), "renew the digests: python -m tests.recorded"
    assert not changed, "look at both texts (python -m tests.recorded FOLDER), then renew: python -m tests.recorded"
