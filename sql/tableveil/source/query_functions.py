"""The functions of a source query: by DuckDB's own catalog, their results depend on their arguments alone."""

from collections.abc import Mapping

from tableveil.backend import Session, catalog
from tableveil.errors import Fault, shortened
from tableveil.source.query_statement import FIELD, read_statement

_NOT_CONSISTENT = frozenset(
    {
        "current_localtime",
        "current_localtimestamp",
        "index_key",
        "json_deserialize_sql",
        "json_serialize_plan",
        "json_serialize_sql",
        "reservoir_quantile",
    }
)
"""Functions that depend on more, though the catalog calls them consistent: times of day, samples, readers."""


def check_functions(session: Session, functions: Mapping[str, str]) -> list[Fault]:
    """Faults of functions by their name in lower case, each with its place in the text.

    Unknown names are left to the database, which knows other meanings of them.
    """
    faults: list[Fault] = []
    looked_at: set[str] = set()
    waiting = dict(functions)
    while waiting:
        looked_at |= set(waiting)
        inside: dict[str, str] = {}
        for function in catalog.functions(session, waiting):
            name, where = function.name, waiting[function.name]
            if not function.built_in:
                hint = "A macro may change, and may read anything: write out what it stands for."
                faults.append(Fault(FIELD, f"the macro {shortened(name)}{where}", "functions that are built in", hint))
            elif name in _NOT_CONSISTENT or not function.consistent:
                expected = "functions whose results depend on their arguments alone"
                hint = "The source must have the same rows whenever it is read."
                faults.append(Fault(FIELD, f"{shortened(name)}{where}", expected, hint))
            for definition in function.definitions:
                statement, _ = read_statement(session, f"SELECT {definition}")
                inside |= dict.fromkeys(statement.functions if statement is not None else (), where)
        waiting = {name: where for name, where in inside.items() if name not in looked_at}
    return faults
