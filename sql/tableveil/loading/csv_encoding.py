"""The encoding of a text file, by its bytes."""

import codecs
import itertools
from collections.abc import Iterator
from gzip import GzipFile
from pathlib import Path

from charset_normalizer import from_bytes

from tableveil.control import Control
from tableveil.loading.unpacked import BYTE_ORDER_MARKS, BYTES_WITH_NULS, GZIP

_PIECE = 1 << 20

# The signs that western text has beside ASCII: letters of Latin-1 and cp1252, and their usual punctuation.
_WESTERN = frozenset(
    bytes([*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x100), *range(0x82, 0x87), *range(0x91, 0x98)]).decode(
        "cp1252"
    )
    + "\u20ac\u0152\u0153\u0178\xa0\xa1\xa7\xa9\xab\xae\xb0\xb2\xb3\xb5\xb7\xbb\xbf"
)


def encoding_of(path: Path, control: Control | None) -> str:
    """A name that Python knows: UTF-8 where all bytes are, else by a mark or NULs, else what the bytes look like."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    first = True
    for piece in _pieces(path, control):
        if first:
            first = False
            for mark, name in BYTE_ORDER_MARKS:
                if piece.startswith(mark):
                    return name
            if b"\0" in piece[:BYTES_WITH_NULS]:
                return "utf-16-le" if piece[1:2] == b"\0" else "utf-16-be"
        try:
            decoder.decode(piece)
        except UnicodeDecodeError:
            return _single_byte(piece)
    return "utf-8"


def _pieces(path: Path, control: Control | None) -> Iterator[bytes]:
    with path.open("rb") as file:
        is_packed = file.read(2) == GZIP
        file.seek(0)
        content = GzipFile(fileobj=file) if is_packed else file
        try:
            while piece := content.read(_PIECE):
                if control is not None:
                    control.raise_if_stopped()
                yield piece
        except (EOFError, OSError):
            # The reader of the file says so.
            return


def _single_byte(piece: bytes) -> str:
    """cp1252, or cp850 of old programs, where the signs beyond ASCII are few and western; else charset-normalizer's."""
    beyond = bytes(byte for byte in piece if byte > 127)
    letters = sum(65 <= byte & 0xDF <= 90 for byte in piece if byte < 128)
    # In other scripts most letters are beyond ASCII, and follow each other.
    following = sum(byte > 127 and after > 127 for byte, after in itertools.pairwise(piece))
    if 3 * len(beyond) < letters or 5 * following < len(beyond):
        for encoding in ("cp1252", "cp850"):
            signs = beyond.decode(encoding, "replace")
            if sum(sign in _WESTERN for sign in signs) >= 0.9 * len(signs):
                return encoding
    match = from_bytes(piece[: 1 << 18]).best()
    return match.encoding if match is not None else "cp1252"
