"""Regenerates the Python stubs beside the protos: `python proto/generate.py [folder to write them to instead]`."""

import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

PROTO = Path(__file__).resolve().parent
# The package has google/api, whose annotations the protos use.
PATHS = [f"--proto_path={PROTO}", f"--proto_path={distribution('googleapis-common-protos').locate_file('')}"]


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
    command = [sys.executable, "-m", "grpc_tools.protoc", *PATHS, *outputs, *protos()]
    return subprocess.run(command, env={**os.environ, "PATH": path}, check=False).returncode


if __name__ == "__main__":
    sys.exit(generate(Path(sys.argv[1]) if len(sys.argv) > 1 else PROTO))
