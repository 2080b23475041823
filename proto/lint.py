"""Lints the protos with buf, as `buf.yaml` says: `python proto/lint.py`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from generate import PATHS, PROTO, protos


def lint() -> int:
    """Compiles the protos, because buf itself would look for google/api in the network, and returns buf's exit code."""
    buf = Path(sys.executable).with_name("buf")
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "image.binpb")
        command = [sys.executable, "-m", "grpc_tools.protoc", *PATHS, "--include_imports", "--include_source_info"]
        subprocess.run([*command, f"--descriptor_set_out={image}", *protos()], check=True)
        return subprocess.run([buf, "lint", image, "--config", PROTO / "buf.yaml"], check=False).returncode


if __name__ == "__main__":
    sys.exit(lint())
