"""An OpenID Connect provider: keys, tokens that it signs, and its key set behind a URL."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER, AUDIENCE = "https://login.clinic.example", "tableveil"

RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def rsa_entry(kid: str = "one", key: rsa.RSAPrivateKey = RSA_KEY, **fields: str) -> dict[str, Any]:
    """The entry of an RSA key in a key set."""
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **fields}


def ec_entry(kid: str = "two") -> dict[str, Any]:
    """The entry of an elliptic curve's key."""
    return {**ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True), "kid": kid}


def key_set(*entries: dict[str, Any]) -> bytes:
    """The document with these entries."""
    return json.dumps({"keys": entries}).encode()


def claims(**changes: Any) -> dict[str, Any]:
    """Claims that are accepted for a day, with some of them changed, or left out where the change is None."""
    now = int(time.time())
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": now + 86_400, "iat": now}
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def signed(
    payload: dict[str, Any], key: Any = RSA_KEY, algorithm: str = "RS256", kid: str | None = "one", **header: Any
) -> str:
    """A token."""
    return jwt.encode(payload, key, algorithm, {**({"kid": kid} if kid is not None else {}), **header})


class Site:
    """Answers with `status` and `body`, and counts how often it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.status, self.body, self.asked = 200, b"", 0


@contextmanager
def site() -> Iterator[Site]:
    """A site on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked += 1
            self.send_response(served.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Site(f"http://127.0.0.1:{server.server_port}/keys")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
