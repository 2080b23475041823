"""The docs stay short enough to be read to the end, by the words that `python -m tests.docs.words` counts."""

from pathlib import Path

import pytest

from tests.docs.words import ROOT, by_hand, generated, words
from tests.project.plain_english import MANY_WORDS, faults, long_sentences

MOST_WORDS = 49_200
MOST_WORDS_OF_A_PAGE = 3_500
MOST_WORDS_OF = {"docs/explanations/threats.md": 2_500, "docs/guides/": 3_000}
MOST_LINES = {"README.md": 110, "CHANGELOG.md": 75}
MOST_LONG_SENTENCES = 0.02

PAGES = [*by_hand()]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_is_short(page: Path) -> None:
    limits = (limit for place, limit in MOST_WORDS_OF.items() if named(page).startswith(place))
    assert words(page) <= min(limits, default=MOST_WORDS_OF_A_PAGE)


def test_all_pages_are_short() -> None:
    assert sum(map(words, PAGES)) <= MOST_WORDS


@pytest.mark.parametrize("page", MOST_LINES)
def test_a_page_has_few_lines(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= MOST_LINES[page]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_is_in_plain_english(page: Path) -> None:
    assert list(faults(page)) == []


def test_few_sentences_are_long() -> None:
    pages = [long_sentences(page.read_text(encoding="utf-8"), MANY_WORDS) for page in PAGES]
    long, every = sum(len(sentences) for sentences, _ in pages), sum(number for _, number in pages)
    assert long <= MOST_LONG_SENTENCES * every, f"{long} of {every} sentences have more than {MANY_WORDS} words"


def test_a_generated_page_says_so_and_does_not_count() -> None:
    assert generated(ROOT / "docs" / "reference" / "policy_fields.md")
    assert not generated(ROOT / "README.md")
