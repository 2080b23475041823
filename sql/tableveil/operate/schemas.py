"""Makes schemas for releases: tables need one to be released into, and nothing but the server may open the file."""

from sqlglot import exp

from tableveil.backend import Session, catalog, identifier
from tableveil.errors import ConflictError, InvalidError, shortened
from tableveil.state.migrate import SCHEMA

_LONGEST_NAME = 63
"""PostgreSQL, to which releases are published, has no longer ones."""


def create_schema(session: Session, name: str) -> None:
    """Creates a schema.

    Raises:
        InvalidError: no schema may have that name.
        ConflictError: there is one of that name, in any case.
    """
    if not name.isprintable() or name != name.strip() or not 0 < len(name.encode()) <= _LONGEST_NAME:
        expected = f"1 to {_LONGEST_NAME} bytes of visible characters, without spaces around them"
        raise InvalidError.of("SCHEMA_INVALID", "schema", shortened(name), expected)
    if name.casefold() in {*catalog.BUILT_IN_SCHEMAS, SCHEMA, session.catalog.casefold()}:
        expected = "a name that neither the database nor Tableveil has for itself"
        raise InvalidError.of("SCHEMA_INVALID", "schema", shortened(name), expected)
    with session.transaction():
        if name.casefold() in {schema.casefold() for schema in session.schemas()}:
            expected = "a name that no schema has, in any case"
            raise ConflictError.of("SCHEMA_EXISTS", "schema", f"schema {shortened(name)}, which is there", expected)
        session.execute(exp.Create(this=exp.Table(db=identifier(name)), kind="SCHEMA"))
