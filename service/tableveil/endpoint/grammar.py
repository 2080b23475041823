"""The parts of SQL that analysts may use, in sqlglot's tree of a statement and in that of DuckDB's own parser.

There are the lists of them, what refuses others, and edits of a statement's text.
"""

import logging
import re
from collections.abc import Collection, Iterable
from datetime import datetime

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

from tableveil.answers import MACROS, WIDTH_BUCKET
from tableveil.backend import folded
from tableveil.errors import InvalidError, nearest, shortened

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

FILTERED = {macro.name: macro.filtered for macro in MACROS}
"""Functions that stand for those of labels with FILTER; no statement of an analyst has them."""

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


def is_answer(node: exp.Expr) -> bool:
    """Whether it is a call of a function of labels, with FILTER or without."""
    of = node.unnest()
    return is_call(of.this if isinstance(of, exp.Filter) else of, ANSWERS)


Edit = tuple[int, int, str]
"""The first character, the one after the last, and the text in place of those between."""


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with parts of it replaced; of two edits of one place the first counts."""
    parts, done = list[str](), 0
    for start, end, replacement in sorted(set(edits)):
        if start >= done:
            parts += [text[done:start], replacement]
            done = end
    return "".join([*parts, text[done:]])


def end_of(column: exp.Expr) -> int | None:
    """The place behind a column in the text."""
    # sqlglot puts a table before a column that was written without one.
    parts = [part for part in column.parts if "end" in part.meta] if isinstance(column, exp.Column) else []
    return int(parts[-1].meta["end"]) + 1 if parts else None


def quoted(name: str, quote: str = '"') -> str:
    """A name as an identifier in quotes, or a text as a literal."""
    return quote + name.replace(quote, quote * 2) + quote


FIELD = "statement"
MOST_IN_SERIES = 1_000_000
"""The most numbers or times that one call of a series may give."""

_WORD = re.compile(r"[A-Za-z_]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")
_PARTS_OF_TABLES = frozenset({"this", "db", "catalog", "alias", "joins", "sample", "laterals", "pivots"})
_SECONDS = {
    **{"MICROSECOND": 1e-6, "MILLISECOND": 1e-3, "SECOND": 1.0, "MINUTE": 60.0, "HOUR": 3_600.0},
    **{"DAY": 86_400.0, "WEEK": 604_800.0, "MONTH": 28 * 86_400.0, "QUARTER": 90 * 86_400.0, "YEAR": 365 * 86_400.0},
}
"""At least so many seconds has each unit."""


def require_allowed(tree: exp.Expr) -> None:
    """Raises `InvalidError` if a part is none of those that only compute."""
    for node in tree.walk():
        if type(node) not in NODES:
            raise refused(f"{node.key.upper()}", "parts of SELECT that only compute")
        if isinstance(node, exp.Anonymous):
            _require_call(node)
        elif (misfit := _misfit(node)) is not None:
            raise refused(*misfit)


def _misfit(node: exp.Expr) -> tuple[str, str] | None:
    """The form of a part that only computes in other forms, and the form that is expected."""
    match node:
        case exp.DataType() if node.this not in TYPES:
            return f"the type {shortened(node.sql(AnalystSql))}", "a type of values"
        case exp.Var() if not _WORD.fullmatch(node.name):
            return shortened(node.name), "a word"
        case exp.Literal() if not node.is_string and not _NUMBER.fullmatch(node.name):
            return shortened(node.name), "a number"
        case exp.Placeholder() if not (node.name in ("", "?") or node.name.isdecimal() or _NAME.fullmatch(node.name)):
            return f"the parameter {shortened(node.name)}", "?, a number such as $1, or a name such as $age"
        case exp.Table() if more := {part for part, value in node.args.items() if value} - _PARTS_OF_TABLES:
            return f"{', '.join(sorted(more)).upper()} of a table", "a table as it is"
        case exp.Dot() if not (is_answer(node.this) and isinstance(node.expression, exp.Identifier)):
            return "a part of a value", "parts of what functions of labels answer, such as (tv_mean(age)).low"
        case exp.Lateral() if not isinstance(node.this, (exp.Subquery, exp.Unnest)):
            return "a table function", "tables of releases"
        case exp.In() if isinstance(node.parent, exp.Pivot) and node.args.get("field") is not None:
            return "a name in IN", "values in brackets"
    return None


def _require_call(node: exp.Anonymous) -> None:
    name = folded(node.name)
    stands_in_from = isinstance(node.parent, exp.Table)
    if name in SERIES:
        _require_short(node)
    elif name == COLUMNS and not stands_in_from:
        # It takes a star, a pattern, or a list of names; no function of names.
        (named,) = node.expressions if len(node.expressions) == 1 else (None,)
        items = named.expressions if isinstance(named, exp.Array) else [named]
        if not isinstance(named, exp.Star) and not all(isinstance(of, exp.Literal) and of.is_string for of in items):
            raise refused("COLUMNS of something else", "COLUMNS(*), COLUMNS('pattern') or COLUMNS(['name', 'name'])")
    elif name not in (SERIES if stands_in_from else FUNCTIONS | ANSWERS | MADE | {UNNEST}):
        hint = nearest(name, SERIES if stands_in_from else FUNCTIONS | ANSWERS) or ""
        raise refused(f"the function {shortened(name)}", "a function that only computes", hint)


def _require_short(node: exp.Anonymous) -> None:
    """A series has ends that are written down, and few enough steps between them."""
    values = [value for argument in node.expressions if (value := _point(argument)) is not None]
    expected = f"numbers, dates or times as they are, with at most {MOST_IN_SERIES:,} steps between them"
    if not 1 <= len(values) <= 3 or len(values) < len(node.expressions):
        raise refused(f"{shortened(node.name)} of something else", expected)
    first, last, step = (0.0, values[0], 1.0) if len(values) == 1 else (*values, 1.0)[:3]
    if step and abs((last - first) / step) > MOST_IN_SERIES:
        raise refused(f"{shortened(node.name)} of more steps", expected)


def _point(node: exp.Expr) -> float | None:
    """A number, a date or time in seconds, or the least seconds of an interval, if it is written down."""
    if isinstance(node, exp.Neg):
        value = _point(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal():
        return float(node.name)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        try:
            return (datetime.fromisoformat(node.this.name).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
        except ValueError:
            return None
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) and isinstance(node.unit, exp.Var):
        seconds = _SECONDS.get(node.unit.name.upper().removesuffix("S"))
        number = re.fullmatch(r"-?[0-9]{1,9}", node.this.name)
        return float(number[0]) * seconds if seconds is not None and number else None
    return None


def refused(found: str, expected: str, hint: str = "") -> InvalidError:
    """The error for a part of a statement."""
    return InvalidError.of("STATEMENT_INVALID", FIELD, found, expected, hint)
