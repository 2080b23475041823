"""Visitors of the console: what a browser asks for, and who asks for which pages."""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

_SECONDS_TO_START = 60.0


def pages(waiting: str, own: int) -> dict[str, Sequence[str]]:
    """The pages that each role looks at: stewards those of their `own` release, approvers those of one `waiting`."""
    steward = (
        "/releases",
        "/releases?state=approved",
        f"/releases/{own}",
        f"/releases/{own}/questions",
        f"/releases/{own}/compare?with=1",
        "/jobs",
        "/tables",
        "/tables?schema=main",
        "/tables/upload",
        "/tables/one?schema=main&table=people",
        "/tables/remarks?schema=main&table=people",
        "/dry-runs/1",
        "/worksheets",
        "/worksheets/1",
        "/worksheets/1/compare",
        "/worksheets/1/policy",
        "/worksheets/1/release",
        "/server",
    )
    approver = ("/releases", "/approvals", "/releases?state=pending", f"/{waiting}", f"/{waiting}/compare?with=1")
    admin = ("/releases", "/server", "/server/audit", "/server/grants", "/server/principals", "/server/targets")
    return {"steward": steward, "approver": approver, "admin": admin}


class TooBusy(Exception):
    """The service has too much to do at the moment."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who is signed in, with a session of their own."""

    host: str
    port: int
    cookie: str

    @classmethod
    def of(cls, address: str, token: str) -> Visitor:
        """Signed in by a token."""
        parts = urlsplit(address)
        assert parts.hostname is not None
        assert parts.port is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port)
        form = urlencode({"token": token, "next": "/jobs"})
        connection.request("POST", "/sign-in", form, {"content-type": "application/x-www-form-urlencoded"})
        cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
        return cls(parts.hostname, parts.port, cookie)

    def get(self, path: str) -> tuple[float, bytes]:
        """The seconds that an answer took, and its bytes."""
        connection = http.client.HTTPConnection(self.host, self.port)
        began = time.monotonic()
        connection.request("GET", path, headers={"cookie": self.cookie})
        answer = connection.getresponse()
        content = answer.read()
        took = time.monotonic() - began
        connection.close()
        if answer.status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise TooBusy
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return took, content

    def follow(self, job: str, seconds: float) -> None:
        """Stays on a job's page: its events come while somebody looks."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=1.0)
        connection.request("GET", f"/{job}/events", headers={"cookie": self.cookie})
        until = time.monotonic() + seconds
        answer = connection.getresponse()
        try:
            while time.monotonic() < until and answer.readline():
                pass
        except TimeoutError:
            # The job is quiet.
            time.sleep(max(0.0, until - time.monotonic()))
        finally:
            connection.close()


def framed(page: bytes) -> list[str]:
    """The pages in a page, which a browser asks for at once."""
    return re.findall(r'<iframe src="([^"]+)"', page.decode())


def parts_of(page: bytes) -> set[str]:
    """Everything that a browser needs for a page."""
    return {*re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode()), *framed(page)}


def wait_for(address: str) -> None:
    """It says its address before it listens."""
    parts, deadline = urlsplit(address), time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
