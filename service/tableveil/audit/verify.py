"""Verifies the files of an audit: each line has the hash of the line before it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path

from tableveil.audit.entry import GENESIS, number_of, previous_of, read_line
from tableveil.control import Control, Stopped
from tableveil.errors import InvalidError, shortened

_HASH = re.compile("[0-9a-f]{64}")

MOST_FAULTS = 20
_LINES_BETWEEN_LOOKS = 1000


@dataclass(frozen=True, slots=True)
class Verified:
    """The result: how many lines there are, the hash of the last, and where the chain is broken (the first faults)."""

    entries: int
    head: str
    faults: tuple[str, ...]


def verify(files: Sequence[Path], head: str = "", after: str | None = None, control: Control | None = None) -> Verified:
    """Reads files that follow one another, from the first entry or from the one `after` a known hash.

    A `head` that was kept elsewhere must be the hash of one of the lines. Without it the last entries may have been cut
    off; and a person who may write the file can compute another chain from any entry on.

    Raises:
        InvalidError: a hash has another form.
        Stopped: `control` says so.
    """
    after = GENESIS.hash if after is None else after
    for field, text in (("head", head or GENESIS.hash), ("after", after)):
        if not _HASH.fullmatch(text):
            raise InvalidError.of("HASH_INVALID", field, shortened(text), "64 hexadecimal digits, in lower case")
    expected, wanted = after.encode(), head.encode()
    faults: list[str] = []
    seen = head in ("", after)
    count, last = 0, b""
    for path in files:
        with path.open("rb") as file:
            for before, line in pairwise(chain([last], file)):
                fits = previous_of(line) == expected and _follows(before, line)
                if not fits and len(faults) < MOST_FAULTS:
                    faults.append(f"{path.name}: {_break(before, line, after)}")
                expected = sha256(line).hexdigest().encode()
                seen = seen or expected == wanted
                count, last = count + 1, line
                if control is not None and count % _LINES_BETWEEN_LOOKS == 0 and control.must_stop:
                    raise Stopped
    if last and _number(last) is None:
        faults.append("the last line is no whole entry: it was cut, or a kill left it, which the next start repairs")
    if not seen:
        faults.append("no entry has the hash of the known head: the last entries are missing, or all were written anew")
    return Verified(count, expected.decode(), tuple(faults))


def _follows(before: bytes, line: bytes) -> bool:
    """Whether the number is the next one: after a cut the server numbers on behind the entries of its copy."""
    try:
        return not before or number_of(line) == number_of(before) + 1
    except ValueError:
        # The hashes decide.
        return True


def _break(before: bytes, line: bytes, after: str) -> str:
    """The words for a line that does not have the hash of the one before."""
    earlier, number = _number(before), _number(line)
    if number is None:
        return f"the line after entry {earlier} is no entry"
    if not before:
        return f"it begins with entry {number}, which does not follow {after}: entries before are missing or changed"
    if earlier is None:
        return f"the line before entry {number} is no entry"
    if number > earlier + 1:
        return f"{number - earlier - 1} entries are missing between entries {earlier} and {number}"
    if number <= earlier:
        return f"entry {number} follows entry {earlier}: lines were inserted or moved"
    return f"entry {earlier} was changed, or entry {number} was: they do not fit"


def _number(line: bytes) -> int | None:
    try:
        return read_line(line).number
    except ValueError:
        return None
