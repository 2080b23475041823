"""Checks that the built wheel holds all of the four roots and works without the repository."""

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Imports every module of the wheel and then the command's entry point; prints what did not come from the wheel. The
# modules of an extra need it.
IMPORT_ALL = """
import importlib, importlib.metadata, importlib.util, pathlib, sys
wheel, *dependencies = sys.argv[1:]
sys.path[:0] = [wheel, *dependencies]
for path in sorted(pathlib.Path(wheel, "tableveil").rglob("*.py")):
    name = ".".join(path.relative_to(wheel).with_suffix("").parts).removesuffix(".__init__")
    if name.startswith("tableveil.spark") and not importlib.util.find_spec("pyspark"):
        continue
    module = importlib.import_module(name)
    if module.__file__ != str(path):
        print(name, module.__file__)
(command,) = importlib.metadata.distribution("tableveil").entry_points
if not callable(command.load()):
    print(command)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the contents of a freshly built wheel."""
    target = tmp_path_factory.mktemp("wheel")
    # Hatchling itself, not pip or build: they would fetch it into an isolated environment.
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target], cwd=ROOT, check=True)
    (archive,) = target.glob("*.whl")
    with zipfile.ZipFile(archive) as contents:
        contents.extractall(target / "contents")
    return target / "contents"


def test_wheel_holds_every_file(wheel: Path) -> None:
    def files(*folders: Path) -> set[str]:
        found = [
            path.relative_to(folder)
            for folder in folders
            for path in (folder / "tableveil").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
        return {path.as_posix() for path in found}

    packed = files(wheel)
    assert packed == files(*(ROOT / layer for layer in ["engine", "sql", "service", "proto"]))
    assert {"tableveil/v1/py.typed", "tableveil/v1/policy_pb2.py", "tableveil/v1/policy_pb2.pyi"} <= packed
    assert {"tableveil/v1/job_service_pb2_grpc.py", "tableveil/v1/job_service_pb2_grpc.pyi"} <= packed
    assert {path.name.partition("-")[0] for path in wheel.iterdir()} == {"tableveil"}, "nothing beside the namespace"


@pytest.mark.long
def test_wheel_imports_without_the_repository(wheel: Path) -> None:
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    # -S: no .pth file is read, the one of an editable install of this repository among them.
    command = [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(wheel), *sorted(dependencies)]
    result = subprocess.run(command, cwd=wheel, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert not result.stdout
