"""Counts the words of the docs that people wrote: `python -m tests.docs.words` lists them by page.

A word is what stands between two spaces and has a letter or a digit, in prose, tables and code alike. A page that is
generated says so in its first lines, and does not count.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST_LINES = 6


def pages() -> list[Path]:
    """README, CHANGELOG and all pages of docs."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def generated(page: Path) -> bool:
    """Whether a program wrote the page."""
    first = " ".join(page.read_text(encoding="utf-8").splitlines()[:FIRST_LINES])
    return (
        re.search(r"(page|it) is (generated|written) (by|from)|`make [\w-]+` writes (it|this)", first, re.I) is not None
    )


def by_hand() -> Iterator[Path]:
    """The pages that people wrote; the changelog has a limit of lines instead."""
    return (page for page in pages() if page.name != "CHANGELOG.md" and not generated(page))


def words(page: Path) -> int:
    """How many words a page has."""
    return sum(any(map(str.isalnum, word)) for word in page.read_text(encoding="utf-8").split())


def main() -> None:
    """Prints the words of each page, and of all."""
    counted = sorted((words(page), page.relative_to(ROOT).as_posix()) for page in by_hand())
    for number, name in counted:
        print(f"{number:7,}  {name}")
    print(f"{sum(number for number, _ in counted):7,}  by hand")


if __name__ == "__main__":
    main()
