"""Hierarchies: their definitions in policies, both directions, and the stored ones as messages."""

from dataclasses import replace

from tableveil.convert.collect import Faults
from tableveil.convert.hierarchy_rules import RULE_FIELDS, rule_from_proto, rule_to_proto
from tableveil.convert.tables import table_from_proto
from tableveil.convert.times import timestamp
from tableveil.errors import shortened
from tableveil.hierarchy import (
    HierarchyDefinition,
    InlineLevels,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborZip,
    StoredLevels,
    TableLevels,
)
from tableveil.state.hierarchies import Stored
from tableveil.v1 import hierarchy_service_pb2, policy_pb2


def hierarchy_from_proto(
    message: policy_pb2.Hierarchy, column: str, path: str, faults: Faults, *, before_upload: bool
) -> HierarchyDefinition | None:
    """The definition in a message, or None after adding to `faults`.

    Args:
        message: The policy's hierarchy for a column.
        column: The column's name, under which a CSV hierarchy is stored by default.
        path: Its path in the policy.
        faults: Collects the faults.
        before_upload: Whether a CSV hierarchy stands for the stored one it will be; else it is a fault.
    """
    match message.WhichOneof("kind"):
        case "inline":
            return InlineLevels(tuple(tuple(row.labels) for row in message.inline.rows))
        case "stored":
            return StoredLevels(message.stored.name, message.stored.version)
        case "table":
            place, columns = table_from_proto(message.table.table), tuple(message.table.columns)
            return TableLevels(place.catalog, place.schema, place.table, columns)
        case "safe_harbor_zip":
            zips = message.safe_harbor_zip
            place = table_from_proto(zips.population)
            default = SafeHarborZip(place.catalog, place.schema, place.table)
            return replace(
                default,
                zip_column=zips.zip_column or default.zip_column,
                population_column=zips.population_column or default.population_column,
            )
        case "safe_harbor_age":
            return SafeHarborAge()
        case "safe_harbor_date":
            dates = message.safe_harbor_date
            return SafeHarborDate(dates.minimum, dates.maximum, dates.birth_as_of)
        case rule if rule in RULE_FIELDS:
            return rule_from_proto(message, path, faults)
        case "csv" if before_upload:
            return _csv(message.csv, column, f"{path}.csv", faults)
        case "csv":
            hint = "Upload it (CreateHierarchy) and refer to it as stored; `tableveil submit` and the client do both."
            faults.add(f"{path}.csv", "a file on the client's side", "a hierarchy that the server has", hint)
            return None
        case _:
            kinds = ", ".join(policy_pb2.Hierarchy.DESCRIPTOR.fields_by_name)
            hint = "The least one can say is suppression_only: {}."
            faults.add(path, "nothing", f"one of {kinds}", hint)
            return None


def _csv(message: policy_pb2.CsvHierarchy, column: str, path: str, faults: Faults) -> StoredLevels | None:
    if not message.path:
        faults.add(f"{path}.path", "nothing", "the path of a file, relative to the policy's")
    if len(message.delimiter) > 1:
        faults.add(f"{path}.delimiter", shortened(message.delimiter), "one character, or nothing for ';'")
    return StoredLevels(message.name or column) if message.path and len(message.delimiter) <= 1 else None


def hierarchy_to_proto(definition: HierarchyDefinition) -> policy_pb2.Hierarchy:
    """The message for a definition."""
    message = policy_pb2.Hierarchy()
    match definition:
        case InlineLevels(rows):
            message.inline.SetInParent()
            message.inline.rows.extend(policy_pb2.HierarchyRow(labels=row) for row in rows)
        case StoredLevels(name, version):
            message.stored.CopyFrom(policy_pb2.StoredHierarchy(name=name, version=version))
        case TableLevels(catalog, schema, table, columns):
            reference = policy_pb2.TableReference(catalog=catalog, schema=schema, table=table)
            message.table.CopyFrom(policy_pb2.TableHierarchy(table=reference, columns=columns))
        case SafeHarborZip(catalog, schema, table, zip_column, population_column):
            reference = policy_pb2.TableReference(catalog=catalog, schema=schema, table=table)
            message.safe_harbor_zip.CopyFrom(
                policy_pb2.SafeHarborZip(
                    population=reference, zip_column=zip_column, population_column=population_column
                )
            )
        case SafeHarborAge():
            message.safe_harbor_age.SetInParent()
        case SafeHarborDate(minimum, maximum, birth_as_of):
            message.safe_harbor_date.CopyFrom(
                policy_pb2.SafeHarborDate(minimum=minimum, maximum=maximum, birth_as_of=birth_as_of)
            )
        case rule:
            return rule_to_proto(rule)
    return message


def stored_hierarchy_to_proto(stored: Stored) -> hierarchy_service_pb2.StoredHierarchyInfo:
    """The message for a hierarchy kept on the server."""
    return hierarchy_service_pb2.StoredHierarchyInfo(
        name=stored.name,
        version=stored.version,
        levels=stored.levels,
        values=stored.row_count,
        create_time=timestamp(stored.created_at),
        origin=stored.origin,
        resource_name=f"hierarchies/{stored.name}@{stored.version}",
    )
