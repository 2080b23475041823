"""One server at several addresses, each with its own way to know callers."""

import grp
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.client import Client, UnreachableError
from tableveil.errors import DeniedError, InvalidError, UnauthenticatedError
from tableveil.identity import AuthenticatedBy, Principal
from tableveil.identity.json_web_tokens import LARGEST_TOKEN
from tableveil.identity.secret import token_file
from tableveil.server import ServeSettings, TableveilServer
from tests.service.identity.providers import AUDIENCE, ISSUER, claims, key_set, rsa_entry, signed
from tests.service.tls.authorities import DAY, Authority, Files

Connect = Callable[..., Client]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("listening")


@pytest.fixture(scope="module")
def authority(directory: Path) -> Authority:
    return Authority(directory / "authority")


@pytest.fixture(scope="module")
def server(directory: Path, authority: Authority) -> Iterator[TableveilServer]:
    keys = directory / "keys.json"
    keys.write_bytes(key_set(rsa_entry()))
    files = authority.server()
    settings = ServeSettings(
        directory / "clinic.duckdb",
        ("localhost:0", "tls:127.0.0.1:0", f"unix:{directory}/socket"),
        tls_certificate=files.certificate,
        tls_key=files.key,
        tls_client_ca=authority.certificate,
        certificate_principals=("dns:etl.example=etl",),
        socket_mode="0660",
        socket_group=next((group.gr_name for group in grp.getgrall() if group.gr_gid == os.getegid()), None),
        oidc_issuer=ISSUER,
        oidc_audience=AUDIENCE,
        oidc_keys=str(keys),
    )
    with closing(TableveilServer(settings)) as started:
        yield started


@pytest.fixture(scope="module")
def token(server: TableveilServer, directory: Path) -> str:
    return token_file(directory / "clinic.duckdb").read_text().strip()


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client finds the token by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TABLEVEIL_TOKEN", raising=False)


def is_let_in(address: str, authority: Authority, token: str | None = None, client: Files | None = None) -> bool:
    """Whether it is a principal whom the server knows; one without a role is."""
    options: dict[str, Path] = {"ca_certificate": authority.certificate}
    if client:
        options |= {"client_certificate": client.certificate, "client_key": client.key}
    try:
        with Client(address, token, **options) as connected:
            connected.get_server_status()
    except DeniedError:
        return True
    except UnauthenticatedError:
        return False
    return True


def test_where_clients_need_certificates(server: TableveilServer, authority: Authority, token: str) -> None:
    address = server.addresses[0]
    assert is_let_in(address, authority, client=authority.client("etl.example"))
    for names in (("other.example",), ()):
        client = authority.client(*names)
        assert not is_let_in(address, authority, client=client)
        assert is_let_in(address, authority, token, client)
    # The certificate does not make up for a token that is wrong.
    assert not is_let_in(address, authority, "e30.e30.e30", authority.client("etl.example"))
    with pytest.raises(UnreachableError):
        is_let_in(address, authority, token)


def test_where_clients_need_none(server: TableveilServer, authority: Authority, token: str) -> None:
    address = server.addresses[1]
    assert address.startswith("127.0.0.1:")
    assert is_let_in(address, authority, token)
    assert is_let_in(address, authority, signed(claims()))
    assert not is_let_in(address, authority, signed(claims(aud="other")))
    # gRPC has limits of its own, at which it refuses by chance.
    large = signed(claims(groups=["x" * 100] * 100))
    assert 13_000 < len(large) < LARGEST_TOKEN
    assert all(is_let_in(address, authority, large) for _ in range(5))
    # Nobody asked for it, so that nobody looked at it.
    assert not is_let_in(address, authority, client=authority.client("etl.example"))


def test_a_socket_file(server: TableveilServer, directory: Path, authority: Authority, token: str) -> None:
    found = (directory / "socket").stat()
    assert stat.S_IMODE(found.st_mode) == 0o660
    assert found.st_gid == os.getegid()
    assert is_let_in(server.addresses[2], authority, token)
    assert not is_let_in(server.addresses[2], authority)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tls_certificate": Path("x")}, "tls_key"),
        ({"tls_key": Path("x")}, "tls_certificate"),
        ({"tls_client_ca": Path("x")}, "tls_client_ca"),
        ({"certificate_principals": ("dns:x=x",)}, "certificate_principal"),
        ({"plaintext": True, "tls_certificate": Path("x"), "tls_key": Path("x")}, "plaintext"),
        ({"socket_mode": "0o66"}, "socket_mode"),
        ({"socket_mode": "0466"}, "socket_mode"),
        ({"socket_group": "no such group"}, "socket_group"),
        ({"oidc_issuer": ISSUER, "oidc_keys": "x"}, "oidc_audience"),
        ({"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys": "none.json"}, "oidc_keys"),
        ({"addresses": ()}, "address"),
    ],
)
def test_settings_that_do_not_fit(tmp_path: Path, options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidError) as raised:
        TableveilServer(ServeSettings(tmp_path / "x.duckdb", **options))  # type: ignore[arg-type]
    assert [fault.field for fault in raised.value.faults] == [field]
    assert list(tmp_path.iterdir()) == [], "nothing was opened"


def test_a_certificate_that_cannot_work(tmp_path: Path, authority: Authority) -> None:
    files = authority.server(valid=-DAY)
    settings = ServeSettings(
        tmp_path / "x.duckdb", ("127.0.0.1:0",), tls_certificate=files.certificate, tls_key=files.key
    )
    with pytest.raises(InvalidError, match="expired"):
        TableveilServer(settings)
    assert list(tmp_path.iterdir()) == []


def test_tls_allows_other_machines_without_plaintext(tmp_path: Path, authority: Authority) -> None:
    files = authority.server()
    settings = ServeSettings(
        tmp_path / "x.duckdb", ("0.0.0.0:0",), allow_remote=True, tls_certificate=files.certificate, tls_key=files.key
    )
    settings.listening.check()


def test_grants_give_roles_to_groups_of_a_provider_and_to_certificates(
    server: TableveilServer, authority: Authority
) -> None:
    admin = Principal("admin", frozenset(), AuthenticatedBy.TOKEN, frozenset(AccessRole))
    for wanted in (
        WantedGrant("oidc:it", True, AccessRole.OPERATOR, Scope()),
        WantedGrant("etl", False, AccessRole.OPERATOR, Scope()),
    ):
        server.access.add(admin, wanted)
    root, etl = authority.certificate, authority.client("etl.example")
    certified: dict[str, Path] = {"ca_certificate": root, "client_certificate": etl.certificate, "client_key": etl.key}
    with (
        Client(server.addresses[1], signed(claims(groups=["it"])), ca_certificate=root) as member,
        Client(server.addresses[1], signed(claims(groups=["oidc:it", "IT"])), ca_certificate=root) as stranger,
        Client(server.addresses[0], None, **certified) as program,
    ):
        member.get_server_status()
        program.get_server_status()
        with pytest.raises(DeniedError):
            stranger.get_server_status()
