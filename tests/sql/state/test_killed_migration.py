"""A process that is killed in the middle of a migration: the state is of the version before or after, never between."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from tableveil.state.migrate import migrations
from tests.migrated import opened

pytestmark = pytest.mark.long

NOW = migrations()[-1].number
NEXT = NOW + 1

# One migration more, long enough to be killed in, of every kind of statement that migrations have.
PROGRAM = f"""
import sys
from pathlib import Path
from tableveil.backend import Database, Settings
from tableveil.state import migrate as module

text = '''
CREATE TABLE tableveil.first AS SELECT i, md5(i::VARCHAR) AS m FROM range(300000) rows(i);
ALTER TABLE tableveil.releases ADD COLUMN slow VARCHAR DEFAULT 'x';
UPDATE tableveil.secrets SET name = 'renamed' WHERE name = 'of_this_test';
CREATE TABLE tableveil.last AS SELECT i, md5(i::VARCHAR) AS m FROM range(300000) rows(i);
'''
known = module.migrations()
assert known[-1].number == {NOW}
module.migrations = lambda: [*known, module.Migration({NEXT}, "slow", text)]
database = Database(Settings(Path(sys.argv[1]), threads=2))
with database.session() as session:
    print("migrating", flush=True)
    module.migrate(session)
    print("migrated", flush=True)
database.close()
"""


def state(path: Path) -> tuple[int, bool, bool, bool, bool]:
    with duckdb.connect(path) as connection:
        found = connection.execute("""
            SELECT (SELECT max(number) FROM tableveil.migrations),
                (SELECT count(*) = 1 FROM duckdb_tables() WHERE schema_name = 'tableveil' AND table_name = 'first'),
                (SELECT count(*) = 1 FROM duckdb_columns() WHERE table_name = 'releases' AND column_name = 'slow'),
                (SELECT count(*) = 1 FROM tableveil.secrets WHERE name = 'renamed'),
                (SELECT count(*) = 1 FROM duckdb_tables() WHERE schema_name = 'tableveil' AND table_name = 'last')
        """).fetchone()
        assert found is not None
        return found


def migrating(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "migrating\n"
    return process


def test_killed_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "test.duckdb"
    for _ in opened(path):
        pass
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO tableveil.secrets VALUES ('of_this_test', 'x'::BLOB)")
    draw = random.Random(9)
    before, after = (NOW, False, False, False, False), (NEXT, True, True, True, True)
    seen = set()
    for seconds in (0.0, draw.uniform(0.01, 0.4)):
        with migrating(path) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
        found = state(path)
        assert found in (before, after)
        seen.add(found)
        if found == after:
            break
    assert before in seen, "the first one was killed before it could commit"
    with migrating(path) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "migrated\n"
    assert process.returncode == 0
    assert state(path) == after
