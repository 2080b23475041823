"""The notebook of examples, which is the page on Python: its cells run in order, and mypy checks them strictly."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.process import Serve
from tests.reference.notebook import code

pytestmark = pytest.mark.long


@pytest.mark.skipif(not importlib.util.find_spec("pandas"), reason="needs pandas")
def test_its_cells_run(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLEVEIL_SERVER", serve(tmp_path / "members.duckdb").address)
    names: dict[str, object] = {}
    printed = []
    for number, cell in enumerate(code()):
        exec(compile(cell, f"cell {number}", "exec"), names)
        printed.append(capsys.readouterr().out)
    proposed, released, told, faults = (printed[number] for number in (1, 2, 3, 4))
    assert "Not released: 'member'." in proposed
    assert "age_from" in released
    assert "of 500 records suppressed" in told
    assert all(text in faults for text in ("POLICY_INVALID", "Did you mean 'age'?", "k_anonymity.k = "))
    assert {path.name for path in tmp_path.iterdir()} >= {"members", "members.yaml", "members.html"}


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="needs mypy, of the extra `lint`")
def test_mypy_knows_its_types(tmp_path: Path) -> None:
    """A user's own configuration: only pyarrow has no types."""
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-pyarrow.*]\nignore_missing_imports = True\n")
    (tmp_path / "script.py").write_text("\n".join(code()) + "\nreveal_type(job)\nreveal_type(release)\n")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    for kind in ("tableveil.v1.job_service_pb2.Job", "tableveil.v1.release_service_pb2.Release"):
        assert f'Revealed type is "{kind}"' in run.stdout
