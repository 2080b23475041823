"""Shows that the call which hands out released objects hands out nothing else."""

from collections.abc import Iterator

import pytest

from tableveil.client import Client
from tableveil.errors import ConflictError, InvalidError, NotFoundError, TableveilError
from tableveil.server import ServeSettings, TableveilServer
from tests.adversary import samples
from tests.adversary.publishing import changed, create_source, policy_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server with three releases: a view, a table that was replaced, and the table in its place."""
    path = tmp_path_factory.mktemp("reach") / "clinic.duckdb"
    create_source(path, samples.patients(), "CREATE SCHEMA other", "CREATE TABLE other.released AS FROM patients")
    server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=2))
    replacing = {"name": "replaced", "if_exists": "REPLACE"}
    try:
        with Client(server.address) as connected:
            for release in (samples.VIEW, replacing, replacing):
                document = changed(samples.policy(), release=release, repeat_reason="a test")
                job = connected.wait(connected.submit(policy_of(document)).name)
                assert job.result, job
            yield connected
    finally:
        server.close()


@pytest.mark.parametrize(
    "name",
    [
        "patients",
        "main.patients",
        "clinic.main.patients",
        "other.released",
        "snapshot_1",
        "tableveil.snapshot_1",
        "secrets",
        "tableveil.secrets",
        "tableveil.releases",
        "hierarchy_1",
        "duckdb_tables()",
        "information_schema.tables",
        # Objects of other releases, even public ones.
        "replaced",
        "replaced_classes",
        # Other spellings of a name that is listed.
        "RELEASED",
        '"released"',
        "main.released",
        "released ",
        'released" UNION ALL FROM "patients',
        "released; FROM patients",
        "released\0",
        "/etc/passwd",
    ],
)
def test_only_listed_objects_are_read(client: Client, name: str) -> None:
    with pytest.raises((NotFoundError, InvalidError)) as raised:
        client.read_table("releases/1", name)
    assert raised.value.code in ("OBJECT_NOT_FOUND", "NAME_INVALID")


def test_what_is_listed_is_read(client: Client) -> None:
    names = [item.name for item in client.get_release("releases/1").objects]
    companions = ("classes", "risk", "risk_histogram", "columns", "labels", "about")
    assert names == ["released", *(f"released_{part}" for part in companions)]
    for name in names:
        assert client.read_table("releases/1", name).num_rows > 0


def test_a_replaced_release_does_not_hand_out_its_successor(client: Client) -> None:
    with pytest.raises(ConflictError) as raised:
        client.read_table("releases/2", "replaced")
    assert raised.value.code == "RELEASE_REPLACED"
    assert client.read_table("releases/3", "replaced").num_rows > 0


@pytest.mark.parametrize("release", ["releases/4", "releases/0", "releases/99999999999999999999"])
def test_releases_that_do_not_exist(client: Client, release: str) -> None:
    with pytest.raises(TableveilError) as raised:
        client.read_table(release, "released")
    assert raised.value.code in ("RELEASE_NOT_FOUND", "NAME_INVALID")
