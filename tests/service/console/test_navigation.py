"""Navigation offers what the visitor's rights allow: following it leaves no REFUSED in the audit."""

import html
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.client import Client
from tableveil.console import sessions
from tableveil.v1 import policy_pb2, worksheet_service_pb2
from tests.once import once
from tests.service.access.house import ADMIN, House, opened, policy, submitted, table
from tests.service.console.conftest import Browser, browsing, csrf

_MOST_PAGES = 60


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Browser]]:
    """Releases into ward_b wait; bob is its approver, too, and made releases/1. An admin has no other role."""
    with opened(tmp_path_factory.mktemp("reviewed"), needs_approval=("ward_b",)) as house, browsing(house) as browser:
        admin = house.clients["admin"]
        for who, role in (("adm", AccessRole.ADMIN), ("all", AccessRole.AUDITOR), ("try", AccessRole.ANALYST)):
            house.token_file(who).write_text(admin.create_token(who, "test").secret)
            house.access.add(ADMIN, WantedGrant(who, False, role, Scope()))
        house.access.add(ADMIN, WantedGrant("bob", False, AccessRole.APPROVER, Scope("ward_b")))
        submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b"))
        submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b", "tried"), trial=True)
        submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a"))
        kept = worksheet_service_pb2.Worksheet(table=policy_pb2.TableReference(**table("ward_a")))
        house.clients["ann"].create_worksheet(kept)
        yield house, browser


def refused(admin: Client, who: str) -> set[str]:
    return {one.method for one in admin.list_audit_entries(principal=who) if one.decision == "REFUSED"}


def followed(one: TestClient) -> dict[str, str]:
    """The pages of this site that lead on from the start, and from there."""
    seen, ahead = dict[str, str](), ["/"]
    while ahead and len(seen) < _MOST_PAGES:
        path = ahead.pop(0)
        answer = one.get(path, follow_redirects=True)
        # A view may read what its reader does not own.
        assert answer.status_code == 200 or "window" in path, (path, answer.status_code)
        seen[path] = answer.text
        # A PDF file takes the call of the page that it is drawn of.
        links = re.findall(r'(?:href|src|hx-get|data-live)="(/[^"]*)(?<!pdf)"', answer.text)
        ahead += [link for link in map(html.unescape, dict.fromkeys(links)) if link not in (*seen, *ahead)]
    return seen


@pytest.mark.parametrize("who", once(["eve", "adm", "bob", "aud", "app", "all", "ops", "ann"], 5))
def test_nobody_is_offered_what_is_refused(reviewed: tuple[House, Browser], who: str) -> None:
    """Nor writes anything by Enter in a field: it presses the first button of a form, as HTML says."""
    house, browser = reviewed
    pages = followed(browser(who))
    assert "/server" in pages
    assert ("/worksheets/1/release" in pages) == (who == "ann")
    assert refused(house.clients["admin"], who) == set()
    for path, page in pages.items():
        for form in re.findall(r'<form method="post"(.*?)</form>', page, re.DOTALL):
            if re.search(r"<(?:input|select|textarea)(?![^>]*type=\"hidden\")", form):
                assert re.findall(r"<button[^>]*>", form)[0] == "<button disabled hidden>", path


@pytest.mark.parametrize(
    ("who", "menu"),
    [
        ("eve", ["Releases", "Server"]),
        ("adm", ["Server"]),
        ("aud", ["Releases", "Server"]),
        ("app", ["Releases", "Approvals", "Server"]),
        ("ops", ["Jobs", "Server"]),
        ("ann", ["Releases", "Jobs", "Tables", "Worksheets", "Server"]),
        ("bob", ["Releases", "Jobs", "Approvals", "Tables", "Worksheets", "Server"]),
    ],
)
def test_the_menu_has_the_pages_of_the_roles(reviewed: tuple[House, Browser], who: str, menu: list[str]) -> None:
    page = reviewed[1](who).get("/server").text
    assert re.findall(r'<a href="[^"]+"[^>]*>(\w+)</a>', page.partition("<form")[0]) == menu


def test_a_refused_call_of_somebody_who_tries_is_in_the_audit(reviewed: tuple[House, Browser]) -> None:
    house, browser = reviewed
    assert browser("try").get("/tables").status_code == 403
    assert refused(house.clients["admin"], "try") == {"/tableveil.v1.TableService/ListTables"}


def test_who_made_a_release_is_not_asked_to_approve_it(reviewed: tuple[House, Browser]) -> None:
    """Although an approver: another one decides. A maker can withdraw it."""
    _, browser = reviewed
    for who, offered in (("bob", {"withdraw"}), ("app", {"approve"}), ("aud", set())):
        page = browser(who).get("/releases/1").text
        assert "pending, made" in page
        assert set(re.findall(r'action="/releases/1/(approve|promote|withdraw)"', page)) == offered, who
    trial = browser("bob").get("/releases/2").text
    assert set(re.findall(r'action="/releases/2/(approve|promote|withdraw)"', trial)) == {"promote", "withdraw"}
    form = {"csrf": csrf(browser("bob").get("/tables/upload").text), "note": "I did it"}
    assert browser("bob").post("/releases/1/approve", data=form).status_code in (403, 409)


def test_a_grant_that_is_given_meanwhile_is_offered(
    reviewed: tuple[House, Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, browser = reviewed
    house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.ANALYST, Scope("ward_a")))
    one = browser("pat")
    house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.STEWARD, Scope("ward_a")))
    assert "/tables" not in one.get("/server").text
    monkeypatch.setattr(sessions, "RIGHTS_SECONDS", -1.0)
    assert 'href="/tables"' in one.get("/server").text
