"""Every warning has a count above 0 of people or rows, or the column or field that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable

NOTHING = re.compile(
    r"(?<![\d.,/])0 (?:of (?:the )?[\d,]+ )?(?:more )?(people|persons|records|rows|values|NULLs|classes|combinations)\b"
)


def of_nothing(warnings: Iterable[str]) -> list[str]:
    """The warnings that count nothing."""
    return [text for text in warnings if NOTHING.search(text)]
