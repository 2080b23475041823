"""A client over TLS: what it needs, where it finds it, and errors that say which side has to do what."""

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import grpc
import pytest

from tableveil.client import Client, UnreachableError
from tableveil.errors import Fault, InvalidError
from tableveil.serving.tls import PortCertificates, TlsFiles
from tests.service.tls.authorities import DAY, Authority

TOKEN = "e30.e30.e30"

Serve = Callable[..., AbstractContextManager[str]]


@contextmanager
def serving(tls: TlsFiles | None) -> Iterator[str]:
    """A server without methods: a client that is told so has reached it."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    if tls:
        port = server.add_secure_port("127.0.0.1:0", PortCertificates(tls).credentials())
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        # The error of a name with two addresses may be that of the other one, where nobody listens.
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def other(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "other")


@pytest.fixture
def tls(authority: Authority) -> TlsFiles:
    files = authority.server()
    return TlsFiles(files.certificate, files.key)


def reached(client: Client) -> Fault:
    """Whether the client reaches the server, as the fault of the error that it gets in any case."""
    with client, pytest.raises(UnreachableError) as raised:
        client.get_job("1")
    (fault,) = raised.value.faults
    assert fault.found
    assert fault.expected
    assert fault.hint
    return fault


def is_reached(client: Client) -> bool:
    return "does not know the call" in reached(client).found


def test_certificates_of_both_sides(authority: Authority, other: Authority, tls: TlsFiles) -> None:
    client = other.client("etl")
    with serving(TlsFiles(tls.certificate, tls.key, other.certificate)) as address:
        assert is_reached(
            Client(
                address,
                TOKEN,
                ca_certificate=authority.certificate,
                client_certificate=client.certificate,
                client_key=client.key,
            )
        )
        fault = reached(Client(address, TOKEN, ca_certificate=authority.certificate))
        assert "--client-certificate" in fault.hint
        client = authority.client("etl")
        fault = reached(
            Client(
                address,
                TOKEN,
                ca_certificate=authority.certificate,
                client_certificate=client.certificate,
                client_key=client.key,
            )
        )
        assert "authorities that the server names" in fault.hint


def test_a_server_without_tls(authority: Authority) -> None:
    with serving(None) as address:
        assert is_reached(Client(address, TOKEN))
        assert "no TLS" in reached(Client(address, TOKEN, ca_certificate=authority.certificate)).found


def test_a_client_without_tls(tls: TlsFiles) -> None:
    with serving(tls) as address:
        assert "--ca-certificate" in reached(Client(address, TOKEN)).hint
        with Client(address) as client, pytest.raises(UnreachableError, match="--ca-certificate"):
            client.check_health()


def test_a_server_that_proves_to_be_another(other: Authority, authority: Authority, tls: TlsFiles) -> None:
    with serving(tls) as address:
        fault = reached(Client(address, TOKEN, ca_certificate=other.certificate))
        assert (fault.field, "unable to get local issuer certificate" in fault.found) == ("ca_certificate", True)
    files = authority.server("clinic.example")
    with serving(TlsFiles(files.certificate, files.key)) as address:
        fault = reached(Client(address, TOKEN, ca_certificate=authority.certificate))
        assert "without the name by which you reach it" in fault.found


def test_nobody_there(authority: Authority) -> None:
    assert "no answer" in reached(Client("127.0.0.1:1", TOKEN, ca_certificate=authority.certificate)).found


def test_the_environment(authority: Authority, tls: TlsFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    client = authority.client("etl")
    monkeypatch.setenv("TABLEVEIL_CA_CERTIFICATE", str(authority.certificate))
    monkeypatch.setenv("TABLEVEIL_CLIENT_CERTIFICATE", str(client.certificate))
    monkeypatch.setenv("TABLEVEIL_CLIENT_KEY", str(client.key))
    with serving(TlsFiles(tls.certificate, tls.key, authority.certificate)) as address:
        assert is_reached(Client(address, TOKEN))
        # Arguments are all there is, if there is one.
        assert "--client-certificate" in reached(Client(address, TOKEN, ca_certificate=authority.certificate)).hint
    # A socket file speaks no TLS.
    assert "no answer" in reached(Client("unix:/nowhere", TOKEN)).found


def test_files_that_cannot_work(authority: Authority, tmp_path: Path) -> None:
    client, root = authority.client("etl"), authority.certificate
    cases: dict[str, dict[str, Path]] = {
        "client_key": {"ca_certificate": root, "client_certificate": client.certificate},
        "client_certificate": {"ca_certificate": root, "client_key": client.key},
        "ca_certificate": {"client_certificate": client.certificate, "client_key": client.key},
    }
    for field, options in cases.items():
        with pytest.raises(InvalidError) as raised:
            Client("localhost:1", TOKEN, **options)
        assert raised.value.faults[0].field == field
    with pytest.raises(InvalidError, match="cannot be read"):
        Client("localhost:1", TOKEN, ca_certificate=tmp_path / "none.pem")
    expired = authority.client("etl", valid=-DAY)
    with pytest.raises(InvalidError, match="expired"):
        Client(
            "localhost:1", TOKEN, ca_certificate=root, client_certificate=expired.certificate, client_key=expired.key
        )


def test_a_name_with_two_addresses_hints_at_tls(tls: TlsFiles) -> None:
    with serving(tls) as address, Client(address.replace("127.0.0.1", "localhost")) as client:
        for _ in range(3):  # either address may be tried last
            with pytest.raises(UnreachableError, match="--ca-certificate"):
                client.check_health()
