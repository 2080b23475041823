"""Hierarchies: their definitions in policies, both directions, and the stored ones as messages."""

from dataclasses import replace

from tableveil import hierarchy
from tableveil.convert.collect import Faults
from tableveil.convert.copied import copied, timestamp
from tableveil.convert.fields import from_message, to_message
from tableveil.convert.names import table_from_proto
from tableveil.errors import shortened
from tableveil.hierarchy.rules import RULES, SimpleRule
from tableveil.state.hierarchies import Stored
from tableveil.v1 import hierarchy_service_pb2, policy_pb2

_SIMPLE: dict[str, type[SimpleRule]] = {traits.field: kind for kind, traits in RULES.items()}
RULE_FIELDS = (*_SIMPLE, "combination")
"""Members of the message's oneof that hold a rule."""


def rule_from_proto(message: policy_pb2.Hierarchy, path: str, faults: Faults) -> hierarchy.RuleHierarchy | None:
    """The rule in a message that holds one, or None after adding to `faults`; `path` is the message's."""
    if message.WhichOneof("kind") != "combination":
        return _simple(message, path, faults)
    rest = _simple(message.combination.rest, f"{path}.combination.rest", faults)
    rows = tuple(tuple(row.labels) for row in message.combination.rows)
    return None if rest is None else hierarchy.Combination(rows, rest)


def _simple(message: policy_pb2.Hierarchy, path: str, faults: Faults) -> SimpleRule | None:
    kind = message.WhichOneof("kind")
    rule = _SIMPLE.get(kind or "")
    if kind and rule is not None:
        return from_message(rule, getattr(message, kind), f"{path}.{kind}", faults)
    at = f"{path}.{kind}" if kind else path
    faults.add(at, kind or "nothing", f"one of {', '.join(_SIMPLE)}", "Values can have rows beside a rule only.")
    return None


def rule_to_proto(rule: hierarchy.RuleHierarchy) -> policy_pb2.Hierarchy:
    """The message for a rule."""
    message = policy_pb2.Hierarchy()
    if isinstance(rule, hierarchy.Combination):
        message.combination.rows.extend(policy_pb2.HierarchyRow(labels=row) for row in rule.rows)
        message.combination.rest.CopyFrom(rule_to_proto(rule.rest))
    else:
        to_message(rule, getattr(message, hierarchy.field_of(rule)))
    return message


def hierarchy_from_proto(
    message: policy_pb2.Hierarchy, column: str, path: str, faults: Faults, *, before_upload: bool
) -> hierarchy.HierarchyDefinition | None:
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
            return hierarchy.InlineLevels(tuple(tuple(row.labels) for row in message.inline.rows))
        case "stored":
            return hierarchy.StoredLevels(message.stored.name, message.stored.version)
        case "table":
            place, columns = table_from_proto(message.table.table), tuple(message.table.columns)
            return hierarchy.TableLevels(place.catalog, place.schema, place.table, columns)
        case "safe_harbor_zip":
            zips = message.safe_harbor_zip
            place = table_from_proto(zips.population)
            default = hierarchy.SafeHarborZip(place.catalog, place.schema, place.table)
            return replace(
                default,
                zip_column=zips.zip_column or default.zip_column,
                population_column=zips.population_column or default.population_column,
            )
        case "safe_harbor_age":
            return hierarchy.SafeHarborAge()
        case "safe_harbor_date":
            dates = message.safe_harbor_date
            return hierarchy.SafeHarborDate(dates.minimum, dates.maximum, dates.birth_as_of)
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


def _csv(message: policy_pb2.CsvHierarchy, column: str, path: str, faults: Faults) -> hierarchy.StoredLevels | None:
    if not message.path:
        faults.add(f"{path}.path", "nothing", "the path of a file, relative to the policy's")
    if len(message.delimiter) > 1:
        faults.add(f"{path}.delimiter", shortened(message.delimiter), "one character, or nothing for ';'")
    return hierarchy.StoredLevels(message.name or column) if message.path and len(message.delimiter) <= 1 else None


def hierarchy_to_proto(definition: hierarchy.HierarchyDefinition) -> policy_pb2.Hierarchy:
    """The message for a definition."""
    message = policy_pb2.Hierarchy()
    match definition:
        case hierarchy.InlineLevels(rows):
            message.inline.SetInParent()
            message.inline.rows.extend(policy_pb2.HierarchyRow(labels=row) for row in rows)
        case hierarchy.StoredLevels(name, version):
            message.stored.CopyFrom(policy_pb2.StoredHierarchy(name=name, version=version))
        case hierarchy.TableLevels(catalog, schema, table, columns):
            reference = policy_pb2.TableReference(catalog=catalog, schema=schema, table=table)
            message.table.CopyFrom(policy_pb2.TableHierarchy(table=reference, columns=columns))
        case hierarchy.SafeHarborZip(catalog, schema, table, zip_column, population_column):
            reference = policy_pb2.TableReference(catalog=catalog, schema=schema, table=table)
            message.safe_harbor_zip.CopyFrom(
                policy_pb2.SafeHarborZip(
                    population=reference, zip_column=zip_column, population_column=population_column
                )
            )
        case hierarchy.SafeHarborAge():
            message.safe_harbor_age.SetInParent()
        case hierarchy.SafeHarborDate(minimum, maximum, birth_as_of):
            message.safe_harbor_date.CopyFrom(
                policy_pb2.SafeHarborDate(minimum=minimum, maximum=maximum, birth_as_of=birth_as_of)
            )
        case rule:
            return rule_to_proto(rule)
    return message


def stored_hierarchy_to_proto(stored: Stored) -> hierarchy_service_pb2.StoredHierarchyInfo:
    """The message for a hierarchy kept on the server."""
    return copied(
        stored,
        hierarchy_service_pb2.StoredHierarchyInfo,
        values=stored.row_count,
        create_time=timestamp(stored.created_at),
        resource_name=f"hierarchies/{stored.name}@{stored.version}",
    )
