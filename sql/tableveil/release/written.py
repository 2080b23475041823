"""What a verification is told of a release: where everything is, and what the policy's parts are called there."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.release.verify_text import Name, quoted
from tableveil.release.write import ClassColumns


@dataclass(frozen=True, slots=True)
class Labels:
    """The table that lists the possible labels of a column: `columns` from level 0, the values, to the top.

    The column is released at `level`; at the record level that is the highest of the `levels` that there are, and it
    has the `position` among the policy's quasi-identifiers. `withholds` if the policy suppresses its NULLs; `hierarchy`
    is what the evidence calls the labels' hierarchy.
    """

    column: str
    table: str
    columns: tuple[str, ...]
    level: int = 0
    withholds: bool = False
    hierarchy: str = ""
    levels: tuple[int, ...] = ()
    position: int = 0

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.columns) - 1


@dataclass(frozen=True, slots=True)
class Written:
    """What to check.

    `release` is the number under which evidence is kept; `source` is the table and `subset` its column that is true for
    the records, if not all are. `kept` is the number of records that the search kept; `types` is what the columns of
    the rows should be, in order; `source_types` are those of the source's columns. `labels` are the quasi-identifiers',
    `sensitive` those of the sensitive columns that models look at. `score` is what the search says that the release
    scores, if it is to be recomputed.
    """

    release: int
    source: Name
    subset: str
    rows: Name
    classes: Name
    risk: Name
    risk_histogram: Name
    kept: int
    types: tuple[tuple[str, str], ...]
    source_types: tuple[tuple[str, str], ...]
    labels: tuple[Labels, ...]
    sensitive: tuple[Labels, ...]
    class_columns: ClassColumns
    score: float | None = None

    @property
    def source_rows(self) -> str:
        """The source's records in a FROM clause."""
        where = f" WHERE {quoted(self.subset)}" if self.subset else ""
        return f"(SELECT * FROM {quoted(*self.source)}{where})"

    def type_of(self, column: str) -> str:
        """The type of a column of the rows."""
        return dict(self.types)[column]

    def label(self, labels: Labels, level: int, of: str) -> str:
        """A label in the type that it is released in; `of` is the alias of the table of labels."""
        label = f"{of}.{quoted(labels.columns[level])}"
        return f"CAST({label} AS {self.type_of(labels.column)})" if level == 0 and level == labels.level else label
