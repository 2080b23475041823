"""Reads the tables and hierarchies of reference cases: FOLDER/<dataset>/data.csv and …/hierarchies/<attribute>.csv."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from benchmarks.problems import UnusableError
from tableveil.policy import OrderBy

DELIMITER = ";"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder with a table and its hierarchies: UTF-8 with or without byte order mark, any line ends, usual quotes."""

    folder: Path
    columns: tuple[str, ...]

    @classmethod
    def open(cls, data: Path, name: str) -> Dataset:
        """The dataset of that name; `UnusableError` if there is none."""
        folder = data / name
        file = folder / "data.csv"
        if not file.is_file():
            there = sorted(path.parent.name for path in data.glob("*/data.csv"))
            raise UnusableError(f"dataset '{name}': no {file}; {data} has {', '.join(there) or 'none'}")
        header = next(_rows(file), [])
        repeated = [column for column, count in Counter(map(str.casefold, header)).items() if count > 1]
        if repeated or not header:
            found = f"column '{repeated[0]}' more than once" if repeated else "no header"
            raise UnusableError(f"dataset '{name}': {file} has {found}")
        return cls(folder, tuple(header))

    def table(self) -> pa.Table:
        """All columns as the texts in the file, as hierarchies list them; an empty field is an empty text."""
        file = self.folder / "data.csv"
        try:
            return arrow_csv.read_csv(
                file,
                parse_options=arrow_csv.ParseOptions(delimiter=DELIMITER, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(self.columns, pa.string())),
            )
        except pa.ArrowInvalid as error:
            raise UnusableError(f"{file}: {error}") from None

    def require(self, column: str) -> None:
        """`UnusableError` if there is no such column."""
        if column not in self.columns:
            raise UnusableError(
                f"{self.folder / 'data.csv'} has no column '{column}'; it has {', '.join(self.columns)}"
            )

    def order(self, attribute: str) -> OrderBy:
        """How the reference orders the attribute's values: codes by number, other texts as texts."""
        texts = self.table().column(attribute)
        codes = pc.all(pc.match_substring_regex(texts, "^-?[0-9]+$")).as_py()
        return OrderBy.NUMBER if codes else OrderBy.TYPE

    def levels(self, attribute: str) -> tuple[tuple[str, ...], ...]:
        """The rows of an attribute's hierarchy; `UnusableError` if it has no file."""
        file = self.folder / "hierarchies" / f"{attribute}.csv"
        self.require(attribute)
        if not file.is_file():
            raise UnusableError(f"attribute '{attribute}' has no hierarchy: no {file}")
        return tuple(map(tuple, _rows(file)))


def _rows(file: Path) -> Iterator[list[str]]:
    """The rows that are not blank."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield from filter(None, csv.reader(lines, delimiter=DELIMITER, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnusableError(f"{file}: {error}") from None
