"""Holds docs/guides/developer.md against the tree: its files exist, and no other file has the example of a change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "developer.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
PATH = re.compile(r"`((?:engine|sql|service|proto|tests)/[\w./]+)`")

CHANGES = {
    "Add a privacy model": (6, r"BetaLikeness(?!Rule)|\bbeta_likeness\b"),
    "Add a hierarchy rule": (4, r"\bTimesOfDay\b"),
    "Add a quality model": (5, r"\bDiscernibilityModel\b|\bDiscernibility\b"),
    "Add a kind of job": (8, r"(?i)utility_report|utilityReports"),
    "Add a remote procedure call": (6, r"\bWithdrawRelease(?:Request|Response)?\b|\bwithdraw_release\b|\"withdraw\": "),
    "Add a search strategy": (4, r"\bANYTIME\b|_ANYTIME\b|\bdef anytime\b"),
}
"""By title: the most files that the change may take beside tests and docs, and a pattern for its example."""


def files_with(pattern: str) -> set[str]:
    """The sources in which the pattern occurs, without generated stubs."""
    paths = [path for root in ("engine", "sql", "service", "proto") for path in (ROOT / root).rglob("*.p*")]
    return {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.suffix in (".py", ".proto") and "_pb2" not in path.name
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }


def test_every_path_exists() -> None:
    named = PATH.findall(PAGE)
    assert len(named) >= 20
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("title", CHANGES)
def test_a_change_takes_few_files_and_no_others(title: str) -> None:
    most, example = CHANGES[title]
    section = SECTIONS[title]
    listed = re.findall(r"^\| `([\w./]+)` \|", section, re.MULTILINE)
    found = files_with(example)
    assert len(listed) == len(set(listed)) <= most
    assert set(listed) <= found, "the example occurs in every file that is listed"
    assert not found - set(PATH.findall(section))
