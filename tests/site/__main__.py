"""Builds the site of the docs, and says what is wrong with it: `python -m tests.site FOLDER`, or `make site`."""

import shutil
import sys
from pathlib import Path

from tests.site.build import build
from tests.site.checked import faults


def main(target: Path) -> int:
    """Prints a line for each fault; 1 if there are any."""
    shutil.rmtree(target, ignore_errors=True)
    build(target)
    found = list(faults(target))
    print(*found, sep="\n", end="\n" if found else "")
    pages = sum(1 for _ in target.rglob("*.html"))
    print(f"{target}: {pages} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
