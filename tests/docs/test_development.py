"""Holds docs/guides/developer.md against the tree: its files exist, and no other file has the example of a change."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "developer.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
PATH = re.compile(r"`((?:engine|sql|service|proto|tests)/[\w./]+)`")
CODE, TESTS, DOCS = ("engine", "sql", "service", "proto"), ("tests", "benchmarks"), ("docs",)


@dataclass(frozen=True)
class Change:
    """A kind of change, by an example that is there.

    Attributes:
        most: The files of code and hand-written protos that have the example today: there may not be more.
        goal: The number of them that is wanted.
        example: A pattern for all names of the example, in code, protos, tests and docs.
        own: A pattern for the files and folders that belong to the example alone, which do not count.
    """

    most: int
    goal: int
    example: str
    own: str = r"(?!)"


CHANGES = {
    "Add a privacy model": Change(8, 7, r"(?i)beta_?likeness"),
    "Add a hierarchy rule": Change(5, 5, r"(?i)times_?of_?day"),
    "Add a quality model": Change(5, 5, r"(?i)discernibility"),
    "Add a method": Change(4, 3, r"(?i)differential_?privacy", own=r"/differential_privacy|/drawing/"),
    "Add a kind of job": Change(10, 9, r"(?i)payout_?sweep"),
    "Add a figure": Change(4, 4, r"\bdistinct_before\b"),
    "Add a service": Change(5, 4, r"(?i)audit_?(service|verbs)"),
    "Add a remote procedure call": Change(6, 6, r"(?i)list_?targets|\"targets\": "),
    "Add a search strategy": Change(4, 4, r"ANYTIME\b|\bdef anytime\b"),
}


def files_with(example: str, roots: tuple[str, ...] = CODE, tree: Path = ROOT) -> set[str]:
    """The files under these roots in whose names or texts the pattern occurs, without generated stubs."""
    return {path for path, text in texts(roots, tree).items() if re.search(example, text)}


@functools.cache
def texts(roots: tuple[str, ...], tree: Path) -> dict[str, str]:
    """By path, the names and texts of the files under these roots, without generated stubs."""
    paths = [path for root in roots for path in (tree / root).rglob("*")]
    return {
        path.relative_to(tree).as_posix(): path.name + path.read_text(encoding="utf-8")
        for path in paths
        if path.suffix in (".py", ".proto", ".md") and "_pb2" not in path.name
    }


def touched(change: Change, tree: Path = ROOT) -> set[str]:
    """The files of code and protos that a change touches beside those of its own."""
    return {path for path in files_with(change.example, tree=tree) if not re.search(change.own, path)}


def unlisted(title: str, tree: Path = ROOT) -> set[str]:
    """The files that a change touches and the page does not name."""
    return touched(CHANGES[title], tree) - set(PATH.findall(SECTIONS[title]))


def test_every_path_exists() -> None:
    named = PATH.findall(PAGE)
    assert len(named) >= 20
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("title", CHANGES)
def test_a_change_takes_few_files_and_no_others(title: str) -> None:
    listed = re.findall(r"^\| `([\w./]+)` \|", SECTIONS[title], re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) <= files_with(CHANGES[title].example), "the example occurs in every file that is listed"
    assert not unlisted(title)
    assert len(touched(CHANGES[title])) <= CHANGES[title].most


@pytest.mark.parametrize("title", CHANGES)
def test_an_example_has_tests_and_is_documented(title: str) -> None:
    change = CHANGES[title]
    assert files_with(change.example, TESTS)
    # A figure has its meaning in the proto.
    assert title == "Add a figure" or files_with(change.example, DOCS)


@pytest.mark.parametrize("title", CHANGES)
def test_an_added_file_is_noticed(title: str, tmp_path: Path) -> None:
    """The names of classes, modules and messages of the example are seen wherever they are used next."""
    path = sorted(touched(CHANGES[title]))[0]
    name = re.search(CHANGES[title].example, (ROOT / path).read_text(encoding="utf-8"))
    assert name is not None
    added = tmp_path / "sql" / "tableveil" / "utility" / "added.py"
    added.parent.mkdir(parents=True)
    added.write_text(f"made = {name[0]}()\n", encoding="utf-8")
    assert unlisted(title, tmp_path) == {"sql/tableveil/utility/added.py"}
