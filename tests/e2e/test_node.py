"""The client in Node.js, as an example for other languages: a dry run, the faults of a policy, and a wrong token."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import json_format

from tests import authenticated
from tests.e2e import samples
from tests.e2e.process import Serve

EXAMPLE = Path(__file__).parents[2] / "examples" / "node"
SECONDS = 120

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (EXAMPLE / "node_modules" / ".package-lock.json").exists(),
    reason="needs Node.js, and `npm ci` in examples/node",
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def run(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the client with a policy, and with another token than the server's if there is one."""
    folder = tmp_path_factory.mktemp("node")
    samples.create(folder / "clinic.duckdb", people=samples.PEOPLE)
    server = serve_all_along(folder / "clinic.duckdb")

    def run(policy: samples.Document, token: str = authenticated.TOKEN) -> subprocess.CompletedProcess[str]:
        file = folder / "policy.json"
        message = samples.message(policy)
        file.write_text(json.dumps(json_format.MessageToDict(message, preserving_proto_field_name=True)))
        environment = {**os.environ, "TABLEVEIL_SERVER": server.address, "TABLEVEIL_TOKEN": token}
        command = ["node", str(EXAMPLE / "client.mjs"), str(file)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)

    return run


def test_it_tells_what_a_policy_would_release(run: Run) -> None:
    done = run(samples.policy())
    assert done.returncode == 0, done.stderr
    assert "jobs/1 JOB_STATE_SUCCEEDED" in done.stderr
    assert f"of {samples.ROWS} records suppressed" in done.stdout
    assert "age: level " in done.stdout


@pytest.mark.long
def test_it_lists_the_faults_of_a_policy(run: Run) -> None:
    done = run(samples.policy(source="peple", suppression_limit="2"))
    assert done.returncode == 1
    assert "POLICY_INVALID" in done.stderr
    assert "  source.table: found 'peple'; expected " in done.stderr
    assert "  suppression_limit: found 2; expected " in done.stderr


@pytest.mark.long
def test_it_tells_that_it_is_not_known(run: Run) -> None:
    done = run(samples.policy(), token="tvl_wrong")
    assert done.returncode == 1
    assert "UNAUTHENTICATED" in done.stderr
