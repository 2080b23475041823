"""The warehouses of a server: declared by its operator, examined by the doctor, closed at the end."""

from collections.abc import Iterator, Sequence

from tableveil.backend import Database
from tableveil.counting.cost import memory_limit
from tableveil.errors import TableveilError
from tableveil.operate import Finding, Level
from tableveil.spark import declared_warehouses

COLLECTED_SHARE = 4
"""A job collects at most the database's memory limit by this at a time: it is there as Arrow and as a table."""


def open_warehouses(database: Database, declarations: Sequence[str]) -> None:
    """Gives the database the warehouses that the operator declared; see `declared_warehouses` for the errors."""
    if not declarations:
        return
    directory = database.path.with_name(f".{database.path.name}.warehouses")
    with database.session() as session:
        most_collected = memory_limit(session) // COLLECTED_SHARE
        database.warehouses.update(declared_warehouses(declarations, session.catalog, directory, most_collected))


def examine_warehouses(database: Database) -> Iterator[Finding]:
    """A finding for each: whether its server answers."""
    for name, warehouse in database.warehouses.items():
        subject = f"warehouse {name}"
        try:
            with database.session() as session, warehouse.session(session):
                yield Finding(Level.OK, subject, "it answers")
        except TableveilError as error:
            (fault,) = error.faults or (None,)
            actual, advice = (fault.found, fault.hint) if fault else (error.code, "")
            yield Finding(Level.PROBLEM, subject, actual, advice)


def close_warehouses(database: Database) -> None:
    """Ends what was started for them."""
    for warehouse in database.warehouses.values():
        warehouse.close()
