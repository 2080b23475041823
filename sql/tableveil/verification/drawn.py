"""Checks drawn rows against the table that they were drawn from: each stands for a record that is there."""

from collections.abc import Sequence

from tableveil.backend import Session
from tableveil.verification.text import Name, quoted


def covers(session: Session, source: Name, drawn: Name, columns: Sequence[tuple[str, str, str]]) -> bool:
    """Whether the source has at least as many records of every class as were drawn.

    `columns` are names, with the table that has the `code` of each `text` of the column, and the one that has the
    `label` of each `code`; a text without a code has no label.
    """
    labels = ", ".join(
        f"(SELECT any_value(l.label) FROM {quoted(codes)} AS c JOIN {quoted(of)} AS l USING (code) "
        f"WHERE c.text = s.{quoted(name)}::VARCHAR) AS q{j}"
        for j, (name, codes, of) in enumerate(columns)
    )
    names = ", ".join(quoted(name) for name, _, _ in columns)
    positions = ", ".join(f"q{j}" for j, _ in enumerate(columns))
    same = " AND ".join(f"d.q{j} IS NOT DISTINCT FROM r.q{j}" for j, _ in enumerate(columns))
    missing: int = session.value(
        f"WITH d AS (SELECT {positions}, count(*) AS n FROM (SELECT {names} FROM {quoted(*drawn)}) AS x({positions}) "
        f"GROUP BY ALL), r AS (SELECT {positions}, count(*) AS n FROM (SELECT {labels} FROM {quoted(*source)} AS s) "
        f"GROUP BY ALL) SELECT count(*) FROM d LEFT JOIN r ON {same} WHERE r.n IS NULL OR r.n < d.n"
    )
    return missing == 0
