"""Regenerates what follows from the protos beside them: `python proto/generate.py [folder to write it to instead]`.

These are the Python stubs, and `comments.json`: the comments by the full names of what they describe.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

PROTO = Path(__file__).resolve().parent
COMMENTS = "tableveil/v1/comments.json"
# The package has google/api, whose annotations the protos use.
PATHS = [f"--proto_path={PROTO}", f"--proto_path={distribution('googleapis-common-protos').locate_file('')}"]

_PARTS = {"message_type": 4, "enum_type": 5, "service": 6, "method": 2, "field": 2, "value": 2, "nested_type": 3}
"""The numbers of the fields by which comments are found, of a file or of what is in it."""


def protos() -> list[str]:
    """The paths of all protos, from their folder."""
    return sorted(path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto"))


def generate(target: Path) -> int:
    """Writes messages, services and the types of both for every proto, and returns protoc's exit code."""
    outputs = [
        f"--python_out={target}",
        f"--grpc_python_out={target}",
        f"--mypy_out=quiet:{target}",
        f"--mypy_grpc_out=quiet,only_sync:{target}",
    ]
    # protoc finds mypy-protobuf on the PATH; its place is beside this interpreter, be the environment activated or not.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder, "compiled.binpb")
        outputs += ["--include_source_info", f"--descriptor_set_out={compiled}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", *PATHS, *outputs, *protos()]
        done = subprocess.run(command, env={**os.environ, "PATH": path}, check=False)
        if done.returncode == 0:
            files = FileDescriptorSet.FromString(compiled.read_bytes()).file
            comments = dict(each for file in files if file.package == "tableveil.v1" for each in _of(file))
            text = json.dumps(comments, ensure_ascii=False, indent=0, sort_keys=True)
            Path(target, COMMENTS).write_text(f"{text}\n", encoding="utf-8")
    return done.returncode


def _of(file: FileDescriptorProto) -> Iterator[tuple[str, str]]:
    """The comments of a proto, each as one line."""
    said = {
        tuple(place.path): " ".join((place.leading_comments or place.trailing_comments).split())
        for place in file.source_code_info.location
    }

    def walk(parts: Any, part: str, path: tuple[int, ...], prefix: str) -> Iterator[tuple[str, str]]:
        for index, each in enumerate(getattr(parts, part, ())):
            place, name = (*path, _PARTS[part], index), f"{prefix}.{each.name}"
            if text := said.get(place):
                yield name, text
            for below in ("method", "field", "value", "nested_type"):
                yield from walk(each, below, place, name)

    for part in ("message_type", "enum_type", "service"):
        yield from walk(file, part, (), file.package)


if __name__ == "__main__":
    sys.exit(generate(Path(sys.argv[1]) if len(sys.argv) > 1 else PROTO))
