"""The answers of the service that the endpoint remembers, and for how long."""

from collections.abc import Iterator

import pytest
from adbc_driver_manager import Error

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.client.failures import UnreachableError
from tableveil.endpoint import readers as readers_module
from tableveil.endpoint.readers import SECONDS_ANSWERED, SECONDS_REMEMBERED, Reader, Readers, RemoteService
from tableveil.errors import BusyError, DeniedError, TableveilError, UnauthenticatedError
from tableveil.identity import Credentials
from tests.service.access.house import ADMIN, House, opened, policy, submitted
from tests.service.endpoint.published import connected, publish, serving

ANN = Credentials("ann", (), "ipv4:127.0.0.1:1")


class Service:
    """It answers until it is told to fail."""

    def __init__(self) -> None:
        self.asked = 0
        self.error: TableveilError | None = None

    def reader(self, credentials: Credentials) -> Reader:
        self.asked += 1
        if self.error is not None:
            raise self.error
        name = credentials.bearer if credentials.bearer == "ann" else ""
        return Reader(name or "", "TOKEN", frozenset({self.asked}))


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def now() -> list[float]:
    return [1000.0]


@pytest.fixture
def stamp() -> list[int]:
    return [1]


@pytest.fixture
def readers(service: Service, now: list[float], stamp: list[int], monkeypatch: pytest.MonkeyPatch) -> Readers:
    monkeypatch.setattr(readers_module, "_DELAY_SECONDS", 0.0)
    return Readers(service, lambda: stamp[0], lambda: now[0])


def test_an_answer_is_remembered_for_its_time(readers: Readers, service: Service, now: list[float]) -> None:
    assert [readers.reader(ANN).releases for _ in range(3)] == [frozenset({1})] * 3
    now[0] += SECONDS_REMEMBERED - 0.1
    readers.reader(ANN)
    assert service.asked == 1
    now[0] += 0.2
    assert readers.reader(ANN).releases == {2}


def test_probes_ask_the_service_now_and_then(readers: Readers, service: Service, now: list[float]) -> None:
    """Each question is an entry of the service's audit."""
    assert [readers.answers() for _ in range(3)] == [True] * 3
    assert service.asked == 1
    service.error = BusyError("GONE", "nobody answers")
    with pytest.raises(BusyError):
        readers.reader(ANN)
    assert not readers.answers()
    service.error = None
    assert readers.answers()
    now[0] += SECONDS_ANSWERED + 0.1
    service.error = BusyError("GONE", "nobody answers")
    assert not readers.answers()


def test_a_change_of_the_directory_asks_again(readers: Readers, stamp: list[int]) -> None:
    readers.reader(ANN)
    stamp[0] += 1
    assert readers.reader(ANN).releases == {2}


def test_nobody_gets_in_once_the_service_is_gone(
    readers: Readers, service: Service, now: list[float], stamp: list[int]
) -> None:
    readers.reader(ANN)
    service.error = UnreachableError("UNREACHABLE", "gone")
    stamp[0] += 1
    now[0] += SECONDS_REMEMBERED - 0.1
    assert readers.reader(ANN).releases == {1}, "the last answer is young"
    now[0] += 0.2
    with pytest.raises(BusyError, match="the service"):
        readers.reader(ANN)
    service.error = None
    assert readers.reader(ANN).principal == "ann"


def test_an_endpoint_that_lost_its_role_remembers_nothing(readers: Readers, service: Service, stamp: list[int]) -> None:
    readers.reader(ANN)
    service.error = DeniedError("PERMISSION_DENIED", "no role")
    stamp[0] += 1
    with pytest.raises(BusyError, match="PERMISSION_DENIED"):
        readers.reader(ANN)


@pytest.mark.parametrize("bearer", [None, "", "eve"])
def test_strangers_are_refused_and_remembered(readers: Readers, service: Service, bearer: str | None) -> None:
    for _ in range(3):
        with pytest.raises(UnauthenticatedError):
            readers.reader(Credentials(bearer, (), "ipv4:127.0.0.1:1"))
    assert service.asked == 1


def test_credentials_are_told_apart(readers: Readers, service: Service) -> None:
    readers.reader(ANN)
    readers.reader(Credentials("ann", ("dns:other",), ""))
    assert service.asked == 2


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A real service with a release of each ward, both published."""
    place = tmp_path_factory.mktemp("readers")
    with opened(place) as house:
        for who, ward in (("ann", "ward_a"), ("bob", "ward_b")):
            submitted(house, who, "JobService/SubmitJob", policy=policy(ward))
        house.access.add(ADMIN, WantedGrant("rel", False, AccessRole.ANALYST, Scope(release=2)))
        published = place / "published"
        published.mkdir()
        publish(published, 1, "ward_a", {"released": "SELECT 1 AS x"})
        publish(published, 2, "ward_b", {"released": "SELECT 2 AS x"})
        yield house


@pytest.mark.long
def test_the_service_says_who_reads_what(house: House) -> None:
    place = house.files.parent
    token = house.token_file("admin")
    with RemoteService(house.server.address, token_file=token) as service, serving(place, service) as endpoint:
        readable = {"ann": [1], "bob": [2], "eve": [1], "rel": [2], "app": [2], "aud": [], "ops": [], "non": []}
        for who, releases in readable.items():
            with connected(endpoint, house.token_file(who).read_text()) as connection, connection.cursor() as cursor:
                for number, ward in ((1, "ward_a"), (2, "ward_b")):
                    if number in releases:
                        cursor.execute(f"FROM {ward}.released")
                        assert cursor.fetchall() == [(number,)]
                    else:
                        with pytest.raises(Error, match="TABLE_NOT_FOUND"):
                            cursor.execute(f"FROM {ward}.released")
        # The file goes with the withdrawal, and the right as well: with one of both the release is gone.
        eve = house.token_file("eve").read_text()
        house.clients["ann"].withdraw_release("releases/1", "a test")
        publish(place / "published", 3, "ward_a", {"other": "SELECT 3 AS x"})
        with connected(endpoint, eve) as connection, connection.cursor() as cursor:
            with pytest.raises(Error, match="TABLE_NOT_FOUND"):
                cursor.execute("FROM ward_a.other")
            with pytest.raises(Error, match="RELEASE_WITHDRAWN"):
                cursor.execute("FROM ward_a.released")
        with (
            connected(endpoint, house.token_file("bob").read_text()) as connection,
            connection.cursor() as cursor,
            pytest.raises(Error, match="TABLE_NOT_FOUND"),
        ):
            cursor.execute("FROM ward_a.released")


def test_an_endpoint_without_the_role_serves_nobody(house: House) -> None:
    place = house.files.parent
    with (
        RemoteService(house.server.address, token_file=house.token_file("ops")) as service,
        serving(place, service) as endpoint,
        pytest.raises(Error, match="SERVICE_GONE"),
        connected(endpoint, house.token_file("eve").read_text()) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT 1")
