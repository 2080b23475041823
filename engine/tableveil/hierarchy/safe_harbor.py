"""HIPAA's Safe Harbor as written-out hierarchies: level 1 is the level that 45 CFR 164.514(b)(2)(i) allows."""

import datetime
import re
from collections import Counter
from collections.abc import Callable, Sequence

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.definition import (
    InlineLevels,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborHierarchy,
    SafeHarborZip,
    field_of,
)
from tableveil.hierarchy.labelled import TOP_LABEL, ValueKind, misfit
from tableveil.hierarchy.notation import Notation

MOST_PEOPLE_OF_A_SMALL_AREA = 20_000
"""Three digits of a ZIP code may be released if more people than this live in all ZIP codes that begin with them."""

SMALL_AREAS = "000"
"""Replaces the three digits of all other ZIP codes; no ZIP code of the United States begins with it."""

OLDEST = 130
"""The last age of the domain."""

AGE_TOGETHER = 90
"""Ages from here on may only be released as one group."""

MOST_DAYS = 146_097
"""The most days of a declared range: 400 years."""

_AGE_WIDTHS = (5, 10, 20, 40)
_FIVE_DIGITS = re.compile("[0-9]{5}")
_FITTING = {
    SafeHarborZip: ((ValueKind.TEXT,), "As numbers, ZIP codes lose their leading zeros."),
    SafeHarborAge: ((ValueKind.INTEGER, ValueKind.TEXT), "Ages are whole years."),
    SafeHarborDate: ((ValueKind.DATE, ValueKind.TEXT), "Make a column of the days, by a cast to DATE."),
}


def check_kind(definition: SafeHarborHierarchy, field: str, kind: ValueKind) -> list[Fault]:
    """The fault of using the definition on a column of another kind; `field` is the hierarchy's path."""
    fitting, hint = _FITTING[type(definition)]
    name = field_of(definition)
    return misfit(f"{field}.{name}", name, kind, fitting, hint)


# --- ZIP codes ------------------------------------------------------------------------------------------------------


def zip_levels(people: Sequence[tuple[str | None, int | None]], field: str) -> tuple[InlineLevels | None, list[Fault]]:
    """The levels of ZIP codes, computed from every ZIP code and its number of people; or the faults of these rows.

    Level 1 is the first three digits if all ZIP codes that begin with them have more than 20,000 people together, and
    else 000; then two digits, one, and `*`. Codes in 000 stay there up to `*`; so do codes that begin with 000
    themselves.

    Args:
        people: Rows of the table that the definition names.
        field: Path of the definition, which ends in `safe_harbor_zip`.
    """
    if not people:
        return None, [Fault(f"{field}.population", "no rows", "a row per ZIP code, with the people in it")]
    faults = [*_faults_of_zips([code for code, _ in people], field), *_faults_of_people(people, field)]
    if faults:
        return None, faults
    areas: Counter[str] = Counter()
    for code, number in people:
        assert code is not None
        assert number is not None
        areas[code[:3]] += number
    return InlineLevels(tuple(_zip_row(code, areas) for code, _ in people if code is not None)), []


def _zip_row(code: str, areas: Counter[str]) -> tuple[str, ...]:
    area = code[:3]
    if area == SMALL_AREAS or areas[area] <= MOST_PEOPLE_OF_A_SMALL_AREA:
        return (code, SMALL_AREAS, SMALL_AREAS, SMALL_AREAS, TOP_LABEL)
    return (code, area, code[:2], code[:1], TOP_LABEL)


def _faults_of_zips(codes: Sequence[str | None], field: str) -> list[Fault]:
    faults = []
    others = [code for code in codes if code is None or not _FIVE_DIGITS.fullmatch(code)]
    if others:
        hint = "Numbers lose their leading zeros: lpad(zip::VARCHAR, 5, '0') is five digits again."
        actual = f"{len(others):,} of {len(codes):,} rows are not of five digits"
        faults.append(Fault(f"{field}.zip_column", actual, "ZIP codes of five digits", hint))
    repeated = [code for code, count in Counter(codes).items() if code is not None and count > 1]
    if repeated:
        actual = f"{len(repeated):,} ZIP codes in several rows"
        hint = "Make a table that adds up the people of each, and name that."
        faults.append(Fault(f"{field}.zip_column", actual, "every ZIP code in one row only", hint))
    return faults


def _faults_of_people(people: Sequence[tuple[str | None, int | None]], field: str) -> list[Fault]:
    others = [number for _, number in people if number is None or number < 0]
    if not others:
        return []
    actual = f"{len(others):,} of {len(people):,} rows without a number"
    return [Fault(f"{field}.population_column", actual, "a number of people of at least 0 in every row")]


# --- ages -----------------------------------------------------------------------------------------------------------


def age_levels() -> InlineLevels:
    """The levels of ages in years from 0 to 130: those from 90 on are `90+` up to `*`, the others form wider ranges."""
    together = f"{AGE_TOGETHER}+"
    steps: list[Callable[[int], str]] = [str, *(_range_of(width) for width in _AGE_WIDTHS)]
    return InlineLevels(
        tuple(
            (str(age), *(step(age) if age < AGE_TOGETHER else together for step in steps), TOP_LABEL)
            for age in range(OLDEST + 1)
        )
    )


def _range_of(width: int) -> Callable[[int], str]:
    def label(age: int) -> str:
        first = age // width * width
        return f"[{first}, {min(first + width, AGE_TOGETHER) - 1}]"

    return label


# --- dates ----------------------------------------------------------------------------------------------------------


def check_dates(definition: SafeHarborDate, field: str) -> list[Fault]:
    """Lists the faults of the definition; `field` is its path, which ends in `safe_harbor_date`."""
    texts = {"minimum": definition.minimum, "maximum": definition.maximum}
    texts |= {"birth_as_of": definition.birth_as_of} if definition.birth_as_of else {}
    days = {name: Notation.DATE.read(text) for name, text in texts.items()}
    faults = [
        Fault(f"{field}.{name}", shortened(text), Notation.DATE.value)
        for name, text in texts.items()
        if days[name] is None
    ]
    first, last = days["minimum"], days["maximum"]
    if first is not None and last is not None:
        if last < first:
            expected = f"a date not before the minimum, {definition.minimum}"
            faults.append(Fault(f"{field}.maximum", definition.maximum, expected))
        elif last - first >= MOST_DAYS:
            actual = f"{definition.maximum}, {int(last - first) + 1:,} days from {definition.minimum}"
            faults.append(Fault(f"{field}.maximum", actual, f"a range of at most {MOST_DAYS:,} days, 400 years"))
    return faults


def date_levels(definition: SafeHarborDate) -> InlineLevels:
    """The levels of the days of a definition in which `check_dates` found no fault: year, decade, `*`.

    For dates of birth, the years that reveal an age over 89 form one group up to `*`.
    """
    first, last = (datetime.date.fromisoformat(day) for day in (definition.minimum, definition.maximum))
    oldest = last_year_together(definition)
    rows = []
    for ordinal in range(first.toordinal(), last.toordinal() + 1):
        day = datetime.date.fromordinal(ordinal)
        if oldest is not None and day.year <= oldest:
            year = decade = f"{oldest:04d} or before"
        else:
            year, decade = f"{day.year:04d}", f"{day.year // 10 * 10:04d}s"
        rows.append((day.isoformat(), year, decade, TOP_LABEL))
    return InlineLevels(tuple(rows))


def last_year_together(definition: SafeHarborDate) -> int | None:
    """The last birth year of people aged 90 or more in the year of `birth_as_of`; None if the dates are no births."""
    if not definition.birth_as_of:
        return None
    return datetime.date.fromisoformat(definition.birth_as_of).year - AGE_TOGETHER
