"""Warnings for the owner: texts, each with how much it matters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
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
    """A warning in whole sentences, with its rank; as a text it is that of its sentences.

    Programs get the count of rows, people or classes that it tells of first, and the column or field that it is about.
    """

    __slots__ = ("count_of", "field", "rank")
    rank: Rank
    count_of: int | None
    field: str

    def __new__(
        cls, text: str, rank: Rank = Rank.SHOULD_BE_LOOKED_AT, count_of: int | None = None, field: str = ""
    ) -> Self:
        """The text, which should be looked at if no other rank is given; facts of a warning stay without others."""
        warned = super().__new__(cls, text)
        if isinstance(text, Warned):
            count_of, field = text.count_of if count_of is None else count_of, field or text.field
        warned.rank, warned.count_of, warned.field = rank, count_of, field
        return warned

    def followed_by(self, sentence: str) -> Warned:
        """The warning with a further sentence, if that is not empty."""
        return Warned(f"{self} {sentence}".strip(), self.rank, self.count_of, self.field)

    @property
    def stored(self) -> str:
        """The text with its facts before it, as the state keeps it: `must be decided [3, "age"]: …`."""
        facts = "" if self.count_of is None and not self.field else f" {json.dumps([self.count_of, self.field])}"
        return f"{self.rank.words}{facts}: {self}"

    @classmethod
    def from_stored(cls, text: str) -> Self:
        """The warning; a text without a rank is of a version that knew none."""
        for rank in Rank:
            if text.startswith(f"{rank.words}: "):
                return cls(text[len(rank.words) + 2 :], rank)
            if text.startswith(f"{rank.words} ["):
                with suppress(ValueError):
                    (count_of, field), end = json.JSONDecoder().raw_decode(text, len(rank.words) + 1)
                    return cls(text[end + 2 :], rank, count_of, field)
        return cls(text)


def must_decide(text: str, count_of: int | None = None, field: str = "") -> Warned:
    """A warning that must be decided."""
    return Warned(text, Rank.MUST_BE_DECIDED, count_of, field)


def note(text: str, count_of: int | None = None, field: str = "") -> Warned:
    """A warning that is a note."""
    return Warned(text, Rank.NOTE, count_of, field)


def rank_of(text: str) -> Rank:
    """The rank of a warning; a plain text should be looked at."""
    return text.rank if isinstance(text, Warned) else Rank.SHOULD_BE_LOOKED_AT


def undecided(texts: Iterable[str]) -> list[str]:
    """The warnings that must be decided."""
    return [str(text) for text in texts if rank_of(text) is Rank.MUST_BE_DECIDED]


def by_rank(warnings: Iterable[Warned]) -> tuple[Warned, ...]:
    """The warnings, the most severe first, else in their order; each once, and none that another begins with."""
    once = dict.fromkeys(warnings)
    whole = [text for text in once if not any(other != text and other.startswith(text) for other in once)]
    return tuple(sorted(whole, key=lambda text: _ORDER[text.rank]))


def sole(names: Iterable[str]) -> str:
    """The name of which a warning is, if it is the only one; else empty: the warning is of several alike."""
    first, *others = dict.fromkeys(names) or ("",)
    return "" if others else first


def with_ranks(texts: Sequence[str], ranks: Sequence[Rank | None]) -> tuple[Warned, ...]:
    """Texts and their ranks, which come apart from them; a rank that is unknown or missing is `SHOULD_BE_LOOKED_AT`."""
    known = zip_longest(texts, ranks[: len(texts)])
    return tuple(Warned(text, rank or Rank.SHOULD_BE_LOOKED_AT) for text, rank in known)
