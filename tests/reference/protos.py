"""The comments of all protos, by the full name of what they describe."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

PROTO = Path(__file__).parents[2] / "proto"

_PARTS = {"message_type": 4, "enum_type": 5, "service": 6, "method": 2, "field": 2, "value": 2, "nested_type": 3}
"""The numbers of the fields by which comments are found, of a file or of what is in it."""


@cache
def comments() -> Mapping[str, str]:
    """By full name, without the package."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder, "compiled.binpb")
        protos = [path.relative_to(PROTO).as_posix() for path in sorted((PROTO / "tableveil" / "v1").glob("*.proto"))]
        google = distribution("googleapis-common-protos").locate_file("")
        paths = [f"--proto_path={PROTO}", f"--proto_path={google}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", *paths, "--include_source_info"]
        subprocess.run([*command, f"--descriptor_set_out={compiled}", *protos], check=True)
        files = FileDescriptorSet.FromString(compiled.read_bytes()).file
    return {name: text for file in files for name, text in _of(file)}


def _of(file: FileDescriptorProto) -> Iterator[tuple[str, str]]:
    said = {
        tuple(place.path): " ".join((place.leading_comments or place.trailing_comments).split())
        for place in file.source_code_info.location
    }

    def walk(parts: Any, part: str, path: tuple[int, ...], prefix: str) -> Iterator[tuple[str, str]]:
        for index, each in enumerate(getattr(parts, part, ())):
            place, name = (*path, _PARTS[part], index), f"{prefix}{each.name}"
            if text := said.get(place):
                yield name, text
            for below in ("method", "field", "value", "nested_type"):
                yield from walk(each, below, place, f"{name}.")

    for part in ("message_type", "enum_type", "service"):
        yield from walk(file, part, (), "")
