"""Signing in at an OpenID Connect provider: the code flow with PKCE, and whatever may be sent back in its place."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.console.app import make_app
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings, OpenIdSettings
from tableveil.console.visit import COOKIE
from tests.service.access.house import ADMIN, House, prepare, served
from tests.service.identity.providers import AUDIENCE, ISSUER, claims, key_set, rsa_entry, signed

CLIENT, BACK = "console", "https://console.test/callback"


class Provider:
    """Answers as a provider does; `identity` are the changed claims of its next identity token."""

    def __init__(self) -> None:
        self.nonce = self.challenge = ""
        self.identity: dict[str, Any] = {}
        self.status = 200

    def request(self, method: str, address: str, **sent: Any) -> httpx2.Response:
        return httpx2.Response(self.status, json=self._answer(address, sent), request=httpx2.Request(method, address))

    def _answer(self, address: str, sent: dict[str, Any]) -> Any:
        if address.endswith("openid-configuration"):
            places = {name: f"{ISSUER}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
            return {"issuer": ISSUER, **places}
        if address.endswith("jwks_uri"):
            return json.loads(key_set(rsa_entry()))
        form = sent["data"]
        verifier = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(verifier).decode().rstrip("=") == self.challenge
        assert (form["code"], form["redirect_uri"], form["client_secret"]) == ("a code", BACK, "secret")
        identity = signed(claims(aud=CLIENT, nonce=self.nonce, **self.identity))
        return {"id_token": identity, "access_token": signed(claims())}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    place: Path = tmp_path_factory.mktemp("openid")
    prepare(place)
    (place / "keys.json").write_bytes(key_set(rsa_entry()))
    settings = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys": str(place / "keys.json")}
    with served(place, **settings) as house:
        house.access.add(ADMIN, WantedGrant("oidc:alice", False, AccessRole.STEWARD, Scope("ward_a")))
        yield house


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Provider:
    made = Provider()
    monkeypatch.setattr("httpx2.request", made.request)
    return made


@pytest.fixture
def browser(house: House) -> Iterator[TestClient]:
    provider = OpenIdSettings(ISSUER, CLIENT, BACK, "secret")
    sessions = Sessions()
    app = make_app(ConsoleSettings(house.server.address, open_id=provider), sessions)
    yield TestClient(app, base_url="https://console.test", follow_redirects=False)
    sessions.close()


def begun(browser: TestClient, provider: Provider) -> str:
    """Goes to the provider, and returns the state that it sends back."""
    answer = browser.post("/sign-in/provider")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-")
    assert all(word in cookie for word in ("HttpOnly", "Path=/;", "SameSite=lax", "Max-Age=600", "Secure"))
    place = urlsplit(answer.headers["location"])
    asked = {name: value for name, (value,) in parse_qs(place.query).items()}
    assert (place.path, asked["code_challenge_method"], asked["client_id"]) == (
        "/authorization_endpoint",
        "S256",
        CLIENT,
    )
    provider.nonce, provider.challenge = asked["nonce"], asked["code_challenge"]
    return asked["state"]


def test_a_visitor_signs_in_at_the_provider(browser: TestClient, provider: Provider) -> None:
    assert "login.clinic.example" in browser.get("/sign-in").text
    state = begun(browser, provider)
    answer = browser.get("/callback", params={"state": state, "code": "a code"})
    assert answer.status_code == 200, answer.text
    assert 'data-go="/"' in answer.text, "a page of this site goes on"
    assert "ward_a" in browser.get("/tables").text
    assert "Sign out oidc:alice" in browser.get("/tables").text


def test_a_login_is_good_once(browser: TestClient, provider: Provider) -> None:
    state = begun(browser, provider)
    assert browser.get("/callback", params={"state": state, "code": "a code"}).status_code == 200
    assert browser.get("/callback", params={"state": state, "code": "a code"}).status_code == 403


def test_a_second_login_ends_the_first_session(browser: TestClient, provider: Provider) -> None:
    browser.get("/callback", params={"state": begun(browser, provider), "code": "a code"})
    first = browser.cookies[COOKIE]
    # The browser sends no session back from the provider's site.
    state = begun(browser, provider)
    del browser.cookies[COOKIE]
    assert browser.get("/callback", params={"state": state, "code": "a code"}).status_code == 200
    assert browser.get("/tables").status_code == 200
    browser.cookies.clear()
    assert browser.get("/tables", headers={"cookie": f"{COOKIE}={first}"}).status_code == 303


@pytest.mark.parametrize(
    "cookie",
    ["{}", "[1]", '{"state": "x", "nonce": 1, "verifier": null}', "[" * 5000, "x.x.x", "\\ud800", '"', "é" * 131],
    ids=range(8),
)
def test_a_malformed_login_is_refused(browser: TestClient, cookie: str) -> None:
    sent = {b"cookie": b"__Host-tableveil-login=" + cookie.encode()}
    assert browser.get("/callback", params={"state": "x", "code": "a code"}, headers=sent).status_code == 403


@pytest.mark.parametrize("state", ["", "guessed", "é"])
def test_another_state_is_refused(browser: TestClient, provider: Provider, state: str) -> None:
    begun(browser, provider)
    assert browser.get("/callback", params={"state": state, "code": "a code"}).status_code == 403


def test_without_a_login_there_is_no_callback(browser: TestClient) -> None:
    assert browser.get("/callback", params={"state": "x", "code": "a code"}).status_code == 403


@pytest.mark.parametrize(
    "identity",
    [{"nonce": "another"}, {"aud": "another"}, {"iss": "https://evil.example"}, {"exp": 1}, {"nonce": None}],
    ids=str,
)
def test_another_identity_is_refused(browser: TestClient, provider: Provider, identity: dict[str, Any]) -> None:
    state = begun(browser, provider)
    original = provider._answer

    def changed(address: str, sent: dict[str, Any]) -> Any:
        answer = original(address, sent)
        if "id_token" in answer:
            answer["id_token"] = signed(claims(**{"aud": CLIENT, "nonce": provider.nonce, **identity}))
        return answer

    provider._answer = changed  # type: ignore[method-assign]
    answer = browser.get("/callback", params={"state": state, "code": "a code"})
    assert answer.status_code == 401
    assert browser.get("/tables").status_code == 303


@pytest.mark.parametrize(("status", "shown"), [(503, 502), (400, 401)])
def test_a_provider_that_fails_is_named(browser: TestClient, provider: Provider, status: int, shown: int) -> None:
    provider.status = status
    answer = browser.post("/sign-in/provider")
    assert answer.status_code == shown
    assert "sign" in answer.text
