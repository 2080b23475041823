"""Keys of a provider: which are taken, when they are read again, and what a provider that is gone leaves in force."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

import tableveil.identity.json_web_keys
from tableveil.errors import InvalidError
from tableveil.identity.json_web_keys import LARGEST_SET, OF_FILES, OF_URLS, KeySet, Pace, keys_in, source_of_keys
from tests.service.identity.providers import Site, ec_entry, key_set, rsa_entry, site

AT_ONCE = Pace(0.0, 3600.0)
NEVER = Pace(3600.0, 3600.0)
SECRET = {"kty": "oct", "k": "c2VjcmV0", "kid": "secret", "alg": "HS256"}


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


def test_keys_that_can_sign() -> None:
    small = rsa.generate_private_key(65537, 1024)
    text = key_set(
        rsa_entry("one", use="sig"),
        ec_entry("two"),
        rsa_entry("encrypts", use="enc"),
        rsa_entry("encrypts too", alg="RSA-OAEP"),
        SECRET,
        {"kty": "EC", "kid": "broken", "crv": "P-256"},
        {"kid": 5},
        rsa_entry("small", small),
    )
    # A small key is refused when a token is checked.
    assert keys_in(text).keys() == {"one", "two", "small"}


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"keys": {}}', key_set(), key_set(SECRET), b"[" * 10_000, b"\xff\xff"]
)
def test_no_key_set(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"it (is|has) |none of"):
        keys_in(text)


@pytest.fixture
def provider() -> Iterator[Site]:
    with site() as found:
        found.body = key_set(rsa_entry("one"))
        yield found


def test_rotation(provider: Site) -> None:
    read, pace = source_of_keys(provider.url)
    assert pace is OF_URLS
    with closing(KeySet(read, AT_ONCE)) as keys:
        assert keys.key("one") is not None
        provider.body = key_set(ec_entry("two"))
        # Nobody waits: a call with a new key is refused until the set was read.
        assert eventually(lambda: keys.key("two") is not None)
        assert keys.key("one") is None


def test_unknown_keys_do_not_make_it_ask_more_often(provider: Site) -> None:
    read, _ = source_of_keys(provider.url)
    with closing(KeySet(read, NEVER)) as keys:
        for number in range(1000):
            assert keys.key(f"unknown {number}") is None
        assert provider.asked == 1
    assert OF_URLS.least >= 60


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_provider_that_is_gone(
    provider: Site, status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read, _ = source_of_keys(provider.url)
    with closing(KeySet(read, AT_ONCE)) as keys:
        provider.status = status
        keys.key("unknown")
        assert eventually(lambda: provider.asked > 1)
        assert keys.key("one") is not None
        # But not for ever.
        monkeypatch.setattr(tableveil.identity.json_web_keys, "KEPT_SECONDS", 0.0)
        assert eventually(lambda: keys.key("unknown") is keys.key("one"))
        provider.status = 200
        assert eventually(lambda: keys.key("one") is not None)
    assert "could not be read" in caplog.text


@pytest.mark.parametrize("body", [b"x" * (LARGEST_SET + 1), b"{}"])
def test_an_answer_that_is_no_key_set(provider: Site, body: bytes) -> None:
    provider.body = body
    read, _ = source_of_keys(provider.url)
    with closing(KeySet(read, AT_ONCE)) as keys:
        assert keys.key("one") is None
        provider.body = key_set(rsa_entry("one"))
        assert eventually(lambda: keys.key("one") is not None)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(rsa_entry("one")))
    read, pace = source_of_keys(str(path))
    assert pace is OF_FILES
    with closing(KeySet(read, AT_ONCE)) as keys:
        assert keys.key("one") is not None
        path.write_bytes(key_set(ec_entry("two")))
        assert eventually(lambda: keys.key("two") is not None)


@pytest.mark.parametrize(
    "place", ["none.json", "", "http://login.clinic.example/keys", "file://localhost/etc/keys", "ftp://127.0.0.1/keys"]
)
def test_places_that_are_refused(place: str) -> None:
    with pytest.raises(InvalidError) as raised:
        source_of_keys(place)
    assert raised.value.faults[0].field == "oidc_keys"


def test_places_that_are_not_asked_at_the_start() -> None:
    assert source_of_keys("https://login.clinic.example/keys")[1] is OF_URLS
