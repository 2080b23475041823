"""Service, endpoint and backup, run by the configurations of deploy/compose with places of this test."""

import json
import signal
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import pytest

from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.forked import Command
from tests.e2e.process import SECONDS_TO_STOP

COMPOSE = Path(__file__).parents[2] / "deploy" / "compose"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for directory in ("data/incoming", "backups", "published", "audit", "run/secrets", "tmp"):
        (tmp_path / directory).mkdir(parents=True)
    return tmp_path


def configuration(place: Path, name: str, **replaced: str) -> Path:
    """A configuration of the containers, whose absolute paths are below the place, at any port."""
    text = (COMPOSE / name).read_text().replace('"/', f'"{place}/').replace(":/", f":{place}/")
    text = text.replace('"0.0.0.0:50651"', '"127.0.0.1:0"').replace('"0.0.0.0:50652"', '"localhost:0"')
    for old, new in (("0.0.0.0:9464", "127.0.0.1:0"), *replaced.items()):
        text = text.replace(old, new)
    (place / name).write_text(text)
    return place / name


def test_from_an_empty_volume_to_an_analyst(place: Path) -> None:
    samples.create(place / "data" / "tables.duckdb", people=samples.PEOPLE)
    service = Command("serve", "--config", str(configuration(place, "config.toml")), log=place / "service.log")
    started = [service]
    try:
        line = service.stdout.readline()
        assert " on " in line, (place / "service.log").read_text()
        address = line.rpartition(" on ")[2].split(",")[0].strip()
        inside = f"unix:{place}/tmp/tableveil"

        def done(*arguments: str) -> str:
            first_token = str(place / "data" / ".tables.duckdb.token")
            outcome = tableveil(*arguments, "--token-file", first_token, server=inside)
            assert outcome.exit_code == 0, outcome.stderr
            return outcome.stdout

        for name, role in (("endpoint", "endpoint"), ("backup", "operator")):
            token = place / "run" / "secrets" / f"{name}-token"
            token.write_text(done("tokens", "create", name, "--role", role))
            token.chmod(0o600)
        analyst = done("tokens", "create", "ann").strip()
        done("grants", "add", "analyst", "--principal", "ann", "--schema", "main")
        document = samples.policy(release={"name": "released", "publish": ["shelf"]})
        (place / "policy.json").write_text(json.dumps(document))
        done("submit", "--wait", str(place / "policy.json"))
        done("publish", "releases/1", "--to", "shelf")
        config = configuration(place, "endpoint.toml", **{"tableveil:50651": address})
        endpoint = Command("endpoint", "--config", str(config), log=place / "endpoint.log")
        started.append(endpoint)
        uri = endpoint.stdout.readline().rpartition(" on ")[2].strip()
        credential = {"adbc.flight.sql.authorization_header": f"Bearer {analyst}"}
        with (
            flight_sql.connect(uri, db_kwargs=credential, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT count(*) > 0 FROM released")
            assert cursor.fetchall() == [(True,)]
        token = place / "run" / "secrets" / "backup-token"
        outcome = tableveil("backup", "--keep", "14", "--token-file", str(token), server=address)
        assert outcome.exit_code == 0, outcome.stderr
        assert [file.suffix for file in (place / "backups").iterdir()] == [".duckdb"]
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS_TO_STOP) == 0
