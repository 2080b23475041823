"""Spellings of a text, for all letters that have a case: by the tables that Python has, and by the verification."""

import sys
import unicodedata

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from tableveil.backend import Session, column, render
from tableveil.errors import is_shown
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column
from tableveil.source.spelling import count_spellings, has_spellings, spelling
from tableveil.verification.text import folded

CASED = [letter for letter in map(chr, range(sys.maxunicode + 1)) if letter.casefold() != letter]
CHARACTERS = sorted(
    {*CASED, *"".join(CASED).casefold(), *map(chr, range(1, 0x3000)), *map(chr, range(0xF900, 0x10000))}
)
UNSEEN = "\u00ad\u034f\u115f\u17b4\u180e\u200b\u202e\u2065\u2800\u2d7f\u3164\ufe0f\uffa0\ufff0\ufffc" + "".join(
    map(chr, (0x13441, 0x16FE4, 0x1D159, 0x1BCA0, 0x1D173, 0xE0001, 0xE0100, 0xE0FFF))
)
BY = {
    "the source": render(spelling(column("value"), Column("value", "VARCHAR", ValueKind.TEXT))),
    "the verification": folded("value", "VARCHAR"),
}


def spelled(values: list[str], by: str) -> list[str]:
    rows = pa.table({"value": values})  # noqa: F841  # DuckDB finds it by its name
    with duckdb.connect() as connection:
        return [found for (found,) in connection.execute(f"SELECT {BY[by]} FROM rows").fetchall()]


@pytest.mark.parametrize("by", BY)
def test_all_that_folds_to_one_text_is_one_spelling(by: str) -> None:
    spellings = dict(zip(CHARACTERS, spelled(CHARACTERS, by), strict=True))
    united: dict[str, set[str]] = {}
    for character, found in spellings.items():
        united.setdefault(unicodedata.normalize("NFC", character.casefold()), set()).add(found)
    assert [text for text, found in united.items() if len(found) > 1] == []
    several = [text for text in united if len(text) > 1]
    assert spelled(several, by) == [next(iter(united[text])) for text in several]


@pytest.mark.parametrize("by", BY)
def test_words(by: str) -> None:
    same = [
        "Straße",
        "STRASSE",
        "stras\u200bse",
        "\u200bstr\u200basse\u200b",
        " stras\u017fe",
        "STRA\u1e9eE",
        *(f"stra{hidden}sse" for hidden in UNSEEN),
    ]
    assert set(spelled(same, by)) == {"strasse"}
    assert len(set(spelled(["ﬁn", "FIN", "Fin"], by))) == 1
    assert len(set(spelled(["flu", "flue", "fl", "❤", "é", "e"], by))) == 6


def test_the_same_characters_do_not_show_in_names() -> None:
    assert not any(is_shown(f"ann{hidden}") for hidden in UNSEEN)
    assert all(map(is_shown, ("ann", "Ann Straße", "anné", "❤")))


def test_the_verification_agrees() -> None:
    one, other = (spelled(CHARACTERS, by) for by in BY)
    assert one == other


@pytest.mark.parametrize(
    ("values", "spellings"),
    [
        ([], 0),
        ([None], 0),
        (["a", "A", " a", "b", None], 2),
        (["Straße", "STRASSE", "strasse", "x"], 2),
        (["stra\u00dfe", "STRA\u1e9eE"], 1),
        (["ﬁn", "x"], 2),
    ],
)
def test_spellings_are_counted_alike_with_and_without_long_letters(
    session: Session, values: list[str | None], spellings: int
) -> None:
    session.execute("CREATE TABLE texts AS SELECT unnest($1::VARCHAR[]) AS value", [values])
    read, of = exp.select("value").from_("texts"), Column("value", "VARCHAR", ValueKind.TEXT)
    present = [value for value in values if value is not None]
    assert count_spellings(session, read, of) == (spellings, len(present))
    assert len(set(spelled(present, "the source"))) == spellings
    assert has_spellings(session, read, of) == (spellings < len(set(present)))
