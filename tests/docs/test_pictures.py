"""The committed pictures are those that the code makes today; each is used, with a text for those who cannot see it."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.pictures.__main__ import PICTURES, pictures_of_ten_rows
from tests.pictures.diagrams import SOURCES, d2, diagrams
from tests.pictures.drawn import roles_picture

ROOT = Path(__file__).parents[2]
COMMITTED = sorted(PICTURES.glob("*.svg"))


def committed(name: str) -> str:
    return (PICTURES / f"{name}.svg").read_text(encoding="utf-8")


def uses() -> Iterator[tuple[Path, str]]:
    """Each picture that a page embeds, with its text."""
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for alternative, link in re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", page.read_text(encoding="utf-8")):
            yield (page.parent / link).resolve(), alternative


def test_every_picture_is_used_and_has_a_text() -> None:
    used = dict(uses())
    assert set(COMMITTED) == set(used)
    assert not [path.name for path, alternative in used.items() if len(alternative.split()) < 5]


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_picture_loads_nothing_and_suits_dark_pages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme" in text
    assert "<script" not in text
    assert not [link for link in re.findall(r"(?:href|src|url)\W+([^\"')]+)", text) if link.startswith("http")]


def test_the_roles_are_those_of_the_protos() -> None:
    assert committed("roles") == roles_picture()


@pytest.mark.skipif(d2() is None, reason="D2 is not installed")
def test_the_diagrams_are_current() -> None:
    made = diagrams()
    assert {source.stem for source in SOURCES.glob("*.d2")} == set(made)
    assert not [name for name, text in made.items() if committed(name) != text], "run `make pictures`"


@pytest.mark.long
def test_the_pictures_of_ten_rows_are_current() -> None:
    made = pictures_of_ten_rows()
    assert not [name for name, text in made.items() if committed(name) != text], "run `make pictures`"
