"""A client with the published service config gets all of its calls answered, however many it makes at once."""

import base64
import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import grpc
import pytest

from tableveil.client.token import with_token
from tableveil.v1 import job_service_pb2, job_service_pb2_grpc
from tests.service.access.house import House, opened
from tests.service.server.test_left_streams import needs_node

ROOT = Path(__file__).parents[3]
CONFIG = (ROOT / "docs" / "reference" / "grpc.md").read_text().partition("```json\n")[2].partition("```")[0]
CALLS_PER_SECOND = 20
AT_ONCE = CALLS_PER_SECOND * 6


def statuses(house: House, config: str | None) -> Counter[str]:
    """How the calls of one client ended that it made at once."""
    options = [("grpc.service_config", config)] if config else [("grpc.enable_retries", 0)]
    plain = grpc.insecure_channel(house.server.address, options=options)
    with with_token(plain, lambda: house.token_file("ann").read_text()) as channel:
        ask = job_service_pb2_grpc.JobServiceStub(channel).ListJobs
        calls = [ask.future(job_service_pb2.ListJobsRequest(), timeout=120) for _ in range(AT_ONCE)]
        return Counter(call.code().name for call in calls)


def test_refused_calls_are_made_again_when_their_turn_comes(tmp_path: Path) -> None:
    with opened(tmp_path, calls_per_principal=CALLS_PER_SECOND) as house:
        assert statuses(house, CONFIG) == {"OK": AT_ONCE}


@pytest.mark.long
def test_without_the_config_a_refusal_is_final(tmp_path: Path) -> None:
    with opened(tmp_path, calls_per_principal=1) as house:
        found = statuses(house, None)
        assert set(found) == {"OK", "RESOURCE_EXHAUSTED"}, found


@pytest.mark.long
@needs_node
@pytest.mark.parametrize("config", [CONFIG, None])
def test_three_thousand_calls_of_node(tmp_path: Path, config: str | None) -> None:
    """No stream is refused, with or without retries."""
    request = base64.b64encode(job_service_pb2.ListJobsRequest().SerializeToString()).decode()
    (file := tmp_path / "config.json").write_text(config or "")
    with opened(tmp_path) as house:
        calls = ("/tableveil.v1.JobService/ListJobs", request, "at-once", "3000", *([str(file)] if config else []))
        command = [
            shutil.which("node") or "node",
            str(ROOT / "tests" / "e2e" / "calls.mjs"),
            house.server.address,
            *calls,
        ]
        environment = {**os.environ, "TABLEVEIL_TOKEN": house.token_file("ann").read_text()}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    found = json.loads(done.stdout)
    print("with" if config else "without", "the service config:", found)
    assert {status.partition(" ")[0] for status in found} <= ({"OK"} if config else {"OK", "RESOURCE_EXHAUSTED"})
    assert sum(found.values()) == 3000
