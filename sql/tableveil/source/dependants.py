"""Views that read a table: the database drops the table even if they do."""

from collections.abc import Collection, Iterator

import sqlglot
from sqlglot import exp

from tableveil.backend import Session, catalog
from tableveil.errors import shortened


def views_reading(
    session: Session, dropped: Collection[tuple[str, str]], read: Collection[tuple[str, str]] = ()
) -> Iterator[str]:
    """Names views that read what is dropped or `read`, and are not dropped; schemas and names are in lower case."""
    for schema, name, text in catalog.views(session):
        is_dropped = (schema.casefold(), name.casefold()) in dropped
        if not is_dropped and not {*dropped, *read}.isdisjoint(_tables(schema, text)):
            seen = session.visibility.owned.has_table(schema, name)
            yield f"view {shortened(name)} in schema {shortened(schema)}" if seen else "a view that you may not see"


def _tables(schema: str, view: str) -> Iterator[tuple[str, str]]:
    """Schemas and names that a view in that schema reads, in lower case; a name alone may be found in several."""
    for node in sqlglot.parse_one(view, dialect="duckdb").find_all(exp.Table):
        name = node.name.casefold()
        yield from [(node.db.casefold(), name)] if node.db else [(schema.casefold(), name), ("main", name)]
