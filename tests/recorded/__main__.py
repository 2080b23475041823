"""Writes the digests of everything that is shown: `python -m tests.recorded`; with a folder, the texts go there.

Texts of two commits in two folders show by `diff -r` what a change changed.
"""

import sys
import tempfile
from pathlib import Path

from tests.authenticated import use_one_token
from tests.recorded.digests import FILE, digests, written
from tests.recorded.made import made
from tests.recorded.shown import shown


def main() -> None:
    """Writes digests, and texts if there is a place for them."""
    use_one_token()
    with tempfile.TemporaryDirectory() as place, made(Path(place)) as house:
        texts = dict(shown(house))
    for folder in map(Path, sys.argv[1:]):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name.replace("/", "~")).write_text(text, encoding="utf-8")
    if not sys.argv[1:]:
        FILE.write_text(written(digests(texts)), encoding="utf-8")


if __name__ == "__main__":
    main()
