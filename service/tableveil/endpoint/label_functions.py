"""Functions by what they do to labels and to their bounds."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import folded
from tableveil.endpoint.grammar import ANSWERS

_EXTREMES = """
min max median quantile quantile_cont quantile_disc approx_quantile mad greatest least list_sort
"""

_AVERAGES = """
avg mean favg sum fsum sumkahan geometric_mean product stddev stddev_pop stddev_samp variance var_pop var_samp skewness
kurtosis sem
"""

_CORRELATIONS = """
corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
"""

_TRUNCATING = """
floor ceil ceiling round trunc even date_trunc datetrunc date_part datepart time_bucket strftime century day dayname
dayofmonth dayofweek dayofyear decade era hour isodow isoyear last_day millennium minute month monthname quarter second
week weekday weekofyear width_bucket year yearweek
"""

_BY_SECOND = "arg_min arg_max min_by max_by"

_SAME = f"""
any_value first last mode coalesce ifnull nullif lag lead first_value last_value nth_value list array_agg {_BY_SECOND}
"""

_TEXTS_OF_GROUPS = "string_agg group_concat listagg histogram"

_HARMLESS = f"""
count approx_count_distinct count_if count_star typeof hash concat concat_ws grouping grouping_id length len
constant_or_null entropy list_contains list_has list_value list_position list_distinct {_TEXTS_OF_GROUPS}
"""

_OTHER_AGGREGATES = (
    f"count any_value first last list array_agg mode count_if count_star bool_and bool_or {_TEXTS_OF_GROUPS}"
)

EXTREMES, AVERAGES, CORRELATIONS, TRUNCATING, SHARES = (
    frozenset(names.split())
    for names in (_EXTREMES, _AVERAGES, _CORRELATIONS, _TRUNCATING, "histogram mode entropy approx_count_distinct")
)
"""Functions that order, add up, relate, truncate, or group by their arguments."""

BY_SECOND = frozenset(_BY_SECOND.split())
"""Functions that order by their second argument."""

DIVIDING = frozenset({"ntile", "percent_rank", "cume_dist"})
"""Windows that give records of one label different places, or a share of all."""

SAME = frozenset(_SAME.split())
"""Functions whose result is one of their arguments."""

HARMLESS = frozenset(_HARMLESS.split())
"""Functions that take labels as they are."""

IN_ROWS = frozenset({"greatest", "least", "list_sort"})
"""Functions that order the values of one row."""

AGGREGATES = ANSWERS.union(_OTHER_AGGREGATES.split(), AVERAGES, CORRELATIONS, BY_SECOND, EXTREMES - IN_ROWS)
"""Functions whose result is one of a group."""


def aggregates(item: exp.Expr) -> bool:
    """Whether an item of SELECT is of groups, not of rows."""
    calls = (call for call in item.find_all(exp.Anonymous) if not isinstance(call.parent, exp.Window))
    return any(folded(call.name) in AGGREGATES for call in calls)
