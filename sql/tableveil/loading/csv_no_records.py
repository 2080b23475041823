"""Says how many lines of a CSV file seem to be no records, before they are loaded as such."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from tableveil.backend import Session
from tableveil.loading.csv_converted import as_stored, plain
from tableveil.loading.csv_file import scan
from tableveil.loading.model import CsvFormat
from tableveil.source.no_records import no_records


def lines_without_records(
    session: Session, path: Path, how: CsvFormat, names: Sequence[str], numeric: Collection[str]
) -> tuple[str, ...]:
    """A sentence on lines of totals, notes or nothing; `numeric` are the columns of numbers."""
    rows, rejected = scan({path: ""}, how, dict.fromkeys(names, "VARCHAR"))
    columns = {name: plain(how, name) for name in names}
    found = no_records(session, rows, columns, {name: as_stored(how, name, "DOUBLE") for name in numeric})
    rejected(session)
    lines = sum(one.rows for one in found)
    if not lines:
        return ()
    which = "A line seems" if lines == 1 else f"{lines:,} lines seem"
    return (
        f"{which} to be totals of the others, a note or empty, and would count as people: delete such lines, or take "
        "the query without them that a proposal writes.",
    )
