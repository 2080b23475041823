"""The content of a load, as a keyed digest: of the bytes of its files, or of its rows in any order."""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
from sqlglot import exp

from tableveil.backend import Session
from tableveil.control import Control
from tableveil.errors import GuardedError, InvalidError
from tableveil.source import rows_digest
from tableveil.state.migrate import fingerprint_key

_PIECE = 1 << 20


def bytes_digest(paths: Sequence[Path], control: Control | None = None) -> str:
    """A digest of the bytes of each of these files, in their order."""
    of_all = hashlib.sha256()
    for path in paths:
        of_one = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                if control is not None:
                    control.raise_if_stopped()
                of_one.update(piece)
        of_all.update(of_one.digest())
    return of_all.hexdigest()


def content_of_files(session: Session, digest: str) -> str:
    """The content of files as the ledger keeps it: without the key, nobody can try guesses of the file."""
    key = fingerprint_key(session.ledger)
    return f"files {hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()}"


def content_of_rows(session: Session, rows: exp.Expr, columns: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """The number of these rows, which are read once, and their content as the ledger keeps it.

    Another version of the database may hash the same rows otherwise.
    """
    count, digest = rows_digest(session, rows, columns, fingerprint_key(session.ledger))
    return count, f"rows {duckdb.__version__} {digest}"


def is_comparable(content: str | None, other: str) -> bool:
    """Whether two contents were taken in one way, so that equal rows or files have equal ones."""
    return content is not None and content.rpartition(" ")[0] == other.rpartition(" ")[0]


@contextmanager
def guarding(paths: Sequence[Path], replaces: bool) -> Iterator[None]:
    """While the block reads files that replace rows, an error of a file without content becomes that of a guard.

    Raises:
        GuardedError: there is nothing in a file.
    """
    try:
        yield
    except InvalidError as error:
        if replaces and (error.code == "CSV_EMPTY" or not any(path.stat().st_size for path in paths)):
            hint = "The extract may have failed. To empty a table on purpose, truncate it."
            raise GuardedError.of("GUARDED", "rows", "none: the file is empty", "at least one row", hint) from None
        raise
