"""Counts the different people of the rows that fit, for the effective k where people have several records.

Numbers of rows bound them: so many rows are of at least as many people as have the most records each, and a row that
does not fit takes away one person at most. Only where these bounds do not decide are rows and people paired.
"""

from __future__ import annotations

from collections.abc import Mapping

from tableveil.backend import Session
from tableveil.release.effective_rows import ROWS

SIZES = "effective_sizes"
"""Per class its `size`; and where people have several records, its `owners`, and the `most` records of one."""

OWNED_SIZES = (
    "SELECT class, sum(n)::BIGINT AS size, count(*) AS owners, max(n) AS most "
    f"FROM (SELECT class, w, count(*) AS n FROM {ROWS} GROUP BY ALL) GROUP BY class"
)

FIRST = 1000
"""How many own values are counted first: the least number of people found rules out most of the others."""


def fitting(excluding: Mapping[int, bool]) -> str:
    """The clause that leaves of the rows `held` those that fit the own values of `people`, by the fits of columns.

    Where fits are `excluding`, they list what does not fit.
    """
    return " ".join(
        f"{'ANTI' if excludes else ''} JOIN effective_fits_{i} AS f{i} "
        f"ON f{i}.class = people.class AND f{i}.p = people.p AND f{i}.v = held.v{i}"
        for i, excludes in excluding.items()
    )


def least_owners(session: Session, rows: str, excluding: Mapping[int, bool]) -> tuple[int, bool]:
    """The least number of people who have fitting rows, at least 1, and whether any row does not fit.

    The query `rows` has the `size` of each `class`, and `rows_left` for the own value `p`.
    """
    session.stage(
        "effective_bounds",
        "SELECT class, p, rows_left < size AS tells, greatest(1, least(owners, rows_left)) AS high, "
        "greatest(1, owners - (size - rows_left), (rows_left + most - 1) // most) AS low "
        f"FROM ({rows}) JOIN (SELECT class, owners, most FROM {SIZES}) USING (class)",
    )
    least, tells = session.row("SELECT min(high), bool_or(tells) FROM effective_bounds")
    wanted = FIRST
    for limit in (f"LIMIT {FIRST}", "") if least else ():
        if wanted >= FIRST:
            wanted = session.stage(
                "effective_wanted",
                f"SELECT class, p FROM effective_bounds WHERE low < high AND low < {least} "
                f"ORDER BY low, high, class, p {limit}",
            )
            least = min(least, _counted(session, excluding) if wanted else least)
            session.execute("DROP TABLE temp.main.effective_wanted")
    session.execute("DROP TABLE temp.main.effective_bounds")
    return int(least or 1), bool(tells)


def _counted(session: Session, excluding: Mapping[int, bool]) -> int:
    """The least number of people who have rows that fit one of the wanted own values."""
    values = ", ".join(f"v{i}" for i in excluding)
    counted: int = session.value(
        "SELECT min(owners) FROM (SELECT class, p, count(*) AS owners FROM ("
        "SELECT DISTINCT people.class, people.p, held.w FROM effective_wanted AS people "
        f"JOIN (SELECT DISTINCT class, w, {values} FROM {ROWS} WHERE class IN (SELECT class FROM effective_wanted)) "
        f"AS held USING (class) {fitting(excluding)}) GROUP BY ALL)"
    )
    return counted
