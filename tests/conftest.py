"""Gives all servers one token, and properties time: the time of one example depends on the machine, not on the code.

Each run draws other examples, so that fewer per run find as much over time. Only CI draws the same ones every time: its
refusals must be due to the change, and must be reproducible for the developer who fixes it.
"""

import gc
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.authenticated import use_one_token
from tests.postgresql import Cluster, cluster

if sys.dont_write_bytecode:
    # Processes that tests start would compile all modules anew, which takes longer than most of these tests, and each
    # worker of xdist all tests, which is most of collecting them. They find the directory in their environment.
    compiled = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    sys.dont_write_bytecode, sys.pycache_prefix = False, compiled
    os.environ["PYTHONPYCACHEPREFIX"] = compiled
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

use_one_token()

# Nothing that is imported or collected becomes garbage: to look through it again and again took a third of collecting
# the tests, and a twentieth of running them.
gc.disable()


def pytest_collection_finish() -> None:
    """Looks for garbage again, but not among what is there already."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_token_in_any_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Looks into all logs and audits that servers of these tests wrote: a token must be in none."""
    yield
    written = [path for kind in ("*.log", "*.jsonl") for path in tmp_path_factory.getbasetemp().rglob(kind)]
    assert not [path for path in written if b"tvl_" in path.read_bytes()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what the run cost: unlike its minutes, this depends little on what else the machine does."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, whose))
    terminalreporter.write_line(f"{seconds / 60:.1f} CPU minutes, of workers and ended processes of tests too")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    """A PostgreSQL that the tests of a process share; each test takes a new database in it."""
    with cluster() as running:
        yield running


settings.register_profile(
    "tableveil",
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("tableveil")
