"""Warnings for the owner: texts, each with how much it matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Self


class Rank(StrEnum):
    """How much a warning matters, most first."""

    MUST_BE_DECIDED = "MUST_BE_DECIDED"
    """A person could be recognized, or a value be learned, although the policy looks fulfilled."""

    SHOULD_BE_LOOKED_AT = "SHOULD_BE_LOOKED_AT"
    NOTE = "NOTE"

    @property
    def words(self) -> str:
        """As people read it: `must be decided`."""
        return self.value.replace("_", " ").lower()


_ORDER = {rank: place for place, rank in enumerate(Rank)}


class Warned(str):
    """A warning in whole sentences, with its rank; as a text it is that of its sentences."""

    __slots__ = ("rank",)
    rank: Rank

    def __new__(cls, text: str, rank: Rank = Rank.SHOULD_BE_LOOKED_AT) -> Self:
        """The text, which should be looked at if no other rank is given."""
        warned = super().__new__(cls, text)
        warned.rank = rank
        return warned

    @property
    def stored(self) -> str:
        """The text with its rank before it, as the state keeps it: `must be decided: …`."""
        return f"{self.rank.words}: {self}"

    @classmethod
    def from_stored(cls, text: str) -> Self:
        """The warning; a text without a rank is of a version that knew none."""
        for rank in Rank:
            if text.startswith(f"{rank.words}: "):
                return cls(text[len(rank.words) + 2 :], rank)
        return cls(text)


def must_decide(text: str) -> Warned:
    """A warning that must be decided."""
    return Warned(text, Rank.MUST_BE_DECIDED)


def note(text: str) -> Warned:
    """A warning that is a note."""
    return Warned(text, Rank.NOTE)


def rank_of(text: str) -> Rank:
    """The rank of a warning; a plain text should be looked at."""
    return text.rank if isinstance(text, Warned) else Rank.SHOULD_BE_LOOKED_AT


def by_rank(texts: Iterable[str]) -> tuple[Warned, ...]:
    """The warnings, the most severe first, else in their order; each once, and none that another begins with."""
    once = dict.fromkeys(texts)
    whole = [text for text in once if not any(other != text and other.startswith(text) for other in once)]
    return tuple(Warned(text, rank_of(text)) for text in sorted(whole, key=lambda text: _ORDER[rank_of(text)]))


def with_ranks(texts: Sequence[str], ranks: Sequence[Rank | None]) -> tuple[Warned, ...]:
    """Texts and their ranks, which come apart from them; a rank that is unknown or missing is `SHOULD_BE_LOOKED_AT`."""
    known = zip_longest(texts, ranks[: len(texts)])
    return tuple(Warned(text, rank or Rank.SHOULD_BE_LOOKED_AT) for text, rank in known)
