"""The functions of analysts, as macros.

A macro of labels takes the label and its two bounds. A NULL label counts nowhere, as NULL does in SQL. Whole numbers
and days include both bounds. Other numbers and timestamps end before the upper bound, unless the label ends with a
square bracket or is one value. An end without a bound is unbounded. Estimates take the bound that the label has, and
leave out labels that have none.
"""

from tableveil.answers.macro import LABEL, Macro

_WHOLE = "typeof(coalesce(label_from, label_to)) IN ('BIGINT', 'DATE')"
"""Whether the bounds are whole numbers or days. DuckDB knows types when it plans, and leaves the other case out."""

_END_INCLUDED = f"({_WHOLE} OR label_from = label_to OR suffix(label, ']') OR starts_with(label, '>= '))"
_KNOWN = "(label_from IS NOT NULL OR label_to IS NOT NULL)"

_CERTAIN = f"({_KNOWN} AND (low IS NULL OR label_from >= low) AND (high IS NULL OR label_to <= high))"
"""NULL where a bound is missing, which no filter takes. A label that may stand for NULL as well has no bounds."""

_POSSIBLE = (
    f"(label IS NOT NULL AND coalesce(label_from <= high, TRUE)"
    f" AND coalesce(label_to > low OR (label_to = low AND {_END_INCLUDED}), TRUE))"
)
_OF_DAYS = "typeof(coalesce(label_from, label_to)) = 'DATE' AND (typeof(low) LIKE 'TIME%' OR typeof(high) LIKE 'TIME%')"
_DAYS_WANTED = "error('the bounds of this column are days: expected dates, found a time of day')"


def _number(value: str) -> str:
    """A value, or what it is compared with, as a number: days of dates, seconds of timestamps."""
    return (
        "CASE typeof(coalesce(label_from, label_to)) "
        f"WHEN 'DATE' THEN epoch_us(CAST({value} AS TIMESTAMP)) / 86400e6 "
        f"WHEN 'TIMESTAMP' THEN epoch_us(CAST({value} AS TIMESTAMP)) / 1e6 "
        f"ELSE CAST({value} AS DOUBLE) END"
    )


_FROM, _TO = _number("coalesce(label_from, label_to)"), _number("coalesce(label_to, label_from)")
# Both functions pass over NULL, which stands for no limit.
_LOW = f"greatest({_FROM}, ceil({_number('low')}))"
_HIGH = f"least({_TO}, floor({_number('high')}))"
_PART = (
    f"CASE WHEN {_WHOLE} THEN ({_HIGH} - {_LOW} + 1) / ({_TO} - {_FROM} + 1) "
    f"ELSE (least({_TO}, {_number('high')}) - greatest({_FROM}, {_number('low')})) / ({_TO} - {_FROM}) END"
)
_LIKELY = (
    f"CASE WHEN NOT {_KNOWN} THEN NULL WHEN NOT {_POSSIBLE} THEN 0.0 WHEN coalesce({_CERTAIN}, FALSE) THEN 1.0 "
    f"WHEN label_from = label_to OR label_from IS NULL OR label_to IS NULL "
    f"THEN CASE WHEN {_FROM} < {_number('low')} OR {_FROM} > {_number('high')} THEN 0.0 ELSE 1.0 END "
    f"ELSE greatest(0.0, least(1.0, {_PART})) END"
)
"""The part of a label that lies between, if all values under it are equally likely."""

_COUNTED = f"CASE WHEN {_OF_DAYS} THEN CAST({_DAYS_WANTED} AS BOOLEAN) ELSE {_CERTAIN} END"


def _between(divisor: str) -> str:
    certain, possible = f"count(*) FILTER (WHERE {_COUNTED})", f"count(*) FILTER (WHERE {_POSSIBLE})"
    estimated = f"least({possible}, greatest({certain}, avg({_LIKELY}) * count(label)))"
    return (
        f"{{'certain': {certain}{divisor}, 'possible': {possible}{divisor}, "
        f"'estimated': CASE WHEN count({_LIKELY}) > 0 THEN {estimated}{divisor} END}}"
    )


def _middle(low: str, high: str) -> str:
    """Between two numbers, or two points of time."""
    return f"{low} + ({high} - {low}) / 2"


_NO_END = "count(label) - count(CASE WHEN label_from IS NOT NULL THEN label_to END)"

_MEAN = (
    f"{{'estimated': {_middle('avg(coalesce(label_from, label_to))', 'avg(coalesce(label_to, label_from))')}, "
    "'low': CASE WHEN count(label_from) = count(label) THEN avg(label_from) END, "
    "'high': CASE WHEN count(label_to) = count(label) THEN avg(label_to) END, "
    f"'open_ends': {_NO_END}}}"
)

_FRACTION_WANTED = "error('fraction: expected a number from 0 to 1')"
_PLACE = (
    f"CASE WHEN fraction BETWEEN 0 AND 1 THEN CAST(fraction AS DOUBLE) ELSE CAST({_FRACTION_WANTED} AS DOUBLE) END "
    "* (count(label) - 1)"
)
_LOWS = "(list(label_from ORDER BY label_from NULLS FIRST) FILTER (WHERE label IS NOT NULL))"
_HIGHS = "(list(label_to ORDER BY label_to NULLS LAST) FILTER (WHERE label IS NOT NULL))"

_MEDIAN = f"{{'low': {_LOWS}[(count(label) + 1) // 2], 'high': {_HIGHS}[(count(label) + 2) // 2]}}"

# It holds the quantile that is a value as well as the one that lies between two of them.
_QUANTILE = (
    f"{{'low': {_LOWS}[CAST(floor({_PLACE}) AS BIGINT) + 1], 'high': {_HIGHS}[CAST(ceil({_PLACE}) AS BIGINT) + 1]}}"
)

MACROS = (
    Macro("tv_count_between", (*LABEL, "low", "high"), _between("")),
    Macro("tv_share_between", (*LABEL, "low", "high"), _between(" / nullif(count(label), 0)")),
    Macro("tv_mean", LABEL, _MEAN),
    Macro(
        "tv_min",
        LABEL,
        "{'low': CASE WHEN count(label_from) = count(label) THEN min(label_from) END, 'high': min(label_to)}",
    ),
    Macro(
        "tv_max",
        LABEL,
        "{'low': max(label_from), 'high': CASE WHEN count(label_to) = count(label) THEN max(label_to) END}",
    ),
    Macro("tv_median", LABEL, _MEDIAN),
    Macro("tv_quantile", (*LABEL, "fraction"), _QUANTILE),
)
"""In the order in which the guide of analysts tells of them."""

_ENDS_WANTED = "error('width_bucket: expected two different ends and more than 0 buckets')"

WIDTH_BUCKET = Macro(
    "width_bucket",
    ("operand", "low", "high", "buckets"),
    f"CASE WHEN low = high OR buckets <= 0 THEN CAST({_ENDS_WANTED} AS BIGINT) "
    "WHEN (low < high AND operand < low) OR (low > high AND operand > low) THEN 0 "
    "WHEN (low < high AND operand >= high) OR (low > high AND operand <= high) THEN CAST(buckets + 1 AS BIGINT) "
    "ELSE CAST(floor((operand - low) * buckets / (high - low)) + 1 AS BIGINT) END",
)
"""As SQL:2003 and PostgreSQL have it; DuckDB has none."""
