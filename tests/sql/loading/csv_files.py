"""CSV files that tests write and read."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tableveil.backend import Session
from tableveil.errors import InvalidError
from tableveil.loading import CsvFormat, csv_rows


def read(session: Session, file: Path, content: bytes, how: CsvFormat) -> tuple[list[str], list[tuple[object, ...]]]:
    """Types and rows of a file of which no line is left out."""
    file.write_bytes(content)
    with csv_rows(session, [file], how) as rows:
        found = session.rows(rows.query)
        assert rows.rejected(session) == ()
    return [type_ for _, type_ in rows.columns], found


def fault(session: Session, file: Path, content: bytes, how: CsvFormat | None = None) -> InvalidError:
    """Why the file cannot be loaded."""
    file.write_bytes(content)
    return refusal(session, [file], how or CsvFormat())


def refusal(session: Session, files: Sequence[Path], how: CsvFormat) -> InvalidError:
    """Why the files cannot be loaded."""
    try:
        with csv_rows(session, files, how) as rows:
            session.rows(rows.query)
            rows.rejected(session)
    except InvalidError as error:
        return error
    pytest.fail("the files can be loaded")
