"""Spark's capabilities, and its types: in the vocabulary of columns, which is DuckDB's spelling, and as Arrow."""

from collections.abc import Iterator

import pyarrow as pa

from tableveil.errors import Fault
from tableveil.policy import Policy, ReleaseKind, methods_of

_NAMES = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}
_ALIKE = {"tinyint", "smallint", "bigint", "float", "double", "boolean", "date"}

_COLLATED = "string collate "


def column_type(spark: str) -> str:
    """The type of a column by Spark's short name of it; nested and other types keep their name, and are refused."""
    if spark in _NAMES:
        return _NAMES[spark]
    if spark in _ALIKE or spark.startswith("decimal("):
        return spark.upper()
    if spark.startswith(_COLLATED):
        return f"VARCHAR COLLATE {spark.removeprefix(_COLLATED)}"
    # Spark has both only where a column is declared; expressions are text.
    if spark.startswith(("char(", "varchar(")):
        return "VARCHAR"
    return spark


_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.timestamp("s"): pa.timestamp("us"),
    pa.timestamp("ms"): pa.timestamp("us"),
}


def lent(table: pa.Table) -> pa.Table:
    """The table in types that Spark has."""
    fields = [field.with_type(_SIGNED.get(_plain(field.type), _plain(field.type))) for field in table.schema]
    return table.cast(pa.schema(fields))


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


_INSTEAD = (
    "Leave it out, or load the table into the server's own database "
    "(docs/explanations/scale.md has a table of what works)."
)


def unsupported(policy: Policy) -> list[Fault]:
    """A fault for each wish of a policy that needs more of its rows than counts."""
    return list(_faults(policy))


def _faults(policy: Policy) -> Iterator[Fault]:
    for method in methods_of(policy):
        if not method.warehouses:
            actual, expected = f"{method.called}, which Spark does not support", "labels of hierarchies"
            yield from (Fault(field, actual, expected, _INSTEAD) for field in method.fields(policy))
    if policy.source_query:
        hint = "Name a view: Spark reads it as it reads tables."
        yield Fault("source_query", "a query", "a table or view of the warehouse", hint)
    if policy.person_column is not None and not policy.no_person_digests:
        hint = "Digests of people are kept in the server's own database, one for each row."
        yield Fault("no_person_digests", "false", "true over tables in Spark", hint)
    for i, attribute in enumerate(policy.attributes):
        if attribute.listed_elements is not None:
            hint = "Judge whole cells, with elements: NONE, or copy the table into the server's own database."
            yield Fault(f"attributes[{i}].elements", "lists", "nothing or NONE over tables in Spark", hint)
    if policy.also_count:
        yield Fault("also_count", "columns", "nothing over tables in Spark", "Name one of them as person_column.")
    release = policy.release
    if release.kind is not ReleaseKind.TABLE:
        yield Fault("release.kind", str(release.kind), "TABLE", "Spark's views keep no snapshot.")
    if release.publish:
        yield Fault("release.publish", "targets", "none", "Readers of the lake read the released tables themselves.")
    if release.estimates:
        yield Fault("release.estimates", "true", "false over tables in Spark", _INSTEAD)
    if release.left_behind is not None:
        yield Fault("release.left_behind", str(release.left_behind), "nothing over tables in Spark", _INSTEAD)
