"""TLS at a port: who gets in, with which names, and how a renewed certificate is taken up while the server runs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import warnings
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import grpc
import pytest

from tableveil.errors import InvalidError
from tableveil.operate import Level
from tableveil.serving.tls import SOON, PortCertificates, TlsFiles, certificate_names
from tests.service.tls.authorities import DAY, Authority, Files


class _Names(grpc.GenericRpcHandler):
    """Answers with the names in the caller's certificate."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        return grpc.unary_unary_rpc_method_handler(lambda _, context: json.dumps(certificate_names(context)).encode())


@contextmanager
def serving(files: TlsFiles) -> Iterator[int]:
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[_Names()])
    port = server.add_secure_port("127.0.0.1:0", PortCertificates(files).credentials())
    server.start()
    try:
        yield port
    finally:
        server.stop(0).wait()


def names_at(port: int, root: Path, client: Files | None = None) -> list[str]:
    """Asks over a connection of its own."""
    pair = (client.key.read_bytes(), client.certificate.read_bytes()) if client else (None, None)
    credentials = grpc.ssl_channel_credentials(root.read_bytes(), *pair)
    with grpc.secure_channel(f"localhost:{port}", credentials, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        ask: Any = channel.unary_unary("/a/b")
        found: list[str] = json.loads(ask(b"", timeout=60))
        return found


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def other(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "other")


def of_server(authority: Authority, clients: Authority | None = None) -> TlsFiles:
    files = authority.server()
    return TlsFiles(files.certificate, files.key, clients.certificate if clients else None)


def test_clients_need_certificates_of_the_authority(authority: Authority, other: Authority) -> None:
    with serving(of_server(authority, other)) as port:
        assert names_at(port, authority.certificate, other.client("etl.example", "10.0.0.7")) == [
            "dns:etl.example",
            "ip:10.0.0.7",
        ]
        # Without a name it is nobody, but may show a token.
        assert names_at(port, authority.certificate, other.client()) == []
        refused = [
            None,
            authority.client("etl.example"),
            other.client("etl.example", valid=-DAY),
            # It is for a server.
            other.server("etl.example"),
        ]
        for client in refused:
            with pytest.raises(grpc.RpcError) as raised:
                names_at(port, authority.certificate, client)
            assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


def test_certificates_that_nobody_asked_for_are_no_names(authority: Authority) -> None:
    with serving(of_server(authority)) as port:
        assert names_at(port, authority.certificate) == []
        assert names_at(port, authority.certificate, authority.client("etl.example")) == []


def test_a_certificate_that_expires_while_its_connection_stands(authority: Authority) -> None:
    context = create_autospec(grpc.ServicerContext, instance=True)
    for valid, names in ((DAY, ("dns:etl",)), (-timedelta(seconds=1), ())):
        pem = authority.client("etl", valid=valid).certificate.read_bytes()
        context.auth_context.return_value = {"x509_pem_cert": [pem], "peer_dns": [b"etl"]}
        assert certificate_names(context) == names


def test_the_doctor_sees_when_the_certificate_ends(authority: Authority) -> None:
    certificates = PortCertificates(of_server(authority))
    for left, level in ((SOON + DAY, Level.OK), (SOON - DAY, Level.WARNING), (-DAY, Level.PROBLEM)):
        certificates._ends = datetime.now(UTC) + left
        assert certificates.examine().level is level


def test_a_renewed_certificate_is_taken_up(
    authority: Authority, other: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    files = of_server(authority)
    with caplog.at_level("INFO", "tableveil.server"), serving(files) as port:
        names_at(port, authority.certificate)
        # Broken files leave the earlier certificate in use, and are reported once.
        files.key.chmod(0o644)
        broken = files.certificate.with_suffix(".new")
        broken.write_bytes(other.server().certificate.read_bytes())
        broken.replace(files.certificate)
        for _ in range(3):
            names_at(port, authority.certificate)
        assert caplog.text.count("the earlier certificate stays in use") == 1
        renewed = other.server()
        os.replace(renewed.certificate, files.certificate)
        os.replace(renewed.key, files.key)
        names_at(port, other.certificate)
        with pytest.raises(grpc.RpcError):
            names_at(port, authority.certificate)
        files.certificate.unlink()
        names_at(port, other.certificate)
    assert caplog.text.count("a renewed certificate is in use") == 1


def test_another_authority_of_clients_is_taken_up(authority: Authority, other: Authority, tmp_path: Path) -> None:
    files = of_server(authority, authority)
    assert files.client_ca is not None
    mine, theirs = authority.client("mine"), other.client("theirs")
    with serving(files) as port:
        assert names_at(port, authority.certificate, mine) == ["dns:mine"]
        root = Path(shutil.copy(authority.certificate, tmp_path / "root.pem"))
        os.replace(other.certificate, files.client_ca)
        assert names_at(port, root, theirs) == ["dns:theirs"]
        with pytest.raises(grpc.RpcError):
            names_at(port, root, mine)


def test_old_versions_of_tls_are_refused(authority: Authority) -> None:
    with serving(of_server(authority)) as port:
        for version, spoken in (("TLSv1", None), ("TLSv1_1", None), ("TLSv1_2", "TLSv1.2"), ("TLSv1_3", "TLSv1.3")):
            assert _spoken(port, ssl.TLSVersion[version]) == spoken


def _spoken(port: int, version: ssl.TLSVersion) -> str | None:
    """The version of a handshake that allows no other; None if the server refuses it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    # Otherwise the system's own settings might refuse it.
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    try:
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as connection:
            return connection.version()
    except ssl.SSLError:
        return None


def test_files_that_cannot_work_are_refused_at_the_start(authority: Authority, tmp_path: Path) -> None:
    files = of_server(authority)
    for wrong, option in (
        (TlsFiles(files.key, files.key), "tls_certificate"),
        (TlsFiles(files.certificate, authority.client("x").key), "tls_key"),
        (TlsFiles(files.certificate, files.key, tmp_path / "none.pem"), "tls_client_ca"),
    ):
        with pytest.raises(InvalidError) as raised:
            PortCertificates(wrong)
        assert raised.value.faults[0].field == option
