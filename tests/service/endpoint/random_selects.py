"""Random SELECTs of the shape that an endpoint allows, over the table `discharges` of `rows_of`."""

from collections import Counter
from collections.abc import Iterable
from random import Random

TABLE = "discharges"

_TEXTS = ("age", "ward", "upper(ward)", "left(age, 3)", "strftime(day, '%Y-%m')", "coalesce(age, 'none')")
_NUMBERS = ("age_from", "stay", "age_from + stay", "stay % 5", "abs(stay - 10)", "month(day)", "length(ward)", "-stay")
_AGGREGATES = (
    *("count(*)", "count(stay)", "count(DISTINCT ward)", "sum(stay)", "min(charge)", "max(charge)", "avg(age_from)"),
    *("median(stay)", "sum(stay) FILTER (WHERE stay > 7)", "string_agg(DISTINCT ward, ',' ORDER BY ward)"),
    *("quantile_cont(stay, 0.25)", "max(day)", "any_value(1)", "bool_or(stay > 3)"),
)  # fmt: skip
_WINDOWS = (
    *("rank() OVER (PARTITION BY ward ORDER BY charge)", "sum(stay) OVER (PARTITION BY age)"),
    "lag(charge) OVER (ORDER BY charge)",
    "count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL 9 DAY PRECEDING AND CURRENT ROW)",
)  # fmt: skip


def rows_of(count: int) -> str:
    """The query that makes the table, with so many rows."""
    return (
        "SELECT CASE WHEN i % 11 > 0 THEN '[' || 10 * (i % 9) || ', ' || 10 * (i % 9) + 10 || '[' END AS age, "
        "(10 * (i % 9))::INTEGER AS age_from, 'ward ' || i % 7 AS ward, (i * 7919 % 100003)::DOUBLE / 4 AS charge, "
        "DATE '2024-01-01' + (i % 366)::INTEGER AS day, CASE WHEN i % 13 > 0 THEN (i % 31)::INTEGER END AS stay, "
        "(10 * (i % 9) + 9)::INTEGER AS age_to, (i % 9 + 1)::BIGINT AS age_rank, i % 2 = 0 AS urgent, "
        "'case ' || i % 40 AS diagnosis "
        f"FROM range({count}) r(i)"
    )


def random_select(random: Random) -> str:
    """A statement whose rows do not depend on chance, but for their order."""
    make = random.choice((_plain, _grouped, _windows, _joined, _united, _common, _limited, _correlated))
    return make(random)


def agree(found: Iterable[tuple[object, ...]], expected: Iterable[tuple[object, ...]]) -> bool:
    """Whether both are the same rows in any order."""
    return Counter(found) == Counter(expected)


def _condition(random: Random, depth: int = 0) -> str:
    if depth < 2 and random.random() < 0.4:
        word = random.choice((" AND ", " OR "))
        return f"({word.join(_condition(random, depth + 1) for _ in range(random.randint(2, 3)))})"
    text, number, bound = random.choice(_TEXTS), random.choice(_NUMBERS), random.randint(-5, 60)
    return random.choice(
        (
            f"{number} {random.choice(('<', '<=', '=', '<>', '>='))} {bound}",
            f"{number} BETWEEN {bound} AND {bound + 20}",
            f"{number} IN ({bound}, {bound + 1}, NULL)",
            f"{text} {random.choice(('LIKE', 'NOT LIKE', 'ILIKE'))} '%{random.choice('123W[r')}%'",
            f"{random.choice(('age', 'stay'))} IS {random.choice(('', 'NOT '))}NULL",
            f"day >= DATE '2024-03-01' + INTERVAL {abs(bound)} DAY",
            f"NOT ({number} > {bound})",
            f"stay IS DISTINCT FROM {bound}",
        )
    )


def _expression(random: Random) -> str:
    number, text = random.choice(_NUMBERS), random.choice(_TEXTS)
    chosen = f"CASE WHEN {_condition(random)} THEN {number} ELSE -1 END"
    return random.choice((number, text, chosen, f"({number})::VARCHAR || {text}", "charge"))


def _plain(random: Random) -> str:
    columns = ", ".join(f"{_expression(random)} AS c{i}" for i in range(random.randint(1, 4)))
    return f"SELECT {random.choice(('', 'DISTINCT '))}{columns} FROM {TABLE} WHERE {_condition(random)}"


def _grouped(random: Random) -> str:
    keys = random.sample(_TEXTS, random.randint(0, 2))
    columns = [*keys, *random.sample(_AGGREGATES, random.randint(1, 3))]
    by = (
        ""
        if not keys
        else random.choice((f"GROUP BY {', '.join(keys)}", "GROUP BY ALL", f"GROUP BY ROLLUP ({', '.join(keys)})"))
    )
    having = random.choice(("", f" HAVING count(*) > {random.randint(0, 50)}")) if keys else ""
    return f"SELECT {', '.join(columns)} FROM {TABLE} WHERE {_condition(random)} {by}{having}"


def _windows(random: Random) -> str:
    window = random.choice(_WINDOWS)
    qualify = random.choice(("", " QUALIFY rank() OVER (PARTITION BY age ORDER BY charge DESC) <= 3"))
    return f"SELECT ward, charge, {window} AS w FROM {TABLE} WHERE {_condition(random)}{qualify}"


def _joined(random: Random) -> str:
    kind = random.choice(("JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"))
    right = f"(SELECT ward, max(stay) AS longest FROM {TABLE} WHERE {_condition(random)} GROUP BY ward)"
    return f"SELECT count(*), sum(l.stay) FROM {TABLE} l {kind} {right} r ON l.ward = r.ward AND l.stay = r.longest"


def _united(random: Random) -> str:
    word = random.choice(("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
    left, right = (f"SELECT ward, stay FROM {TABLE} WHERE {_condition(random)}" for _ in range(2))
    return f"{left} {word} {right}"


def _common(random: Random) -> str:
    return (
        f"WITH few AS (FROM {TABLE} WHERE {_condition(random)}), {TABLE} AS (SELECT * EXCLUDE (day) FROM few) "
        f"SELECT a.ward, count(*) FROM {TABLE} a JOIN few b USING (charge) GROUP BY a.ward"
    )


def _limited(random: Random) -> str:
    return (
        f"SELECT charge, ward, age, stay, day FROM {TABLE} WHERE {_condition(random)} "
        f"ORDER BY ALL {random.choice(('ASC', 'DESC'))} LIMIT {random.randint(0, 20)} OFFSET {random.randint(0, 5)}"
    )


def _correlated(random: Random) -> str:
    highest = f"SELECT max(i.charge) FROM {TABLE} i WHERE i.ward = o.ward AND {_condition(random)}"
    others = f"SELECT 1 FROM {TABLE} e WHERE e.stay = o.stay AND e.age_from > {random.randint(0, 90)}"
    return f"SELECT ward, ({highest}) FROM {TABLE} o WHERE EXISTS ({others})"
