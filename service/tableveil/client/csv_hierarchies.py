"""Hierarchies in CSV files on the client's side: read, checked, and replaced in the policy by what is stored."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tableveil.errors import Fault, shortened
from tableveil.hierarchy import check_levels
from tableveil.v1 import policy_pb2

_DEFAULT_DELIMITER = ";"

# How `check_levels` points at a row and a level.
_ROW = re.compile(r"\.rows(?:\[(\d+)\](?:\.labels\[(\d+)\])?)?$")


@dataclass(frozen=True, slots=True)
class CsvLevels:
    """The rows of one attribute's file, and the name under which they are to be stored."""

    attribute: int
    name: str
    rows: Sequence[Sequence[str]]


def csv_attributes(policy: policy_pb2.Policy) -> list[int]:
    """Positions of the attributes whose hierarchy is a file."""
    return [i for i, a in enumerate(policy.attributes) if a.hierarchy.WhichOneof("kind") == "csv"]


def read_csv_hierarchies(policy: policy_pb2.Policy, base_directory: Path) -> tuple[list[CsvLevels], list[Fault]]:
    """Reads all files the policy names, relative to `base_directory`.

    Returns:
        What the sound files hold, and everything wrong with the others.
    """
    levels: list[CsvLevels] = []
    faults: list[Fault] = []
    for position in csv_attributes(policy):
        attribute = policy.attributes[position]
        definition = attribute.hierarchy.csv
        rows, found = _read(definition, base_directory, f"attributes[{position}].hierarchy.csv")
        faults += found
        if not found:
            levels.append(CsvLevels(position, definition.name or attribute.column, rows))
    return levels, faults


def with_hierarchies(policy: policy_pb2.Policy, hierarchies: Mapping[int, policy_pb2.Hierarchy]) -> policy_pb2.Policy:
    """A copy of the policy with other hierarchies at these positions."""
    copy = policy_pb2.Policy()
    copy.CopyFrom(policy)
    for position, hierarchy in hierarchies.items():
        copy.attributes[position].hierarchy.CopyFrom(hierarchy)
    return copy


def _read(definition: policy_pb2.CsvHierarchy, base_directory: Path, field: str) -> tuple[list[list[str]], list[Fault]]:
    delimiter = definition.delimiter or _DEFAULT_DELIMITER
    if len(delimiter) != 1 or delimiter in '"\r\n':
        found = shortened(delimiter)
        return [], [Fault(f"{field}.delimiter", found, "one character that is neither a quote nor a line's end")]
    if not definition.path:
        return [], [Fault(f"{field}.path", "no path", "the path of a CSV file, relative to the policy's file")]
    path = base_directory / definition.path
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the path.
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        found, expected = f"{shortened(str(path))}: {reason}", "a CSV file that can be read"
        return [], [Fault(f"{field}.path", found, expected, "Paths are relative to the policy's file.")]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"{path.name}, line {line}: bytes that are not UTF-8"
        return [], [Fault(field, found, "text in UTF-8", "Save the file as UTF-8; a byte order mark does no harm.")]
    return _parse(text, delimiter, path.name, field)


def _parse(text: str, delimiter: str, file: str, field: str) -> tuple[list[list[str]], list[Fault]]:
    rows: list[list[str]] = []
    # Where each row begins: a quoted label may span lines.
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            # Blank lines, such as at the end, are no rows.
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        expected = f"values separated by {shortened(delimiter)}, quoted with double quotes where they hold one"
        return [], [Fault(field, f"{file}, line {line}: {error}", expected)]
    hint = ""
    if rows and all(len(row) == 1 for row in rows):
        hint = f"The columns are separated by {shortened(delimiter)} unless `delimiter` says otherwise."
    return rows, [_located(fault, file, lines, field, hint) for fault in check_levels(rows, field)]


def _located(fault: Fault, file: str, lines: Sequence[int], field: str, hint: str) -> Fault:
    """The fault with its place in the file instead of one in a list of rows."""
    place = _ROW.search(fault.field)
    row, level = place.groups() if place else (None, None)
    where = file
    if row is not None:
        where += f", line {lines[int(row)]}"
    if level is not None:
        where += f", column {int(level) + 1}"
    return replace(fault, field=field, found=f"{where}: {fault.found}", hint=fault.hint or hint)
