"""Every policy in examples/ but one is released from the demo's tables, as it stands there."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tableveil.backend import Database, Settings
from tableveil.convert import policy_from_proto
from tableveil.demo.discharges import create_discharges, create_zip_codes
from tableveil.demo.visits import create_visits
from tableveil.document import read_policy
from tableveil.state.migrate import migrate
from tableveil.state.releases import Release
from tests.once import once

EXAMPLES = Path(__file__).parents[3] / "examples"
OWN_TABLE = EXAMPLES / "ten-rows" / "policy.yaml"
"""The example with a table of its own, which `tests/pictures/ten_rows.py` releases."""

POLICIES = [
    path
    for path in sorted(EXAMPLES.rglob("*.yaml"))
    if re.search(r"^(source|tables)", path.read_text(encoding="utf-8"), re.MULTILINE) and path != OWN_TABLE
]
ROWS = 3000


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("demo") / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        create_discharges(connection, "discharges", ROWS, seed=7)
        create_visits(connection, seed=7)
        create_zip_codes(connection)
    database = Database(Settings(path, threads=1))
    with database.ledger() as ledger:
        migrate(ledger)
    yield database
    database.close()


@pytest.mark.parametrize("path", once(POLICIES), ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_the_example_runs_with_the_demo(demo: Database, path: Path, run: Callable[..., Release]) -> None:
    message, unread = read_policy(path.read_text(encoding="utf-8"), "yaml")
    policy, faults = policy_from_proto(message)
    assert policy is not None
    assert [*unread, *faults] == []
    # The tests of each pipeline publish; here releases of the same patients are not compared.
    policy = replace(
        policy,
        repeat_reason="a test",
        release=replace(policy.release, left_behind=None, together_with=(), publish=(), publish_repeat_reason=""),
    )
    release = run(demo, policy)
    assert release.records > 0.8 * ROWS
    assert release.suppressed_records <= 0.05 * release.records or policy.game is not None
