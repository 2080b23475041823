"""The keys of an OpenID Connect provider: a JSON Web Key Set from a file or a URL, read again as keys are rotated."""

import ipaddress
import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

from tableveil.errors import InvalidError, shortened

logger = logging.getLogger("tableveil.identity")

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}
)
"""Signatures by a private key. With HS256, everybody who can check a token could make one."""

LARGEST_SET = 2**20
FETCH_SECONDS = 5.0
KEPT_SECONDS = 24 * 3600.0
"""How long keys are used that cannot be read again: a provider withdraws a stolen key by leaving it out."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often keys are read: every `most` seconds, or sooner for an unknown key, but not before `least` seconds."""

    least: float
    most: float


OF_FILES, OF_URLS = Pace(1.0, 5.0), Pace(60.0, 600.0)


class KeySet:
    """Keys by their ids. A thread reads them, so that no call waits for the provider, at a pace that no caller changes.

    A set that cannot be read leaves the earlier one in force for `KEPT_SECONDS`.
    """

    def __init__(self, read: Callable[[], bytes], pace: Pace) -> None:
        """Reads for the first time; a failure is logged, and the keys are read when that becomes possible."""
        self._read = read
        self._pace = pace
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = time.monotonic()
        self._wanted = threading.Event()
        self._closed = threading.Event()
        self._read_again()
        threading.Thread(target=self._look_after, name="tableveil-keys", daemon=True).start()

    def key(self, identifier: str) -> jwt.PyJWK | None:
        """The key of that id; if there is none, the set is read again as soon as the pace allows."""
        key = self._keys.get(identifier)
        if key is None:
            self._wanted.set()
        return key

    def close(self) -> None:
        """Ends the thread."""
        self._closed.set()
        self._wanted.set()

    def _look_after(self) -> None:
        while not self._closed.wait(self._pace.least):
            self._wanted.wait(self._pace.most - self._pace.least)
            self._wanted.clear()
            if not self._closed.is_set():
                self._read_again()

    def _read_again(self) -> None:
        try:
            self._keys, self._read_at = keys_in(self._read()), time.monotonic()
        except (OSError, ValueError, HTTPException) as error:
            # Not the text: it may quote the set.
            logger.warning("the keys of the OpenID Connect provider could not be read: %s", type(error).__name__)
            if time.monotonic() - self._read_at > KEPT_SECONDS:
                self._keys = {}


def source_of_keys(place: str) -> tuple[Callable[[], bytes], Pace]:
    """Reads a key set from a file, or from an https URL; http is for this machine only.

    Raises:
        InvalidError: there is no such file, or the URL is another one.
    """
    url = urlsplit(place)
    if url.scheme == "https" or (url.scheme == "http" and _is_loopback(url.hostname or "")):
        return lambda: _fetched(place), OF_URLS
    path = Path(place)
    if url.scheme and url.netloc:
        expected = "a file, or a URL with https"
        raise InvalidError.of(
            "KEYS_INVALID", "oidc_keys", shortened(place), expected, "Keys must not be exchanged on their way."
        )
    try:
        keys_in(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidError.of(
            "KEYS_INVALID",
            "oidc_keys",
            f"{shortened(place)}: {reason}",
            "a file with a JSON Web Key Set, or a URL of one",
        ) from None
    return path.read_bytes, OF_FILES


def keys_in(text: bytes) -> dict[str, jwt.PyJWK]:
    """The keys of a set that can sign, by their ids; keys without an id, or for another use, are left out.

    Raises:
        ValueError: it is no key set, or none of its keys can be used.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("it has no list of keys")
    keys = {key.key_id: key for entry in entries if (key := _key(entry)) is not None and key.key_id}
    if not keys:
        raise ValueError("none of its keys has an id and a signature algorithm that is allowed")
    return keys


def _key(entry: Any) -> jwt.PyJWK | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str) or entry.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(entry)
    except (jwt.PyJWTError, TypeError, ValueError, AttributeError):
        return None
    return key if key.algorithm_name in ALGORITHMS else None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could lead to a place that nobody configured."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Leaves it an error."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _fetched(url: str) -> bytes:
    """The document at a URL; raises `OSError` if it is too large, or not there in time."""
    until = time.monotonic() + FETCH_SECONDS
    parts: list[bytes] = []
    with _OPENER.open(url, timeout=FETCH_SECONDS) as response:
        while part := response.read1(2**16):
            parts.append(part)
            if sum(map(len, parts)) > LARGEST_SET:
                raise OSError("too large")
            if time.monotonic() > until:
                raise TimeoutError
    return b"".join(parts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
