"""Names of tables, jobs and results: `jobs/3`, or just `3` where the collection is clear."""

from typing import Protocol

from google.api import resource_pb2
from google.protobuf.message import Message

from tableveil.errors import InvalidError, shortened
from tableveil.v1 import policy_pb2

JOBS = "jobs"
LOADS = "loads"
DRY_RUNS = "dryRuns"
RELEASES = "releases"
TOKENS = "tokens"
GRANTS = "grants"
WORKSHEETS = "worksheets"
HIERARCHIES = "hierarchies"
PRIVACY_BUDGETS = "privacyBudgets"
SCHEMAS = "schemas"
SCHEMA_RULES = "schemaRules"
TARGETS = "targets"


class Named(Protocol):
    """The message of a resource, such as a job."""

    @property
    def name(self) -> str:
        """Its full name."""


Name = str | int | Named
"""A job or a result: `jobs/3`, `"3"`, 3, or its message."""


def text_of(name: Name) -> str:
    """The name as a text."""
    return str(name) if isinstance(name, str | int) else name.name


def resource_name(collection: str, name: Name, field: str = "name") -> str:
    """The full name of the resource: `3` and `jobs/3` both become `jobs/3`.

    Raises:
        InvalidError: It is no name of that collection.
    """
    text = text_of(name)
    prefix, _, number = text.rpartition("/")
    # Digits of other scripts are digits to Python, but not to the service.
    if prefix in ("", collection) and number.isascii() and number.isdigit():
        return f"{collection}/{int(number)}"
    of_job = collection != JOBS and (not text or prefix == JOBS)
    hint = "The `result` of a job that has succeeded names what it made." if of_job else ""
    expected = f"`{collection}/` and a number, or the number alone"
    raise InvalidError.of("NAME_INVALID", field, shortened(text), expected, hint)


def collection_of(kind: type[Message]) -> str:
    """The collection of a resource, as its proto declares it: `frontiers` for a `Frontier`."""
    pattern: str = kind.DESCRIPTOR.GetOptions().Extensions[resource_pb2.resource].pattern[0]
    return pattern.partition("/")[0]


def full_name(collection: str, text: str) -> str:
    """The full name of a resource without a number: `clinic` and `schemas/clinic` both become `schemas/clinic`."""
    return text if text.startswith(f"{collection}/") else f"{collection}/{text}"


def table_reference(table: str | policy_pb2.TableReference) -> policy_pb2.TableReference:
    """The table of that name; the part before the first dot is the schema."""
    if not isinstance(table, str):
        return table
    first, dot, rest = table.partition(".")
    return policy_pb2.TableReference(schema=first, table=rest) if dot else policy_pb2.TableReference(table=table)


def source_reference(table: str | policy_pb2.TableReference, schema: str | None = None) -> policy_pb2.TableReference:
    """The table of that name that rows are read from, which may be in a warehouse: `lake.clinic.visits`.

    With a schema, such as `lake.clinic`, the name has all its dots. If there is no such warehouse, the server takes the
    names for those of a schema, or of a table, that has a dot.
    """
    if not isinstance(table, str):
        return table
    if schema is not None:
        catalog, dot, rest = schema.partition(".")
        return policy_pb2.TableReference(catalog=catalog if dot else "", schema=rest if dot else schema, table=table)
    parts = table.split(".", 2)
    if len(parts) < 3:
        return table_reference(table)
    return policy_pb2.TableReference(catalog=parts[0], schema=parts[1], table=parts[2])
