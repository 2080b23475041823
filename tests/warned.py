"""Every warning has a count above 0 of people or rows, or the column or field that it is about."""

import re
from collections.abc import Iterable

from tableveil.errors import Warned

NOTHING = re.compile(
    r"(?<![\d.,/])0 (?:of (?:the )?[\d,]+ )?(?:more )?(people|persons|records|rows|values|NULLs|classes|combinations)\b"
)


def of_nothing(warnings: Iterable[str]) -> list[str]:
    """The warnings that count nothing."""
    return [text for text in warnings if NOTHING.search(text)]


COUNTED = re.compile(
    r"(?<![\d.,/])(?<!= )\d[\d,]* (?:of (?:the |all )?[\d,]+ )?(?:\w+ )?(?:people|rows|records|classes)\b"
)
"""A number of rows, people or classes; no bound such as `k = 3`."""

COLUMN = re.compile(r"'\w+'")


def unfilled(warnings: Iterable[Warned]) -> list[str]:
    """The warnings that tell people of a number, or of one column alone, and not programs."""
    return [
        text
        for text in warnings
        if (text.count_of is None and COUNTED.search(text)) or (not text.field and len({*COLUMN.findall(text)}) == 1)
    ]
