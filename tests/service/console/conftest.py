"""A console of the house of two wards, and browsers that sign in there."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from starlette.testclient import TestClient

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.console.app import make_app
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings
from tableveil.v1 import policy_pb2, worksheet_service_pb2
from tests.service.access.house import ADMIN, House, opened, policy, submitted, table

ORIGIN = "https://console.test"

Browser = Callable[..., TestClient]


@pytest.fixture(scope="package")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """In ward_b there are a job, a release, a dry run and a worksheet, each the first of its kind."""
    with opened(tmp_path_factory.mktemp("console")) as house:
        submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b"))
        submitted(house, "bob", "DryRunService/SubmitDryRun", policy=policy("ward_b", "other"))
        kept = worksheet_service_pb2.Worksheet(table=policy_pb2.TableReference(**table("ward_b")))
        house.clients["bob"].create_worksheet(kept)
        house.access.add(ADMIN, WantedGrant("rel", False, AccessRole.ANALYST, Scope(release=1)))
        yield house


@pytest.fixture(scope="package")
def browser(house: House) -> Iterator[Browser]:
    """A browser of the house; see `browsing`."""
    with browsing(house) as opened_browser:
        yield opened_browser


@contextmanager
def browsing(house: House) -> Iterator[Browser]:
    """`browser(who)` is signed in as that principal, `browser()` as nobody."""
    settings = ConsoleSettings(house.server.address)
    with ExitStack() as opened_browsers:
        # Starlette ends the sessions with the application.
        sessions = Sessions()
        app = make_app(settings, sessions)
        opened_browsers.callback(sessions.close)

        def browse(who: str | None = None) -> TestClient:
            made = TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)
            if who is not None:
                answer = made.post("/sign-in", data={"token": house.token_file(who).read_text(), "next": "/server"})
                assert (answer.status_code, answer.headers["location"]) == (303, "/server"), answer.text
            return made

        yield browse


def csrf(page: str) -> str:
    """The secret that proves that a form comes from this page."""
    return str(re.findall(r'name="csrf" value="([^"]+)"', page)[0])


def etag(page: str) -> str:
    """The state that a worksheet's page shows."""
    return str(re.findall(r'name="etag" value="([^"]+)"', page)[0])
