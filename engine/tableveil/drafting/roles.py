"""Guesses the role of a column in a policy, with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.drafting.facts import ColumnFacts
from tableveil.drafting.meanings import Meaning, meaning_of
from tableveil.errors import shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import Role
from tableveil.risk.recurring import PairsAlike

NEARLY_ALL = 0.9
"""A column with this share of distinct values seems to tell rows apart; estimates err by some percent."""

FEWEST_ROWS = 20
"""In smaller tables, distinct values throughout prove nothing."""

LONG_TEXT = 60
"""Longer text, most of it distinct, is taken for free text."""

MOST_OF_GROUP = 10
"""Households and the like have up to so many rows each, on average."""

MOST_NAMED = 4
"""The most columns that a reason names."""

_OF_MEANING = {
    Meaning.IDENTIFIER: Role.IDENTIFYING,
    Meaning.FREE_TEXT: Role.IDENTIFYING,
    Meaning.AGE: Role.QUASI_IDENTIFIER,
    Meaning.SEX: Role.QUASI_IDENTIFIER,
    Meaning.BIRTH: Role.QUASI_IDENTIFIER,
    Meaning.ORIGIN: Role.QUASI_IDENTIFIER,
    Meaning.PLACE: Role.QUASI_IDENTIFIER,
    Meaning.POSTAL_CODE: Role.QUASI_IDENTIFIER,
    Meaning.DATE: Role.QUASI_IDENTIFIER,
    Meaning.FAMILY: Role.QUASI_IDENTIFIER,
    Meaning.EDUCATION: Role.QUASI_IDENTIFIER,
    Meaning.WORK: Role.QUASI_IDENTIFIER,
    Meaning.DURATION: Role.QUASI_IDENTIFIER,
    Meaning.INSURER: Role.QUASI_IDENTIFIER,
    Meaning.HEALTH: Role.SENSITIVE,
    Meaning.MONEY: Role.SENSITIVE,
    Meaning.BELIEF: Role.SENSITIVE,
    Meaning.WEIGHT: Role.INSENSITIVE,
    Meaning.TECHNICAL: Role.INSENSITIVE,
}
_CALENDAR = (ValueKind.DATE, ValueKind.TIMESTAMP)


@dataclass(frozen=True, slots=True)
class RoleGuess:
    """`role` is None if nothing speaks for any role; `reason` is a sentence for the owner of the table."""

    role: Role | None
    meaning: Meaning | None
    reason: str


def identifies_by_name(facts: ColumnFacts) -> bool:
    """Whether name and type alone make the column identifying, whatever its values are."""
    meaning = meaning_of(facts.name)
    return facts.kind is None or (meaning is not None and _OF_MEANING[meaning] is Role.IDENTIFYING)


def tells_all_apart(facts: ColumnFacts) -> bool:
    """Whether nearly every row has a value of its own, in a table large enough for that to say something."""
    return facts.rows >= FEWEST_ROWS and facts.telling >= NEARLY_ALL


def numbers_groups(facts: ColumnFacts) -> bool:
    """Whether values seem to number small groups of rows, such as households: many values, few rows of each."""
    return facts.distinct >= FEWEST_ROWS and facts.telling >= 1 / MOST_OF_GROUP


def guess_role(facts: ColumnFacts) -> RoleGuess:
    """Guesses the role from the column's type, name and number of distinct values, trusted in this order."""
    meaning = meaning_of(facts.name)
    if facts.kind is None:
        return RoleGuess(Role.IDENTIFYING, meaning, "A column of this type cannot be released.")
    if meaning is not None and identifies_by_name(facts):
        return RoleGuess(Role.IDENTIFYING, meaning, f"Its name says that it holds {meaning.value}.{_recurring(facts)}")
    holds_dates = facts.kind in _CALENDAR or bool(facts.date_format)
    says = "Its name says that it holds a date" if meaning is Meaning.DATE else "Its values are dates"
    if holds_dates and meaning not in (Meaning.BIRTH, Meaning.TECHNICAL):
        meaning = Meaning.DATE
    if facts.agreeing and meaning is None:
        return RoleGuess(Role.IDENTIFYING, None, f"It seems to number people: {agreement(facts.agreeing)}.")
    if facts.constant:
        return RoleGuess(Role.INSENSITIVE, meaning, "All rows have the same value: it tells nobody apart.")
    if meaning is Meaning.FAMILY and numbers_groups(facts):
        return RoleGuess(Role.IDENTIFYING, meaning, f"Its name says family or household, and it {facts.counted}.")
    if facts.codes:
        return RoleGuess(Role.SENSITIVE, Meaning.HEALTH, f"Its values are written as codes of {facts.codes}.")
    if meaning is not None:
        role: Role | None = _OF_MEANING[meaning]
        if role is Role.INSENSITIVE and tells_all_apart(facts):
            # Released unchanged, it would lead back to the rows of the source.
            reason = f"Its name says that it holds {meaning.value}, but it {facts.counted}."
            return RoleGuess(None, meaning, reason)
        said = says if meaning is Meaning.DATE else f"Its name says that it holds {meaning.value}"
        return RoleGuess(role, meaning, f"{said}.")
    if tells_all_apart(facts) and facts.kind in (ValueKind.INTEGER, ValueKind.TEXT, ValueKind.OTHER):
        return RoleGuess(Role.IDENTIFYING, None, f"It {facts.counted}, as numbers of persons do.")
    if facts.kind is ValueKind.TEXT and (facts.longest or 0) > LONG_TEXT and facts.telling > 0.5:
        return RoleGuess(Role.IDENTIFYING, Meaning.FREE_TEXT, "Long texts, most of them different: free text.")
    return RoleGuess(None, None, "Neither its name nor its type says what it holds.")


def agreement(agreeing: Sequence[tuple[str, PairsAlike]]) -> str:
    """The evidence for a column that numbers people of whom some have several rows, with the pairs that were looked at.

    Only some pairs are compared in large tables.
    """
    named = [
        f"{'nearly ' if one.nearly else ''}in {shortened(name)} ({one.alike:,} of {one.pairs:,} pairs)"
        for name, one in agreeing[:MOST_NAMED]
    ]
    more = len(agreeing) - MOST_NAMED
    named += [f"in {more} more columns" if more > 1 else "in 1 more column"] if more > 0 else []
    return f"rows with the same value of it agree {', '.join(named)}, as rows of one person do"


def _recurring(facts: ColumnFacts) -> str:
    if facts.agreeing:
        return ""
    if facts.rows < FEWEST_ROWS or facts.constant or facts.telling > 0.5:
        return ""
    return " Its values recur: if they are those of places or groups, it may be a quasi-identifier."


def guessed_quasi_identifiers(columns: Sequence[ColumnFacts]) -> tuple[list[str], bool]:
    """The names of the guessed quasi-identifiers, in table order, and whether something speaks for them.

    If nothing speaks for the role of any column, these are all columns of which nothing is known.
    """
    guesses = [(facts.name, guess_role(facts).role) for facts in columns]
    said = [name for name, role in guesses if role is Role.QUASI_IDENTIFIER]
    return (said, True) if said else ([name for name, role in guesses if role is None], False)
