"""Hierarchies in CSV files on the client's side: read, checked, and replaced in the policy by stored ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tableveil.client.csv_rows import CsvRows, read_csv_rows
from tableveil.errors import Fault, InvalidError
from tableveil.hierarchy import name_in
from tableveil.v1 import hierarchy_service_pb2, policy_pb2


@dataclass(frozen=True, slots=True)
class CsvLevels:
    """The rows of one attribute's file, the name under which they are to be stored, and that of the file."""

    attribute: int
    name: str
    rows: Sequence[Sequence[str]]
    file: str


def csv_attributes(policy: policy_pb2.Policy) -> list[int]:
    """Positions of the attributes whose hierarchy is a file."""
    return [i for i, a in enumerate(policy.attributes) if a.hierarchy.WhichOneof("kind") == "csv"]


def read_csv_hierarchies(policy: policy_pb2.Policy, base_directory: Path) -> tuple[list[CsvLevels], list[Fault]]:
    """Reads all files the policy names, relative to `base_directory`.

    Returns:
        The contents of the sound files, and all faults of the others.
    """
    levels: list[CsvLevels] = []
    faults: list[Fault] = []
    for position in csv_attributes(policy):
        attribute = policy.attributes[position]
        definition = attribute.hierarchy.csv
        file, hierarchy = read_csv_hierarchy(definition, base_directory, f"attributes[{position}].hierarchy.csv")
        faults += hierarchy
        if file is not None:
            name = definition.name or name_in(policy.source.schema or "main", attribute.column)
            levels.append(CsvLevels(position, name, file.rows, Path(definition.path).name))
    return levels, faults


def with_hierarchies(policy: policy_pb2.Policy, hierarchies: Mapping[int, policy_pb2.Hierarchy]) -> policy_pb2.Policy:
    """A copy of the policy with other hierarchies at these positions."""
    copy = policy_pb2.Policy()
    copy.CopyFrom(policy)
    for position, hierarchy in hierarchies.items():
        copy.attributes[position].hierarchy.CopyFrom(hierarchy)
    return copy


def asked_with_rows(
    asked: hierarchy_service_pb2.PreviewHierarchyRequest, base_directory: Path
) -> tuple[hierarchy_service_pb2.PreviewHierarchyRequest, Sequence[Sequence[str]]]:
    """The request with an inline hierarchy in place of a file, and the rows of that hierarchy.

    Raises:
        InvalidError: The file cannot be read or is no hierarchy.
    """
    request = hierarchy_service_pb2.PreviewHierarchyRequest()
    request.CopyFrom(asked)
    if asked.hierarchy.WhichOneof("kind") != "csv":
        return request, ()
    file, faults = read_csv_hierarchy(asked.hierarchy.csv, base_directory, "hierarchy.csv")
    if file is None:
        raise InvalidError.about("HIERARCHY_INVALID", "the hierarchy is invalid", faults)
    request.hierarchy.inline.SetInParent()
    return request, file.rows


def read_csv_hierarchy(
    definition: policy_pb2.CsvHierarchy, base_directory: Path, field: str
) -> tuple[CsvRows | None, list[Fault]]:
    """The contents of the file, or all faults in it; `field` is the definition's path."""
    if not definition.path:
        return None, [Fault(f"{field}.path", "no path", "the path of a CSV file, relative to the policy's file")]
    return read_csv_rows(base_directory / definition.path, field, definition.delimiter)
