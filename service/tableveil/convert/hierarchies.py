"""Hierarchies: what policies say about them, both directions, and the stored ones as messages."""

from __future__ import annotations

from dataclasses import replace

from tableveil.convert.collect import Faults
from tableveil.convert.enums import DATE_UNITS, MASK_FROM
from tableveil.convert.tables import DEFAULT_SCHEMA, table_from_proto
from tableveil.convert.times import timestamp
from tableveil.errors import shortened
from tableveil.hierarchy import (
    Dates,
    DateUnit,
    HierarchyDefinition,
    InlineLevels,
    Intervals,
    MaskFrom,
    Redaction,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborZip,
    StoredLevels,
    SuppressionOnly,
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
        path: Where it is in the policy.
        faults: Collects what is wrong.
        before_upload: Whether a CSV hierarchy stands for the stored one it will be; else it is a fault.
    """
    match message.WhichOneof("kind"):
        case "inline":
            return InlineLevels(tuple(tuple(row.labels) for row in message.inline.rows))
        case "stored":
            return StoredLevels(message.stored.name, message.stored.version)
        case "table":
            reference = message.table.table
            columns = tuple(message.table.columns)
            return TableLevels(reference.catalog, reference.schema or DEFAULT_SCHEMA, reference.table, columns)
        case "intervals":
            rule = message.intervals
            return Intervals(rule.minimum, rule.maximum, tuple(rule.widths), rule.bottom_coding, rule.top_coding)
        case "dates":
            return _dates(message.dates, f"{path}.dates", faults)
        case "redaction":
            return _redaction(message.redaction, f"{path}.redaction", faults)
        case "suppression_only":
            return SuppressionOnly()
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


def _dates(message: policy_pb2.Dates, path: str, faults: Faults) -> Dates | None:
    units = [DATE_UNITS.from_proto(number) for number in message.units]
    for index, unit in enumerate(units):
        if unit is None:
            faults.add_enum(f"{path}.units[{index}]", message.units[index], DATE_UNITS)
    known: tuple[DateUnit, ...] = tuple(unit for unit in units if unit is not None)
    return Dates(message.minimum, message.maximum, known) if len(known) == len(units) else None


def _redaction(message: policy_pb2.Redaction, path: str, faults: Faults) -> Redaction | None:
    mask_from = MASK_FROM.from_proto(message.mask_from or MASK_FROM.to_proto(MaskFrom.RIGHT))
    if mask_from is None:
        faults.add_enum(f"{path}.mask_from", message.mask_from, MASK_FROM)
        return None
    return Redaction(message.length, message.alphabet_size, mask_from, message.step or 1)


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
        case Intervals(minimum, maximum, widths, bottom, top):
            message.intervals.CopyFrom(
                policy_pb2.Intervals(
                    minimum=minimum, maximum=maximum, widths=widths, bottom_coding=bottom, top_coding=top
                )
            )
        case Dates(minimum, maximum, units):
            numbers = [DATE_UNITS.to_proto(unit) for unit in units]
            message.dates.CopyFrom(policy_pb2.Dates(minimum=minimum, maximum=maximum, units=numbers))
        case Redaction(length, alphabet_size, mask_from, step):
            message.redaction.CopyFrom(
                policy_pb2.Redaction(
                    mask_from=MASK_FROM.to_proto(mask_from), length=length, alphabet_size=alphabet_size, step=step
                )
            )
        case SuppressionOnly():
            message.suppression_only.SetInParent()
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
    return message


def stored_hierarchy_to_proto(stored: Stored) -> hierarchy_service_pb2.StoredHierarchyInfo:
    """The message for a hierarchy kept on the server."""
    return hierarchy_service_pb2.StoredHierarchyInfo(
        name=stored.name,
        version=stored.version,
        levels=stored.levels,
        values=stored.row_count,
        create_time=timestamp(stored.created_at),
    )
