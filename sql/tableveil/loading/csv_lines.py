"""Lines of a CSV file that are lost in silence: those too long for the database, and a last one that was cut off."""

import os
from pathlib import Path

from tableveil.control import Control
from tableveil.errors import InvalidError, TableveilError, shortened

LONGEST_LINE = 16_000_000
"""Bytes. DuckDB rejects longer lines than 2,000,000 bytes by their number, up to the size of its buffer, 32,000,000.

It drops still longer ones without a word where it lists rejected lines (2.0.0).
"""

_PIECE = 1 << 20


def check_longest_line(path: Path, name: str, control: Control | None) -> None:
    """Raises `InvalidError` if a line is so long that it would be dropped; it cannot be left out either.

    It has the file's name, if there is one. Either character that may end a line ends it here.
    """
    if path.stat().st_size <= LONGEST_LINE:
        return
    begin, place = 0, 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            if control is not None:
                control.raise_if_stopped()
            if (first := _first_end(piece)) < 0:
                first = len(piece)
            if place + first - begin > LONGEST_LINE:
                raise _too_long(path, name, begin)
            if first < len(piece):
                begin = place + max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
            place += len(piece)


def ends_whole(path: Path) -> bool:
    """Whether the last line has a line end."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) in (b"\n", b"\r")


def _first_end(piece: bytes) -> int:
    ends = [end for end in (piece.find(b"\n"), piece.find(b"\r")) if end >= 0]
    return min(ends, default=-1)


def _too_long(path: Path, name: str, begin: int) -> TableveilError:
    lines, left = 1, begin
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            lines += piece.count(b"\n")
            left -= len(piece)
        zeros = b"\0" in file.read(_PIECE)
    actual = f"a line of more than {LONGEST_LINE:,} bytes"
    if zeros:
        actual += ", zero bytes among them, as a crash leaves them in a file that was being written"
    return InvalidError.of(
        "CSV_LINES_REJECTED",
        f"{shortened(name)}, line {lines}" if name else f"line {lines}",
        actual,
        "a line with one value of its type for every column",
        "Correct it; it cannot be left out. Nothing was loaded.",
    )
