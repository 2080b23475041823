"""Rows put into a table by one statement: one for each row takes longer than most tests do anything else."""

from collections.abc import Iterable

from tableveil.backend import Session


def insert(session: Session, table: str, rows: Iterable[Iterable[object]]) -> None:
    """Inserts the rows into the table of that name, which is SQL, in their order."""
    listed = [tuple(row) for row in rows]
    places = f"({', '.join('?' * len(listed[0]))})"
    session.execute(f"INSERT INTO {table} VALUES {', '.join([places] * len(listed))}", sum(listed, ()))
