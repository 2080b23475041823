"""Texts are read as numbers and dates: each column by the form that nearly all of its own values have."""

from datetime import date

import numpy as np

from tableveil.backend import Session
from tableveil.disclosure.readings import of_texts


def _days(*texts: str) -> list[float]:
    return [(date.fromisoformat(text) - date(1970, 1, 1)).days for text in texts]


def test_each_column_is_read_by_its_own_form(session: Session) -> None:
    columns: list[list[str | None]] = [
        ["31.12.1999", "01.02.2003", "5.6.2004"],
        ["12/31/1999", "01/02/2003", "5/6/2004"],
        ["1-Feb-1999", "2-Mar-2003", "2-Xyz-2003"],
        ["2004-02-29", "1.5", "2e3"],
        [None, "", "31.31.1999"],
    ]
    session.execute("CREATE TEMPORARY TABLE texts (text VARCHAR, nr INTEGER, code INTEGER)")
    for nr, column in enumerate(columns):
        for code, text in enumerate(column):
            session.execute("INSERT INTO texts VALUES (?, ?, ?)", [text, nr, code])
    arrays = session.arrays(f"SELECT * FROM ({of_texts('FROM texts', 'nr, code')}) ORDER BY nr, code")
    nan = float("nan")
    expected = [
        *_days("1999-12-31", "2003-02-01", "2004-06-05"),
        *_days("1999-12-31", "2003-01-02", "2004-05-06"),
        # A third of what looks like a date is none: too few have the form.
        *(nan, nan, nan),
        *(*_days("2004-02-29"), 1.5, 2000.0),
        *(nan, nan, nan),
    ]
    np.testing.assert_array_equal(arrays["number"], expected)
    years = [1999, 2003, 2004, 1999, 2003, 2004, nan, nan, nan, 2004, nan, nan, nan, nan, nan]
    np.testing.assert_array_equal(arrays["year"], years)
    assert list(arrays["text"]) == [text or "" for column in columns for text in column]
