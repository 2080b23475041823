"""A table of a page: texts in cells, the first of each row being its name."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageTable:
    """Rows below the names of their columns; the first `texts` columns hold no numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1

    @property
    def numbers(self) -> range:
        """The positions of the columns of numbers, which are aligned to the right."""
        return range(self.texts, len(self.columns))
