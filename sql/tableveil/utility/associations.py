"""How strongly columns are associated, in the source and in the release: by codes and numbers of a sample of rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, column, drop, expression, left_join, number, sql, table
from tableveil.hierarchy.labelled import TOP_LABEL
from tableveil.hierarchy.levels import middle_reader
from tableveil.usefulness import Association, contingency, cramers_v
from tableveil.utility.compared import MOST_ROWS, Compared, Sides
from tableveil.utility.spreads import MOST_LABELS

MOST_ASSOCIATED = 20
"""The most columns that are compared with each other: 190 pairs."""

GROUPS = 10
"""The number of about equally large groups that numbers are divided into for comparisons with categories."""

MOST_CATEGORIES = 49
"""The most frequent ones; all others are one more."""

Measured = dict[tuple[int, int, str], float | None]

Edges = dict[int, Sequence[float]]
"""By the position of a column of numbers, where its groups end in the source: released ones are divided there, too."""


def associations(session: Session, sides: Sides, columns: Sequence[Compared]) -> tuple[Association, ...]:
    """Pearson's correlation of every two columns of numbers, and Cramér's V of every two columns.

    Labels of numbers stand for the middle of their interval, and are divided where the source's numbers are. Pairs are
    in the order of the columns.
    """
    edges: Edges = {}
    before = _measured(session, sides.before(), columns, edges, released=False)
    after = _measured(session, sides.after(), columns, edges, released=True)
    return tuple(
        Association(columns[i].name, columns[j].name, measure, before.get((i, j, measure)), after.get((i, j, measure)))
        for i, j in combinations(range(len(columns)), 2)
        for measure in ("correlation", "cramers_v")
        if measure == "cramers_v" or (columns[i].has_numbers and columns[j].has_numbers)
    )


def _measured(
    session: Session, rows: exp.Expr, columns: Sequence[Compared], edges: Edges, *, released: bool
) -> Measured:
    sample = table("utility_sample")
    sized = session.value(sql("SELECT count(*) FROM $rows", rows=rows))
    taken = f"USING SAMPLE reservoir({MOST_ROWS} ROWS) REPEATABLE (1)" if sized > MOST_ROWS else ""
    names = [column(compared.name, "rows") for compared in columns]
    session.stage(sample.name, sql(f"SELECT $names FROM $rows {taken}", names=names, rows=rows))
    query = exp.select().from_(table(sample.name, alias="rows"))
    side = _Side(session, edges, released)
    for i, compared in enumerate(columns):
        query = side.coded(query, compared, i)
    coded = table("utility_coded")
    session.stage(coded.name, query, side.bound)
    measured = _correlations(session, coded, columns) | _contingencies(session, coded, columns)
    for made in (sample, coded, *(table(f"utility_labels_{i}") for i in range(len(columns)))):
        session.execute(drop("TABLE", made.copy(), if_exists=True))
    return measured


@dataclass(frozen=True, slots=True)
class _Side:
    """The source or the release; the edges of a source's numbers are added to `edges`, values of queries to `bound`."""

    session: Session
    edges: Edges
    released: bool
    bound: list[float] = field(default_factory=list)

    def coded(self, query: exp.Select, compared: Compared, i: int) -> exp.Select:
        """The query with the column's number `x` and its code `c`, and its position; NULL where labels say nothing."""
        if compared.has_numbers and not (self.released and compared.labelled):
            value = compared.number("rows")
            if not self.released:
                self.edges[i] = self._edges_of(value)
            above: exp.Expr = number(0)
            for edge in self.edges[i]:
                self.bound.append(edge)
                more = expression(f"CAST($value > ${len(self.bound)} AS INTEGER)", value=value)
                above = exp.Add(this=above, expression=more)
            return query.select(alias(value.copy(), f"x{i}"), alias(above, f"c{i}"))
        labels, joined = f"utility_labels_{i}", f"l{i}"
        _make_labels(self.session, compared, labels, self.edges.get(i, ()), released=self.released)
        same = expression(f"CAST($value AS VARCHAR) = {joined}.label", value=column(compared.name, "rows"))
        query = left_join(query, table(labels, alias=joined), same)
        return query.select(expression(f"{joined}.x AS x{i}"), expression(f"{joined}.code AS c{i}"))

    def _edges_of(self, value: exp.Expr) -> list[float]:
        """The quantiles that part the source's numbers into groups."""
        shares = ", ".join(str(q / GROUPS) for q in range(1, GROUPS))
        cuts = sql(f"SELECT quantile_cont($value, [{shares}]) FROM utility_sample AS rows", value=value)
        return sorted(set(self.session.value(cuts) or []))


def _make_labels(session: Session, compared: Compared, target: str, edges: Sequence[float], *, released: bool) -> None:
    """A table of the labels that say something, with the numbers they stand for, and their codes.

    Codes are the groups of the numbers, which the edges part, or count the other labels by frequency.
    """
    counted = (
        "SELECT CAST($value AS VARCHAR) AS label, count(*) AS n FROM utility_sample AS rows WHERE $value IS NOT NULL "
        f"GROUP BY 1 ORDER BY n DESC, label LIMIT {MOST_LABELS}"
    )
    labels = [label for label, _ in session.rows(sql(counted, value=column(compared.name, "rows")))]
    if released and compared.generalized:
        labels = [label for label in labels if label != TOP_LABEL]
    read = middle_reader(compared.kind) if compared.has_numbers else None
    numbers = [None if read is None else read(label) for label in labels]
    frequent = np.minimum(np.arange(len(labels)), MOST_CATEGORIES)
    codes = [
        GROUPS + rank if value is None else int(np.searchsorted(edges, value))
        for rank, value in zip(frequent.tolist(), numbers, strict=True)
    ]
    data = pa.table(
        {
            "label": pa.array(labels, pa.string()),
            "code": pa.array(codes, pa.int64()),
            "x": pa.array(numbers, pa.float64()),
        }
    )
    session.keep(target, data)


def _correlations(session: Session, coded: exp.Table, columns: Sequence[Compared]) -> Measured:
    numeric = [i for i, compared in enumerate(columns) if compared.has_numbers]
    pairs = list(combinations(numeric, 2))
    if not pairs:
        return {}
    # Divided by the greatest, so that no square overflows; this does not change the correlation.
    greatest = ", ".join(f"max(abs(x{i}))" for i in numeric)
    scales = [scale or 1.0 for scale in session.row(sql(f"SELECT {greatest} FROM $coded", coded=coded))]
    scaled = {i: f"x{i} / ${n}" for n, i in enumerate(numeric, 1)}
    wanted = ", ".join(f"corr({scaled[i]}, {scaled[j]})" for i, j in pairs)
    row = session.row(sql(f"SELECT {wanted} FROM $coded", coded=coded), scales)
    return {
        (i, j, "correlation"): None if value is None or value != value else float(value)
        for (i, j), value in zip(pairs, row, strict=True)
    }


def _contingencies(session: Session, coded: exp.Table, columns: Sequence[Compared]) -> Measured:
    measured: Measured = {}
    for i, j in combinations(range(len(columns)), 2):
        counted = (
            f"SELECT CAST(c{i} AS BIGINT) AS first, CAST(c{j} AS BIGINT) AS second, count(*) AS n FROM $coded "
            f"WHERE NOT c{i} IS NULL AND NOT c{j} IS NULL GROUP BY 1, 2"
        )
        arrays = session.arrays(sql(counted, coded=coded))
        measured[i, j, "cramers_v"] = cramers_v(contingency(arrays["first"], arrays["second"], arrays["n"]))
    return measured
