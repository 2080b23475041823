"""Each page shows what a few calls told the visitor, and no more; lists go on from page to page."""

import html
import re
from pathlib import Path

import grpc
import pytest

from tableveil.console import app
from tableveil.server import report_service
from tests.once import once
from tests.service.access.house import GRANTS, House
from tests.service.console.calls import Listener, Told
from tests.service.console.conftest import Browser, csrf, etag
from tests.service.console.test_access import FORMS, OF_THE_OTHER_WARD, PAGES

MOST_CALLS = 3
MOST_LINES = 4000

WITH_ROLES = [name for name, grants in GRANTS.items() if grants]

OF_WARD_B = ("ward_b", "7, 0", "7, 1", "7, 4", "bob")
"""Names and values of the other ward; they are not in the console's own words."""


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    """Hears the calls of consoles' sessions that begin from now on; PDF files are the pages that are drawn in them."""
    monkeypatch.setattr(report_service, "as_pdf", lambda page, attached: page.encode())
    heard, opened = Listener(), grpc.insecure_channel
    monkeypatch.setattr(grpc, "insecure_channel", lambda *a, **k: grpc.intercept_channel(opened(*a, **k), heard))
    return heard


@pytest.mark.parametrize("who", once(["bob", "admin"]))
def test_a_page_takes_few_calls(browser: Browser, listener: Listener, who: str) -> None:
    one = browser(who)
    table = "schema=ward_b&table=patients"
    whole = {"/tables/one": f"?{table}", "/tables/remarks": f"?{table}", "/releases/1/compare": "?with=1"}
    seen = 0
    for path in PAGES:
        listener.told = Told()
        answer = one.get(path + whole.get(path, ""))
        seen += answer.status_code == 200
        assert len(listener.told.methods) <= MOST_CALLS, (path, listener.told.methods)
    assert seen > len(PAGES) // 2


@pytest.mark.parametrize("who", once([*WITH_ROLES, "admin"], 4))
def test_no_page_shows_more_than_the_calls_told(browser: Browser, listener: Listener, who: str) -> None:
    """Every address of the other ward's things, as every principal."""
    one = browser(who)
    for path in (*OF_THE_OTHER_WARD, *(page for page in PAGES if "/1" not in page)):
        listener.told = Told()
        answer = one.get(path)
        text = html.unescape(answer.text)
        for secret in OF_WARD_B:
            if secret in text and secret not in path and secret != who:
                assert secret in listener.told.text, (path, secret)
        if listener.told.failed:
            # The start leads on to what the visitor may see.
            expected = (303,) if path == "/" else (403, 404)
            assert answer.status_code in expected or "labels" in path, (path, listener.told.failed)


@pytest.mark.parametrize("who", once([name for name in WITH_ROLES if name not in ("bob", "app", "ops")], 2))
def test_no_form_changes_what_is_not_the_visitors(browser: Browser, house: House, who: str) -> None:
    """Approvers of the ward decide upon its releases, and operators cancel any job: nobody else does."""
    bob, one = house.clients["bob"], browser(who)
    before = bob.get_worksheet("worksheets/1"), bob.get_release("releases/1"), bob.get_job("jobs/1")
    form = {"csrf": csrf(one.get("/tables/upload").text), "etag": before[0].etag, "schema": "ward_b"}
    form |= {"table": "patients", "note": "a reason", "target": "ward_b.taken", "policy": "default_role: IDENTIFYING"}
    for path in FORMS:
        if "upload" not in path and path != "/server/audit/verify":
            answer = one.post(path, data=form)
            assert answer.status_code in (403, 404), path
    assert (bob.get_worksheet("worksheets/1"), bob.get_release("releases/1"), bob.get_job("jobs/1")) == before


@pytest.mark.long
def test_a_report_is_drawn(browser: Browser) -> None:
    drawn = browser("bob").get("/releases/1/report?format=pdf")
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "application/pdf")
    assert drawn.content.startswith(b"%PDF")
    assert "release-1.pdf" in drawn.headers["content-disposition"]


def test_a_list_goes_on(browser: Browser, house: House) -> None:
    made = {house.clients["admin"].create_token(f"guest{n}", "test").name for n in range(55)}
    one = browser("admin")
    first = one.get("/server/principals").text
    (following,) = re.findall(r'<a href="(/server/principals\?after=[^"]+)" rel="next"', first)
    second = one.get(html.unescape(following)).text
    assert 'href="/server/principals">First page' in second
    listed = [re.findall(r">(tokens/\d+)<", page) for page in (first, second)]
    assert len(listed[0]) == 50
    assert not {*listed[0]} & {*listed[1]}
    assert made <= {*listed[0], *listed[1]}
    assert one.get("/server/principals?after=garbage").status_code == 400
    assert 'rel="next"' not in one.get("/releases").text


def test_a_filter_stays_on_the_next_page(browser: Browser) -> None:
    one = browser("admin")
    for _ in range(51):
        one.get("/server/grants")
    page = one.get("/server/audit?principal=admin").text
    (following,) = re.findall(r'<a href="([^"]+)" rel="next"', page)
    assert "principal=admin&" in html.unescape(following)


def test_lists_of_the_server_speak_in_words(browser: Browser, house: House) -> None:
    one = browser("admin")
    assert re.search(r"<td[^>]*>steward</td>", one.get("/server/grants").text)
    token = house.clients["admin"].create_token("left", "test").name
    house.clients["admin"].revoke_token(token)
    assert re.search(rf"{token}<.*?revoked", one.get("/server/principals").text, re.DOTALL)
    assert "None." in one.get("/server/targets").text
    assert browser("eve").get("/server/targets").status_code == 403


def test_a_table_is_understood_before_anything_is_decided(browser: Browser) -> None:
    one = browser("bob")
    page = one.get("/tables/one?schema=ward_b&table=patients").text
    (place,) = re.findall(r'hx-get="(/tables/remarks[^"]+)"', page)
    part = one.get(html.unescape(place), headers={"hx-request": "true"}).text
    assert "<html" not in part
    assert part.index("all columns together") < part.index("<dt>age</dt>")
    assert "<strong>guessed: </strong>" in part
    assert "<h1>What the rows of ward_b.patients suggest</h1>" in one.get(html.unescape(place)).text


def test_a_worksheet_says_what_its_policy_promises(browser: Browser) -> None:
    one = browser("bob")
    form = {"csrf": csrf(one.get("/tables/upload").text), "schema": "ward_b", "table": "patients"}
    place = one.post("/worksheets", data=form).headers["location"]
    page = one.get(place).text
    assert "Every class has records of at least" in page
    assert etag(page)


def test_a_principal_without_a_role_does_not_come_in(browser: Browser, house: House) -> None:
    answer = browser().post("/sign-in", data={"token": house.token_file("non").read_text()})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_console_stays_small() -> None:
    """Templates and styles count; htmx is not ours."""
    own = [path for path in Path(app.__file__).parent.rglob("*.*") if path.suffix in (".py", ".html", ".css", ".js")]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own if "htmx" not in path.name)
    assert 1000 < lines <= MOST_LINES
