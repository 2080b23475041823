"""The parts of SQL that analysts may use: kinds of nodes in sqlglot's trees, types, and functions by their names."""

from __future__ import annotations

import logging
from collections.abc import Collection

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

from tableveil.answers import MACROS, Macro
from tableveil.backend import folded

_WANTED = "error('width_bucket: expected two different ends and more than 0 buckets')"

WIDTH_BUCKET = Macro(
    "width_bucket",
    ("operand", "low", "high", "buckets"),
    f"CASE WHEN low = high OR buckets <= 0 THEN CAST({_WANTED} AS BIGINT) "
    "WHEN (low < high AND operand < low) OR (low > high AND operand > low) THEN 0 "
    "WHEN (low < high AND operand >= high) OR (low > high AND operand <= high) THEN CAST(buckets + 1 AS BIGINT) "
    "ELSE CAST(floor((operand - low) * buckets / (high - low)) + 1 AS BIGINT) END",
)
"""As SQL:2003 and PostgreSQL have it; DuckDB has none."""


# It would write statements of analysts into the log.
logging.getLogger("sqlglot").disabled = True


class AnalystSql(DuckDB):
    """DuckDB's SQL, in which a call is a name and its arguments, except where it has words among them.

    sqlglot has classes of its own for many functions.
    """

    class Parser(DuckDBParser):  # noqa: D106
        FUNCTIONS = {}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: DuckDBParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT")
        }


_AGGREGATES = """
any_value approx_count_distinct approx_quantile arg_max arg_min array_agg avg bit_and bit_or bit_xor bool_and bool_or
corr count count_if count_star covar_pop covar_samp entropy favg first fsum geometric_mean group_concat grouping
grouping_id histogram kurtosis kurtosis_pop last list listagg mad max max_by mean median min min_by mode
percentile_cont percentile_disc product
quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum sumkahan var_pop var_samp variance
"""

_WINDOWS = """
cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
"""

_NUMBERS = """
abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp floor gcd greatest hash isfinite isinf isnan lcm
least ln log log10 log2 mod pi pow power radians random round sign sin sqrt tan trunc
"""

_TEXTS = """
ascii bit_length chr concat concat_ws contains damerau_levenshtein editdist3 ends_with format hamming instr jaccard
jaro_similarity jaro_winkler_similarity lcase left length levenshtein lower lpad ltrim md5 prefix regexp_extract
regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array replace reverse right rpad
rtrim sha256 split split_part starts_with str_split string_split strip_accents strlen strpos substr substring suffix
translate trim ucase unicode upper
"""

_TIMES = """
age century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
dayofweek dayofyear decade epoch epoch_ms era hour isodow isoyear last_day make_date make_time make_timestamp
microsecond millennium millisecond minute month monthname now quarter second strftime strptime time_bucket to_days
to_hours to_minutes to_months to_seconds to_weeks to_years today try_strptime week weekday weekofyear year yearweek
"""

_OTHERS = """
array_length coalesce constant_or_null enum_code enum_range ifnull len list_aggregate list_avg list_contains
list_distinct list_has list_max list_min list_position list_sort list_sum list_value nullif typeof
"""

AGGREGATES = frozenset(_AGGREGATES.split())
FUNCTIONS = frozenset(f"{_AGGREGATES} {_WINDOWS} {_NUMBERS} {_TEXTS} {_TIMES} {_OTHERS}".split())
"""Functions whose results depend on their arguments, the time and chance alone, by DuckDB's names in lower case.

None reads a file, a setting, the catalog, or a statement that it is given. None makes rows.
"""

COLUMNS = "columns"
"""The call that stands for columns by a star, by their names, or by a pattern of these."""

SERIES = frozenset({"generate_series", "range"})
"""Functions that count, in a list or as rows."""

UNNEST = "unnest"

MADE = frozenset({WIDTH_BUCKET.name})
"""Functions that the process of a query makes itself, beside those of labels."""

ANSWERS = frozenset(macro.name for macro in MACROS)
"""Functions of labels, which the process of a query makes itself."""

_NODES = """
Add Alias All And Anonymous Any Array Between BitwiseAnd BitwiseNot BitwiseOr Boolean Bracket CTE Case Cast Coalesce
Column Cube CurrentDate CurrentTimestamp DPipe DataType DataTypeParam Distinct Div Dot EQ Escape Except Exists Extract
Filter From GT GTE Group GroupingSets Having ILike Identifier If IgnoreNulls In IntDiv Intersect Interval Is Join LT LTE
Lateral Like Limit LimitOptions Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Offset Or Order Ordered Paren
Pivot Placeholder Pow Qualify RegexpLike RespectNulls Rollup Select SimilarTo Slice Star Sub Subquery Table TableAlias
TableSample TryCast Tuple Union Unnest UnpivotColumns Values Var Where Window WindowSpec With
WithinGroup
"""

NODES = frozenset(getattr(exp, name) for name in _NODES.split())
"""The kinds of nodes that a statement may have: parts of queries, operators, and calls of functions."""

_TYPES = """
ARRAY BIGINT BLOB BOOLEAN CHAR DATE DECIMAL DOUBLE FLOAT INT INT128 INTERVAL LIST SMALLINT TEXT TIME TIMESTAMP
TIMESTAMPNTZ TIMESTAMPTZ TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_S TINYINT UBIGINT UINT UINT128 USMALLINT UTINYINT UUID
VARCHAR
"""

TYPES = frozenset(exp.DType[name] for name in _TYPES.split())
"""The types to which values may be cast; any other, such as an ENUM of its own, is refused."""


def is_call(node: object, names: Collection[str]) -> bool:
    """Whether it is a call of one of these functions."""
    return isinstance(node, exp.Anonymous) and folded(node.name) in names
