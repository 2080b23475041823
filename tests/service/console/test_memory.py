"""An upload goes to the disk as it comes in: the console's memory does not grow with the file."""

import http.client
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.running import running
from tests.service.access.house import House

_PIECE, _PIECES = b"1,2,3,4\n" * 2**17, 64
_MOST_GROWTH = 32 * 2**20
_BOUNDARY = "between"


def test_a_large_file_does_not_enter_memory(house: House) -> None:
    with (
        running("console", "--service", house.server.address, "--address", "127.0.0.1:0") as address,
        closing(http.client.HTTPConnection(urlsplit(address).netloc)) as connection,
    ):
        status = _status_of(house.server.address)
        form = urlencode({"token": house.token_file("ann").read_text(), "next": "/tables/upload"})
        connection.request("POST", "/sign-in", form, {"content-type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        answer.read()
        headers = {"cookie": (answer.getheader("set-cookie") or "").partition(";")[0]}
        connection.request("GET", "/tables/upload", headers=headers)
        (csrf,) = re.findall(r'name="csrf" value="([^"]+)"', connection.getresponse().read().decode())
        before = _peak(status)
        head, tail = _form(csrf=csrf, table="ward_a.large", mode="create")
        headers |= {
            "content-type": f"multipart/form-data; boundary={_BOUNDARY}",
            "content-length": str(len(head) + len(_PIECE) * _PIECES + len(tail)),
        }
        connection.request("POST", "/tables/upload", _body(head, tail), headers)
        with connection.getresponse() as stored:
            assert stored.status == 303
        assert _peak(status) - before < _MOST_GROWTH


def _form(**fields: str) -> tuple[bytes, bytes]:
    """The fields and the beginning of the file, and its end."""
    parts = [
        f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    file = f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="rows.csv"\r\n\r\n'
    return ("".join(parts) + file).encode(), f"\r\n--{_BOUNDARY}--\r\n".encode()


def _body(head: bytes, tail: bytes) -> Iterator[bytes]:
    yield head
    for _ in range(_PIECES):
        yield _PIECE
    yield tail


def _status_of(service: str) -> Path:
    """The file in which the system describes the console's process."""
    wanted = f"\0console\0--service\0{service}\0".encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (place / "cmdline").read_bytes():
                return place / "status"
        except OSError:
            continue
    pytest.skip("this system does not tell of processes")


def _peak(status: Path) -> int:
    """The most bytes that the process ever had in memory."""
    (found,) = re.findall(r"VmHWM:\s+(\d+)", status.read_text(encoding="utf-8"))
    return 1024 * int(found)
