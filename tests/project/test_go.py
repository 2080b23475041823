"""Clients in Go: the protos give stubs that compile, with the packages that Debian has for Go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from google.api import field_behavior_pb2

PROTOS = Path(__file__).resolve().parents[2] / "proto"
LIBRARIES = Path("/usr/share/gocode")
PACKAGE = "github.com/tableveil/tableveil/proto/tableveil/v1"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        any(shutil.which(program) is None for program in ("go", "protoc-gen-go", "protoc-gen-go-grpc"))
        or not (LIBRARIES / "src/google.golang.org/grpc").is_dir(),
        reason="needs Go, its two plugins of protoc, and golang-google-grpc-dev",
    ),
]


def test_stubs_compile(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    annotations = Path(field_behavior_pb2.__file__).parents[2]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", "-I", ".", "-I", str(annotations)]
    places = [f"--go_out={tmp_path / 'src'}", f"--go-grpc_out={tmp_path / 'src'}"]
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.glob("tableveil/v1/*.proto"))
    subprocess.run([*protoc, *places, *files], cwd=PROTOS, check=True, timeout=120)
    environment = {
        **os.environ,
        "GOPATH": f"{tmp_path}:{LIBRARIES}",
        "GO111MODULE": "off",
        "GOFLAGS": "",
    }
    built = subprocess.run(
        ["go", "build", PACKAGE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert built.returncode == 0, built.stderr
