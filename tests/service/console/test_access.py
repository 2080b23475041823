"""The console shows each visitor what the service answers, and nothing to those whom it does not know."""

import gzip
import hashlib
import re
import shutil
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.console import app, sessions, visit
from tableveil.console.settings import ConsoleSettings
from tableveil.console.views import uploads
from tableveil.errors import InvalidError
from tests.service.access.house import ADMIN, House
from tests.service.console.conftest import ORIGIN, Browser, csrf

PAGES = [path.replace("{number:int}", "1") for path in app._GET]
FORMS = [path.replace("{number:int}", "1") for path in app._POST]
OF_THE_OTHER_WARD = [
    *(path for path in PAGES if "/1" in path and "upload" not in path),
    "/tables/one?schema=ward_b&table=patients",
    "/releases/1/compare?with=1",
    "/releases/1/report?format=pdf",
]


@pytest.mark.parametrize("path", [*PAGES, "/jobs/1/events", "/uploads/1/events"])
def test_strangers_see_no_page(browser: Browser, path: str) -> None:
    answer = browser().get(path)
    assert answer.status_code in (303, 401)
    assert answer.headers.get("location", "/sign-in").startswith("/sign-in")


@pytest.mark.parametrize("path", FORMS)
def test_forms_must_come_from_a_page_of_the_session(browser: Browser, path: str) -> None:
    assert browser().post(path).headers["location"].startswith("/sign-in")
    one = browser("ann")
    own = csrf(one.get("/tables/upload").text)
    for form, headers in (
        ({}, {}),
        ({"csrf": "guessed"}, {}),
        ({"csrf": csrf(browser("bob").get("/tables/upload").text)}, {}),
        ({"csrf": own}, {"origin": "https://evil.example"}),
        ({"csrf": own}, {"sec-fetch-site": "cross-site"}),
        ({"csrf": own}, {"sec-fetch-site": "same-site"}),
    ):
        assert one.post(path, data=form, headers=headers).status_code == 403


@pytest.mark.parametrize("path", OF_THE_OTHER_WARD)
def test_others_resources_read_as_missing_ones(browser: Browser, path: str) -> None:
    """The steward of one ward, an analyst of it, and the steward of one table ask for what is in the other."""
    for who in ("ann", "eve", "tab"):
        one = browser(who)
        answer, missing = one.get(path), one.get(path.replace("/1", "/9").replace("ward_b", "ward_g"))
        if not path.endswith("/report") and "compare" not in path:
            assert answer.status_code in (403, 404), who
        assert answer.status_code == missing.status_code
        hidden = r"ward_b|ward_g|releases/\d|(jobs|worksheets|dryRuns|releases)/\d|console\.test|value=\"[^\"]*\""
        assert re.sub(hidden, "", answer.text) == re.sub(hidden, "", missing.text)
        assert "patients" not in answer.text.replace("patients&#39;", "") or "table=patients" in path


def test_lists_show_what_the_visitor_may_see(browser: Browser) -> None:
    assert "ward_b" not in "".join(browser("ann").get(path).text for path in ("/releases", "/jobs", "/tables"))
    assert "ward_b.released" in browser("bob").get("/releases").text
    assert "dryRuns/1" in browser("bob").get("/jobs?state=succeeded").text
    assert "None." in browser("bob").get("/jobs?state=running").text
    assert browser("ann").get("/server/audit").status_code == 403
    admin = browser("admin")
    form = {"csrf": csrf(admin.get("/server/audit").text), "head": ""}
    assert "It is whole" in admin.post("/server/audit/verify", data=form).text
    assert "no entry has the hash" in admin.post("/server/audit/verify", data=form | {"head": "0" * 63 + "1"}).text
    assert "ListAuditEntries" in browser("admin").get("/server/audit").text + browser("admin").get("/server/audit").text


@pytest.mark.parametrize("path", ["/sign-in", "/static/style.css", "/static/htmx.min.js", "/nothing", "/releases"])
def test_every_answer_keeps_others_out(browser: Browser, path: str) -> None:
    headers = browser().get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_pages_have_no_script_of_their_own(browser: Browser) -> None:
    one = browser("bob")
    for path in ("/sign-in", "/releases", "/releases/1", "/jobs/1", "/worksheets/1", "/worksheets/1/policy"):
        text = one.get(path).text
        assert not re.search(r"<script(?! src=\"/static/)|\son\w+=|style=|javascript:", text), path
        assert not re.search(r"(src|href|action)=\"(?!/|#)", text), path


def test_the_cookie_says_nothing_and_is_for_this_site_alone(browser: Browser, house: House) -> None:
    one = browser()
    secret = house.token_file("ann").read_text()
    answer = one.post("/sign-in", data={"token": secret})
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("__Host-", "HttpOnly", "Secure", "SameSite=strict", "Path=/"))
    assert secret not in cookie + one.get("/releases").text


@pytest.mark.parametrize("token", ["", " ", "tv_wrong", "x" * 20_000])
def test_a_bad_token_begins_no_session(browser: Browser, token: str) -> None:
    answer = browser().post("/sign-in", data={"token": token})
    assert answer.status_code in (400, 401)
    assert "set-cookie" not in answer.headers
    assert token.strip() not in answer.text or not token.strip()


@pytest.mark.parametrize(
    "place", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/\nx", "javascript:alert(1)"]
)
def test_signing_in_leads_nowhere_else(browser: Browser, house: House, place: str) -> None:
    answer = browser().post("/sign-in", data={"token": house.token_file("ann").read_text(), "next": place})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(("who", "first"), [("ann", "/releases"), ("ops", "/server")])
def test_the_start_is_a_page_that_the_visitor_may_see(browser: Browser, who: str, first: str) -> None:
    one = browser(who)
    assert one.get("/").headers["location"] == first
    assert one.get(first).status_code == 200


def test_signing_in_again_ends_the_session_before(browser: Browser, house: House) -> None:
    """No name that somebody may have put there, or kept, is worth anything afterwards."""
    one = browser("ann")
    before = one.cookies.get("__Host-tableveil") or ""
    one.post("/sign-in", data={"token": house.token_file("ann").read_text()})
    assert one.cookies.get("__Host-tableveil") not in ("", before)
    assert one.get("/jobs").status_code == 200
    one.cookies.clear()
    one.cookies.set("__Host-tableveil", before)
    assert one.get("/jobs").status_code == 303


def test_forms_are_no_larger_than_memory_and_disk_allow(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before it is read, and so is one that does not say how large it is."""
    one = browser("ann")
    own = csrf(one.get("/tables/upload").text)
    sent = {"content-type": "application/x-www-form-urlencoded"}
    assert one.post("/worksheets/1", content=iter([b"csrf=", own.encode()]), headers=sent).status_code == 413
    monkeypatch.setattr(visit, "_LARGEST_FORM", 100)
    assert one.post("/worksheets/1", data={"csrf": own, "policy": "x" * 100}).status_code == 413
    usage = type("Usage", (), {"free": 200})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    form = {"csrf": own, "table": "ward_a.large", "mode": "create"}
    answer = one.post("/tables/upload", data=form, files={"file": ("rows.csv", b"a\n" * 1000)})
    assert answer.status_code == 413
    assert "tableveil load" in answer.text


def test_a_session_ends_by_the_visitor_or_with_the_token(browser: Browser, house: House) -> None:
    one = browser("ann")
    assert one.get("/jobs").status_code == 200
    assert one.post("/sign-out", headers={"origin": "https://evil.example"}).status_code == 403
    kept = one.cookies.get("__Host-tableveil")
    assert one.post("/sign-out", headers={"origin": ORIGIN}).headers["location"] == "/sign-in"
    one.cookies.set("__Host-tableveil", kept or "")
    assert one.get("/jobs").status_code == 303, "the session is gone, not only its cookie"
    made = house.clients["admin"].create_token("zoe", "test")
    house.access.add(ADMIN, WantedGrant("zoe", False, AccessRole.STEWARD, Scope("ward_a")))
    other = browser()
    other.post("/sign-in", data={"token": made.secret})
    assert other.get("/jobs").status_code == 200
    house.clients["admin"].revoke_token(made.name)
    assert other.get("/jobs").headers["location"] == "/sign-in"
    assert other.get("/static/style.css").status_code == 200


def test_an_idle_session_ends(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    one = browser("ann")
    monkeypatch.setattr(sessions, "IDLE_SECONDS", -1.0)
    assert one.get("/jobs").status_code == 303


def test_sign_ins_of_one_principal_keep_no_other_out(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, house: House
) -> None:
    """The next one ends the session that nobody used for longest; another principal finds room."""
    monkeypatch.setattr(sessions, "MOST_OF_PRINCIPAL", 3)
    monkeypatch.setattr(sessions, "MOST", 20)
    other = browser("bob")
    first, second, *later = [browser("eve") for _ in range(3)]
    assert first.get("/releases").status_code == 200, "it is used after the second one"
    for _ in range(40):
        later.append(browser("eve"))
        assert first.get("/releases").status_code == 200
    assert second.get("/releases").headers["location"].startswith("/sign-in")
    assert [one.get("/releases").status_code for one in later] == [303] * 39 + [200] * 2
    assert other.get("/releases").status_code == browser("ann").get("/releases").status_code == 200


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"host": "0.0.0.0"}, "address"),
        ({"host": "0.0.0.0", "allow_remote": True}, "tls_certificate"),
        ({"tls_certificate": "c.pem"}, "tls_certificate"),
    ],
)
def test_others_are_served_by_tls_alone(settings: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidError) as error:
        ConsoleSettings("127.0.0.1:1", **settings).check()  # type: ignore[arg-type]
    assert error.value.faults[0].field == field


def test_htmx_is_the_file_that_was_published() -> None:
    """Version 2.0.11 of the npm package htmx.org, dist/htmx.min.js; its licence is beside it."""
    static = files("tableveil.console").joinpath("static")
    digest = hashlib.sha256(static.joinpath("htmx.min.js").read_bytes()).hexdigest()
    assert digest == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
    assert "Zero-Clause BSD" in static.joinpath("htmx.LICENSE.txt").read_text()


def test_files_are_taken_from_those_alone_who_may_load(
    browser: Browser, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before their bytes: ten of a principal may wait, in all sessions together, and what is loaded waits no more."""

    def send(who: TestClient, content: bytes = b"a\n1\n") -> Response:
        form = {"csrf": csrf(who.get("/tables/upload").text), "table": "ward_a.sent", "mode": "replace"}
        return who.post("/tables/upload", data=form, files={"file": ("rows.csv", content)})

    made = house.clients["admin"].create_token("viewer", "test")
    house.access.add(ADMIN, WantedGrant("viewer", False, AccessRole.ANALYST, Scope(release=1)))
    analyst, steward = browser(), house.clients["admin"].create_token("sender", "test")
    house.access.add(ADMIN, WantedGrant("sender", False, AccessRole.STEWARD, Scope("ward_a")))
    analyst.post("/sign-in", data={"token": made.secret})
    sent = analyst.post("/tables/upload", data={"csrf": "?"}, files={"file": ("rows.csv", b"a\n" * 1000)})
    assert (sent.status_code, "ask for that of a steward" in sent.text) == (403, True)
    first, second = browser(), browser()
    for one in (first, second):
        one.post("/sign-in", data={"token": steward.secret})
    places = [send(one).headers["location"] for one in (first, second) for _ in range(5)]
    assert (refused := send(second)).status_code == 409
    assert "10 files that wait" in refused.text
    first.post(places[0], data={"csrf": csrf(first.get(places[0]).text), "action": "load", "header": "yes"})
    deadline = time.monotonic() + 60
    while "rows sent" in first.get(places[0]).text:
        assert time.monotonic() < deadline
    monkeypatch.setattr(uploads, "_ALWAYS_UNPACKED", 1_000_000)
    bomb = gzip.compress(b"a\n" + b"0" * 5_000_000)
    assert "when it is unpacked" in send(second, bomb).text
    assert send(second).status_code == 303


def test_files_of_a_killed_console_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = tmp_path / "tableveil-console-killed"
    killed.mkdir()
    (killed / "held").touch()
    (killed / "1.csv").write_text("raw")
    running, other = sessions.Sessions(), sessions.Sessions()
    assert {path.name for path in tmp_path.iterdir()} == {running.directory.name, other.directory.name}
    running.close()
    other.close()
    assert not [*tmp_path.iterdir()]
