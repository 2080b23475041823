"""The server listens on this machine only unless told otherwise, and says why it cannot listen."""

import socket
import stat
from pathlib import Path
from unittest.mock import Mock

import pytest

from tableveil.errors import BusyError, InvalidError
from tableveil.server import DEFAULT_ADDRESS, ServeSettings
from tableveil.server.access_control import AccessControl
from tableveil.server.endpoint import ServerEndpoint
from tableveil.server.stores import Stores
from tableveil.serving.address import Listening
from tests.file_modes import usual_umask


@pytest.mark.parametrize(
    "address", [DEFAULT_ADDRESS, "127.1.2.3:1", "localhost:50651", "[::1]:50651", "127.0.0.1:0", "unix:/run/x"]
)
def test_this_machine(address: str) -> None:
    Listening((address,)).check()


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0:50651",
        "[::]:50651",
        "10.0.0.7:50651",
        "db.example.com:50651",
        "localhost.example.com:1",
        "*:1",
        "[::ffff:10.0.0.7]:1",
        "2130706433:1",
    ],
)
def test_other_machines_need_the_flag(address: str) -> None:
    with pytest.raises(InvalidError) as raised:
        Listening((address,), plaintext=True).check()
    assert raised.value.code == "ADDRESS_REMOTE"
    assert "--allow-remote" in raised.value.faults[0].hint
    with pytest.raises(InvalidError) as raised:
        Listening((address,), allow_remote=True).check()
    assert raised.value.code == "ADDRESS_PLAINTEXT"
    assert "--plaintext" in raised.value.faults[0].hint
    Listening((address,), allow_remote=True, plaintext=True).check()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "tls:",
        "tls:127.0.0.1:50651",
        "tls:unix:/run/x",
        "localhost",
        ":50651",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "::1:5",
        "[::1]",
        "a b:1",
        "unix:",
        "unix:x",
        "unix:///" + "x" * 120,
        "unix:/tmp/\0x",
        "127.0.0.1:1\n",
        "http://127.0.0.1:1",
    ],
)
def test_no_address(address: str) -> None:
    for allow_remote in (False, True):
        with pytest.raises(InvalidError) as raised:
            Listening((address,), allow_remote, plaintext=True).check()
        assert raised.value.code == "ADDRESS_INVALID"


def test_a_port_that_is_taken(jobs: Mock, stores: Stores, access_control: AccessControl) -> None:
    first = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), 1)
    first.start()
    try:
        with pytest.raises(BusyError) as raised:
            ServerEndpoint(jobs, stores, access_control, Listening((first.addresses[0],)), 1)
    finally:
        first.stop(0.0)
    assert raised.value.code == "ADDRESS_IN_USE"
    assert first.addresses[0] in raised.value.message


def test_a_port_that_another_program_has(jobs: Mock, stores: Stores, access_control: AccessControl) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(BusyError) as raised:
            ServerEndpoint(jobs, stores, access_control, Listening((address,)), 1)
    assert raised.value.code == "ADDRESS_IN_USE"


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_of_another_machine(jobs: Mock, stores: Stores, access_control: AccessControl, host: str) -> None:
    with pytest.raises(InvalidError) as raised:
        ServerEndpoint(jobs, stores, access_control, Listening((f"{host}:50651",)), 1)
    assert raised.value.code == "ADDRESS_UNUSABLE"


def test_a_socket_file(jobs: Mock, stores: Stores, access_control: AccessControl, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/tableveil.sock"
    with usual_umask():
        first = ServerEndpoint(jobs, stores, access_control, Listening((address,)), 1)
    first.start()
    try:
        assert first.addresses[0] == address
        assert stat.S_IMODE((tmp_path / "tableveil.sock").stat().st_mode) == 0o600
        with pytest.raises(BusyError) as raised:
            ServerEndpoint(jobs, stores, access_control, Listening((address,)), 1)
        assert raised.value.code == "ADDRESS_IN_USE"
    finally:
        first.stop(0.0)
    # The socket of a killed server does not block the next.
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(f"{tmp_path}/tableveil.sock")
    again = ServerEndpoint(jobs, stores, access_control, Listening((address,)), 1)
    again.start()
    again.stop(0.0)


@pytest.mark.parametrize("where", ["missing/tableveil.sock", "file"])
def test_no_place_for_a_socket_file(
    jobs: Mock, stores: Stores, access_control: AccessControl, tmp_path: Path, where: str
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidError) as raised:
        ServerEndpoint(jobs, stores, access_control, Listening((f"unix:{tmp_path}/{where}",)), 1)
    assert raised.value.code == "ADDRESS_UNUSABLE"
    assert (tmp_path / "file").read_text() == "mine"


def test_a_port_can_be_had_again_at_once(jobs: Mock, stores: Stores, access_control: AccessControl) -> None:
    first = ServerEndpoint(jobs, stores, access_control, Listening(("127.0.0.1:0",)), 1)
    first.start()
    first.stop(0.0)
    again = ServerEndpoint(jobs, stores, access_control, Listening((first.addresses[0],)), 1)
    again.start()
    again.stop(0.0)
    assert again.addresses[0] == first.addresses[0]


def test_all_settings_that_are_too_small() -> None:
    settings = ServeSettings(Path("x"), threads=0, concurrent_jobs=0, queue_limit=-1, stream_limit=0)
    with pytest.raises(InvalidError) as raised:
        settings.check()
    assert [fault.field for fault in raised.value.faults] == [
        "threads",
        "concurrent_jobs",
        "queue_limit",
        "stream_limit",
    ]
    ServeSettings(Path("x")).check()
