"""The hierarchy that is proposed for a column, by its type, its range and the meaning of its name."""

import datetime
from dataclasses import dataclass, replace
from decimal import Decimal

from tableveil.drafting import bounds
from tableveil.drafting.facts import PARTIAL_DATES, PARTIAL_DATES_BACKWARDS, PERIODS, PERIODS_BACKWARDS, ColumnFacts
from tableveil.drafting.meanings import Meaning, meaning_of, words_of
from tableveil.hierarchy import RuleHierarchy, ValueKind, check_rule
from tableveil.hierarchy.rules import (
    Dates,
    DateUnit,
    Intervals,
    LossRange,
    MaskFrom,
    Redaction,
    SuppressionOnly,
    TimeLevel,
    TimesOfDay,
)

FEW_VALUES = 10
"""With so few values, nobody needs levels between the values and none."""

LONGEST_CODE = 20
"""Longer texts are not masked character by character: that would take one level per character."""

OLDEST_ALONE = Decimal(90)
"""Ages from here on are rare, and released together (HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C))."""

_AGE_WIDTHS = ("5", "10", "20", "40")
_TIMES = TimesOfDay(tuple(map(TimeLevel, ("15 minutes", "1 hour", "6 hours"))))
_LENGTH_OF_DAY = 10
_LENGTH_OF_MONTH = 4
_LENGTH_OF_YEAR = 4
"""The characters of the name of a month, as in Mar-2014, and of the mark behind it."""

_LONG_AGO = 30
"""Years that a range of dates must span for decades to be useful."""


@dataclass(frozen=True, slots=True)
class HierarchyProposal:
    """A hierarchy with its reason, in sentences for the owner of the table."""

    hierarchy: RuleHierarchy
    reason: str


def propose_hierarchy(facts: ColumnFacts, meaning: Meaning | None) -> HierarchyProposal:
    """Proposes a hierarchy that covers all values of the column, and is sound for its type."""
    proposal = _by_kind(facts, meaning)
    if facts.kind is not None and check_rule(proposal.hierarchy, "", facts.kind):
        return _stopgap("There is no simple rule for values such as these.")
    return proposal


def _by_kind(facts: ColumnFacts, meaning: Meaning | None) -> HierarchyProposal:
    if not facts.distinct:
        return _stopgap("There are no values to go by.")
    if facts.kind in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT):
        return _of_numbers(facts, meaning)
    if facts.kind in (ValueKind.DATE, ValueKind.TIMESTAMP):
        return _of_dates(facts, meaning)
    if facts.kind is ValueKind.TEXT:
        return _of_text(facts, meaning)
    if facts.kind is ValueKind.TIME:
        return HierarchyProposal(_TIMES, "Times of day by ever longer intervals.")
    if facts.distinct <= FEW_VALUES:
        return HierarchyProposal(SuppressionOnly(), f"{_values(facts)}: kept, or hidden.")
    return _stopgap(f"{_values(facts)} of a type that has no rule.")


def _of_numbers(facts: ColumnFacts, meaning: Meaning | None) -> HierarchyProposal:
    least, greatest = bounds.number_of(facts.minimum), bounds.number_of(facts.maximum)
    if least is None or greatest is None:
        return _stopgap("Its range is not finite.")
    if meaning is Meaning.AGE and least >= 0 and greatest <= 150:
        # Top coding covers values above the range, too.
        ages = Intervals("0", "120", _AGE_WIDTHS, "", bounds.plain(OLDEST_ALONE))
        told = f"Ages by 5, 10, 20 and 40 years. Ages from 90 on form one group.{_OVER_SPAN}"
        return HierarchyProposal(replace(ages, loss_range=_loss_range(facts, Decimal(5), ages)), told)
    is_code = facts.kind is ValueKind.INTEGER and greatest >= 100 and least >= 0
    if _few(facts, meaning if is_code else None):
        return HierarchyProposal(SuppressionOnly(), f"{_values(facts)}: kept, or hidden.")
    numbers_things = facts.kind is ValueKind.INTEGER and (
        meaning in _CODED or not _OF_CODES.isdisjoint(words_of(facts.name))
    )
    if numbers_things and not (is_code and len(bounds.plain(least)) == len(bounds.plain(greatest))):
        return _stopgap("Its numbers are codes: near ones are not alike.")
    if numbers_things or (is_code and meaning is Meaning.POSTAL_CODE):
        digits = len(bounds.plain(greatest))
        coarser = tuple(bounds.plain(Decimal(10) ** place) for place in range(1, digits))
        return HierarchyProposal(
            Intervals("0", "9" * digits, coarser), "Codes as numbers, without one digit more at each level."
        )
    finest = bounds.round_width(greatest - least)
    if facts.kind is ValueKind.INTEGER:
        finest = max(finest, Decimal(2))
    # Intervals of whole numbers end with the last one in them.
    room, whole = (greatest - least) / 10, facts.kind is ValueKind.INTEGER
    inner = bounds.outwards(least, greatest + whole, finest)
    laid_out = tuple(map(bounds.plain, bounds.widths(finest, inner[1] - inner[0])))
    lower = least - room if least < 0 else max(Decimal(0), least - room)
    below, above = bounds.outwards(lower, greatest + room + whole, finest)
    rule = Intervals(bounds.plain(below), bounds.plain(above - 1 if whole else above), laid_out)
    return HierarchyProposal(
        replace(rule, loss_range=_loss_range(facts, finest, rule)),
        f"{_values(facts)} in a range with room for others; widths are doubled from level to level.{_OVER_SPAN}",
    )


_CODED = (Meaning.WORK, Meaning.PLACE)
_OF_CODES = frozenset(
    {"code", "codes", "cod", "codigo", "kode", "schlussel", "clave", "codice", "fips", "naics", "sic", "isco", "nace"}
)
"""Whole numbers of these meanings, or with these words in their names, stand for things and count nothing."""

_OVER_SPAN = " Loss is measured over the values that occur, without single ones far outside."
_FAR_NUMBERS, _FAR_DATES = 3, 1
"""So many spans between the outer hundredths beyond these, a value is far outside."""


def _loss_range(facts: ColumnFacts, width: Decimal, rule: Intervals) -> LossRange | None:
    """The numbers that occur, but for some far outside, rounded outwards to multiples of a width."""
    least, greatest, low, high = map(bounds.number_of, (facts.minimum, facts.maximum, facts.low, facts.high))
    if least is None or greatest is None:
        return None
    whole = facts.kind is ValueKind.INTEGER
    first, last = bounds.within(least, greatest, low, high, _FAR_NUMBERS)
    below, above = bounds.outwards(first, last + whole, width)
    below, above = max(below, Decimal(rule.minimum)), min(above - whole, Decimal(rule.maximum))
    return LossRange(bounds.plain(below), bounds.plain(above)) if below < above else None


def _of_dates(facts: ColumnFacts, meaning: Meaning | None) -> HierarchyProposal:
    years = bounds.years_around(facts.minimum, facts.maximum, births=meaning is Meaning.BIRTH)
    if years is None:
        return _stopgap("Its range is not one of days in the years 1 to 9999.")
    first, last = years
    units = [DateUnit.MONTH, DateUnit.YEAR] if meaning is Meaning.BIRTH else [*_MONTHS, DateUnit.YEAR]
    if facts.kind is ValueKind.TIMESTAMP:
        units.insert(0, DateUnit.DAY)
    if int(last[:4]) - int(first[:4]) > _LONG_AGO:
        units.append(DateUnit.DECADE)
    months = bounds.months_around(facts.minimum, facts.maximum, facts.low, facts.high, _FAR_DATES)
    rule, remark = Dates(first, last, tuple(units)), ""
    if months and meaning is Meaning.BIRTH:
        rule, remark = replace(rule, loss_range=LossRange(*months)), _OVER_SPAN
    elif months:
        # Next month's days lie outside of this span, and are as many.
        begin, end = map(datetime.date.fromisoformat, months)
        rule = replace(rule, loss_days=(end - begin).days + 1)
        remark = " Loss is measured over as many days as occur, without single ones far outside, whenever they are."
    return HierarchyProposal(
        rule, f"Calendar periods, in whole years around the days that occur, and a year more.{remark}"
    )


_MONTHS = (DateUnit.MONTH, DateUnit.QUARTER)


def may_be_code(facts: ColumnFacts) -> bool:
    """Whether text may be masked character by character: all of one length, or with the name of a postal code."""
    meaning = meaning_of(facts.name)
    if facts.kind is not ValueKind.TEXT or facts.longest is None or _few(facts, meaning):
        return False
    one_length = facts.shortest == facts.longest
    return 2 <= facts.longest <= LONGEST_CODE and (one_length or meaning is Meaning.POSTAL_CODE)


def _few(facts: ColumnFacts, meaning: Meaning | None) -> bool:
    """Whether there are so few values that nobody needs levels between; the first digits of two postal codes tell."""
    return facts.distinct <= (1 if meaning is Meaning.POSTAL_CODE else FEW_VALUES)


def _of_text(facts: ColumnFacts, meaning: Meaning | None) -> HierarchyProposal:
    longest = facts.longest or 0
    if facts.date_format in (PARTIAL_DATES, PARTIAL_DATES_BACKWARDS):
        return _of_partial_dates(longest, backwards=facts.date_format == PARTIAL_DATES_BACKWARDS)
    if facts.date_format in (PERIODS, PERIODS_BACKWARDS):
        rule = Redaction(longest, 2, padding="-", masked=(longest - _LENGTH_OF_YEAR,))
        if facts.date_format == PERIODS_BACKWARDS:
            rule = replace(rule, mask_from=MaskFrom.LEFT)
        return HierarchyProposal(rule, "Parts of years, such as weeks or quarters: as they are, or by year.")
    if facts.date_format:
        return _of_dates_as_text(facts)
    if may_be_code(facts) and (facts.digits or meaning is Meaning.POSTAL_CODE):
        alphabet = 10 if facts.digits else 36
        what = "digits" if facts.digits else "characters"
        return HierarchyProposal(Redaction(longest, alphabet), f"Codes of {longest} {what}, masked from the right.")
    if _few(facts, meaning):
        return HierarchyProposal(SuppressionOnly(), f"{_values(facts)}: kept, or hidden.")
    return _stopgap(f"{_values(facts)}, and no rule to group them by.")


def _of_partial_dates(longest: int, *, backwards: bool) -> HierarchyProposal:
    """2014-03-12 becomes 2014-03***, as 2014-03 does, and 2014******: 8 of 1,024 texts of two signs, and 64."""
    length = max(longest, _LENGTH_OF_DAY)
    time = length - _LENGTH_OF_DAY
    masked = tuple(number for number in (time, time + 3, time + 6) if number)
    rule = Redaction(length, 2, padding="-", masked=masked)
    if backwards:
        rule = replace(rule, mask_from=MaskFrom.LEFT)
    return HierarchyProposal(rule, "Dates of which some lack a day or month, by month and year.")


def _of_dates_as_text(facts: ColumnFacts) -> HierarchyProposal:
    """Labels of texts where the year is at an end of all, and no day lacks its zero."""
    read = f"strptime({facts.name}, '{facts.date_format}')::DATE"
    made = f"Text that looks like dates: a source_query makes dates of it by {read}."
    if facts.date_format in _YEAR_AT_END and facts.shortest == facts.longest == _LENGTH_OF_DAY:
        by = _of_partial_dates(_LENGTH_OF_DAY, backwards=facts.date_format.endswith("%Y"))
        return replace(by, reason=f"{made} As it is, by month and year.")
    if facts.date_format.startswith("%b") and facts.shortest == facts.longest:
        # Nov-2015 becomes ****2015, as in partial dates.
        rule = Redaction(facts.longest or 0, 2, padding="-", masked=(_LENGTH_OF_MONTH,), mask_from=MaskFrom.LEFT)
        digits = "" if facts.date_format.endswith("Y") else ", if the two digits are one"
        return HierarchyProposal(rule, f"Text that looks like months: as it is, or by year{digits}.")
    return _stopgap(made)


_YEAR_AT_END = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y")


def _values(facts: ColumnFacts) -> str:
    return f"{'' if facts.exact else 'About '}{facts.distinct:,} different value{'s' * (facts.distinct != 1)}"


def _stopgap(reason: str) -> HierarchyProposal:
    advice = "Values are kept or hidden, which loses much: write a hierarchy that groups them."
    return HierarchyProposal(SuppressionOnly(), f"{reason} {advice}")
