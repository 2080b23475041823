"""Whether columns can be loaded: their names differ, and their types hold single values."""

from collections import Counter
from collections.abc import Callable, Sequence

from sqlglot import exp

from tableveil.backend import Session, render
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.source.tables import kind_of, shown_type

MOST_COLUMNS = 4000
"""Columns of a load, unless the operator allows more: the database holds some 30 KB for each while it reads CSV."""


def check_names(
    names: Sequence[str], most: int = MOST_COLUMNS, hint: Callable[[str, int], str] = lambda name, position: ""
) -> None:
    """Raises `InvalidError` if there are none or too many, or some are empty, or equal apart from their case.

    The hint is for a name and its last position.
    """
    if len(names) > most:
        fewer = "Load fewer of them, or allow more with --most-columns, of the server and of the load."
        actual, expected = f"{len(names):,} columns", f"at most {most:,}"
        raise InvalidError.of("COLUMNS_TOO_MANY", "columns", actual, expected, fewer)
    faults = [] if names else [Fault("columns", "none", "at least one")]
    faults += [
        Fault(f"column {position}", "no name", "a name for every column", hint(name, position))
        for position, name in enumerate(names, start=1)
        if not name.strip() or "\0" in name
    ]
    shown = {name.casefold(): name for name in reversed(names) if name.strip()}
    for folded, times in Counter(name.casefold() for name in names if name.strip()).items():
        if times > 1:
            positions = [i for i, name in enumerate(names, start=1) if name.casefold() == folded]
            actual = f"{shortened(shown[folded])} {times} times, as columns {', '.join(map(str, positions))}"
            expected = "names that differ, and not only in case"
            faults.append(Fault("columns", actual, expected, hint(shown[folded], positions[-1])))
    if faults:
        raise InvalidError.about("COLUMNS_INVALID", "the columns cannot be loaded", faults)


def check_equal_columns(columns: Sequence[object], files: Sequence[str]) -> None:
    """Raises `InvalidError` for files whose columns are not those of the first one, in their order."""
    faults = [
        Fault(shortened(file), "other columns, or another order of them", f"the columns of {shortened(files[0])}")
        for file, source_column in zip(files, columns, strict=True)
        if source_column != columns[0]
    ]
    if faults:
        raise InvalidError.about("COLUMNS_DIFFER", "the files have different columns", faults)


def check_types(session: Session, query: exp.Select) -> tuple[tuple[str, str], ...]:
    """The columns of a query as (name, type).

    Raises:
        InvalidError: with every column whose values are nested.
    """
    columns = tuple((name, type_) for name, type_, *_ in session.rows(f"DESCRIBE {render(query)}"))
    faults = [
        Fault(
            shortened(name),
            f"type {shown_type(type_)}",
            "a type of single values",
            "Take its values apart, or make them text, before you load them.",
        )
        for name, type_ in columns
        if kind_of(type_) is None and type_ != "INTERVAL"
    ]
    if faults:
        raise InvalidError.about("TYPES_INVALID", "some columns cannot be loaded", faults)
    return columns
