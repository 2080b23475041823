"""Checks that stubs and comments are what the protos generate, and that the oldest supported runtimes accept them."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROTO = ROOT / "proto"


def stubs(folder: Path) -> dict[str, str]:
    """Text of every stub, and of the comments, by its path in the folder."""
    paths = [path for name in ("*_pb2*.py", "*_pb2*.pyi", "comments.json") for path in folder.rglob(name)]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def floor(distribution: str) -> str:
    """Oldest version of a dependency that pyproject.toml admits."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = [re.match(rf"{distribution}>=([\d.]+)", dependency) for dependency in dependencies]
    return next(match[1] for match in found if match)


@pytest.mark.skipif(not importlib.util.find_spec("grpc_tools"), reason="needs grpcio-tools, of the extra `lint`")
def test_stubs_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PROTO / "generate.py", tmp_path], check=True)
    committed, fresh = stubs(PROTO), stubs(tmp_path)
    stale = sorted(name for name in committed | fresh if committed.get(name) != fresh.get(name))
    assert not stale, "run `make protos`; delete the stubs of protos that are gone"


def test_oldest_runtimes_accept_the_stubs() -> None:
    text = "".join(stubs(PROTO).values())
    assert set(re.findall(r"GRPC_GENERATED_VERSION = '(.+)'", text)) == {floor("grpcio")}
    assert set(re.findall(r"# Protobuf Python Version: (.+)", text)) == {floor("protobuf")}
