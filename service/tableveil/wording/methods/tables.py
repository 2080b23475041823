"""The words of related tables."""

from tableveil.wording.methods.words import MethodWords

WORDS = MethodWords(
    name="related tables",
    does="every column of people and events has one level; a fresh key joins them, and rows that few have are removed",
    explanation="There is none: the account has the levels that were compared.",
)
