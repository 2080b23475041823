"""Writes the rows that chance left of classes to a temporary table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, column, drop, table
from tableveil.source.model import DRAWN

_POSITIONAL = "drawn_positions"


def write_drawn(
    session: Session, columns: Sequence[str], labels: Sequence[Sequence[str | None]], left: NDArray[np.int64]
) -> None:
    """Creates the table `DRAWN`: as many rows of each class as are `left`, with its label in each column.

    The rows of an earlier draw in the session are dropped. Call it in a transaction.
    """
    for name in (DRAWN.table, _POSITIONAL):
        session.execute(drop("TABLE", table(name, DRAWN.schema, DRAWN.catalog), if_exists=True))
    data = {f"c{j}": pa.array(list(found), pa.string()) for j, found in enumerate(labels)}
    names = ", ".join(data)
    with session.relation("drawn_classes", pa.table({**data, "n": pa.array(left, pa.int64())})):
        session.stage(
            _POSITIONAL, f"SELECT {names} FROM (SELECT *, unnest(range(n)) FROM drawn_classes) ORDER BY {names}"
        )
    shown = [alias(column(f"c{j}"), name) for j, name in enumerate(columns)]
    session.stage(DRAWN.table, exp.select(*shown).from_(table(_POSITIONAL)))
    session.execute(drop("TABLE", table(_POSITIONAL)))
