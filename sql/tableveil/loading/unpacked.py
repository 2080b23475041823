"""CSV files in the form that the database reads: in UTF-8, uncompressed, and with lines that all end alike."""

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from gzip import BadGzipFile, GzipFile
from io import BufferedReader
from pathlib import Path
from shutil import disk_usage
from tempfile import NamedTemporaryFile
from typing import IO

from tableveil.control import Control
from tableveil.errors import BusyError, InvalidError, shortened

GZIP = b"\x1f\x8b"
# The first bytes, with their place, of other kinds of files that are often taken for CSV.
_OTHER_KINDS = (
    (8, b"DUCK", "a DuckDB database"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"PK\x03\x04", "a zip archive, as Excel's workbooks are"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"%PDF-", "a PDF document"),
)
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# As many are in no text of any encoding.
_HOLE = bytes(8)
_PIECE = 1 << 20

PART_OF_FREE_SPACE = 0.5
"""The part of the free space that an unpacked copy may take: some megabytes can hold a thousand times more."""

# NULs among this number of first bytes reveal an encoding; later NULs belong to single values.
BYTES_WITH_NULS = 1 << 16


@contextmanager
def unpacked(path: Path, encoding: str, directory: Path | None, control: Control | None) -> Iterator[Path]:
    """The file, or a copy of it in UTF-8 that exists while the block runs, in this directory or a temporary one.

    Raises:
        InvalidError: it is not text in this encoding, or there is no such encoding.
        Stopped: `control` says so while the file is copied.
        BusyError: there is no room for the copy.
    """
    codec = _codec(encoding)
    with path.open("rb") as packed:
        start = packed.read(_PIECE)
        packed.seek(0)
        is_packed = start.startswith(GZIP)
        if not is_packed and codec == "utf-8-sig":
            _check_start(start, encoding)
            with _ending_alike(path, directory, control or Control()) as same:
                yield same
            return
        # Its mode is 0600: it holds raw values.
        with NamedTemporaryFile(dir=directory, suffix=".csv") as copy:
            with GzipFile(fileobj=packed) if is_packed else packed as content:
                _copy(content, copy, codec, encoding, control or Control())
            with _ending_alike(Path(copy.name), directory, control or Control()) as same:
                yield same


@contextmanager
def _ending_alike(path: Path, directory: Path | None, control: Control) -> Iterator[Path]:
    """The file, or a copy in which lines end alike: where they do not, the database loses rows or gives up."""
    if len(_line_ends(_pieces(path, control))) < 2:
        yield path
        return
    # A stray quote would hide the line ends behind it.
    stray = sum(piece.count(b'"') for piece in _pieces(path, control)) % 2 == 1
    if not stray and len(_line_ends(_unquoted(path, control))) < 2:
        yield path
        return
    with NamedTemporaryFile(dir=directory, suffix=".csv") as copy:
        quoted = False
        for piece in _pieces(path, control):
            parts = piece.split(b'"')
            for i, part in enumerate(parts):
                if stray or not quoted:
                    parts[i] = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                quoted ^= i < len(parts) - 1
            copy.write(b'"'.join(parts))
        copy.flush()
        yield Path(copy.name)


def _line_ends(pieces: Iterable[bytes]) -> set[bytes]:
    """The line ends in these pieces, none of which ends inside of one."""
    found = set()
    for piece in pieces:
        both = piece.count(b"\r\n")
        counts = {b"\r\n": both, b"\n": piece.count(b"\n") - both, b"\r": piece.count(b"\r") - both}
        found |= {end for end, count in counts.items() if count}
    return found


def _unquoted(path: Path, control: Control) -> Iterator[bytes]:
    quoted = False
    for piece in _pieces(path, control):
        parts = piece.split(b'"')
        yield from parts[quoted::2]
        quoted ^= len(parts) % 2 == 0


def _pieces(path: Path, control: Control) -> Iterator[bytes]:
    """The bytes of a file, in pieces that end behind line ends of two characters."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            control.raise_if_stopped()
            yield piece + file.read(1) if piece.endswith(b"\r") else piece


def _codec(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
        is_text = codec._is_text_encoding
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        expected = "an encoding that Python knows, such as utf-8, cp1252 or utf-16"
        raise InvalidError.of("CSV_ENCODING", "encoding", shortened(encoding), expected)
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def _copy(content: GzipFile | BufferedReader, copy: IO[bytes], codec: str, encoding: str, control: Control) -> None:
    decoder = codecs.getincrementaldecoder(codec)()
    line = 1
    most = int(disk_usage(Path(copy.name).parent).free * PART_OF_FREE_SPACE)
    try:
        piece = content.read(_PIECE)
        _check_start(piece, encoding)
        while piece:
            control.raise_if_stopped()
            following = content.read(_PIECE)
            text = decoder.decode(piece, final=not following)
            _check_latin_1(text, codec, line)
            copy.write(text.encode())
            if copy.tell() > most:
                actual = f"more than {most:,} bytes when it is unpacked, which is half of the free space"
                raise BusyError.of("DISK_FULL", "file", actual, "a smaller file, or more space", "Nothing was loaded.")
            line += text.count("\n")
            piece = following
        copy.flush()
    except UnicodeDecodeError as error:
        line += error.object[: error.start].decode(codec, "ignore").count("\n")
        raise _wrong(f"bytes that are not {encoding}, in line {line:,}") from None
    except UnicodeError:
        raise _wrong(f"a file that does not begin as {encoding} does") from None
    except (EOFError, zlib.error, BadGzipFile):
        raise InvalidError.of("CSV_UNREADABLE", "file", "gzip that is damaged or cut off", "a whole file") from None
    except OSError as error:
        actual = f"no room for a copy of it in UTF-8: {error.strerror}"
        raise BusyError.of("DISK_FULL", "file", actual, "free space", "Free space, or save it as UTF-8.") from None


def _check_start(start: bytes, encoding: str) -> None:
    for place, begin, kind in _OTHER_KINDS:
        if start[place:].startswith(begin):
            hint = "Is --format right?" if kind == "a Parquet file" else "Export its table as CSV or Parquet."
            raise InvalidError.of("CSV_ENCODING", "file", kind, "a CSV file", hint)
    if (hole := start[:BYTES_WITH_NULS].find(_HOLE)) >= 0:
        line = start.count(b"\n", 0, hole) + 1
        actual = "zero bytes, as a crash leaves them in a file that was being written"
        raise InvalidError.of("CSV_NUL", f"line {line}", actual, "text", "Make the file anew. Nothing was loaded.")
    if encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        return
    for mark, name in BYTE_ORDER_MARKS:
        if start.startswith(mark):
            raise _wrong(f"the byte order mark of {name}", name)
    if b"\0" in start[:BYTES_WITH_NULS]:
        raise _wrong("NUL bytes, which are in no text but in utf-16 and utf-32 without a byte order mark", "utf-16-le")


def _check_latin_1(text: str, codec: str, line: int) -> None:
    """Every byte is a character of latin-1, so that other encodings show as control characters that nobody writes."""
    if codec != "iso8859-1":
        return
    if match := re.search("[\x80-\x9f]", text):
        line += text.count("\n", 0, match.start())
        raise _wrong(f"control characters, which no text in latin-1 has, in line {line:,}")


def _wrong(found: str, likely: str = "cp1252") -> InvalidError:
    hint = f"State another one that Python knows, perhaps --encoding {likely}."
    return InvalidError.of("CSV_ENCODING", "file", found, "the encoding that was stated", hint)


def first_lines(path: Path, most: int) -> str:
    """The first characters of a file in UTF-8, without translating line ends, which may be within quotes.

    Raises:
        InvalidError: it is not in UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read(most)
    except UnicodeDecodeError:
        raise _wrong("bytes that are not utf-8") from None
