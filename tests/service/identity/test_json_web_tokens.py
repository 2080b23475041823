"""Tokens of an OpenID Connect provider are believed only if it made them, for this server, and for now."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tableveil.identity import AuthenticatedBy, Credentials, Principal, Unauthenticated
from tableveil.identity.json_web_keys import KeySet, Pace
from tableveil.identity.json_web_tokens import LARGEST_TOKEN, LEEWAY_SECONDS, JsonWebTokens, Provider
from tests.service.identity.providers import (
    AUDIENCE,
    EC_KEY,
    ISSUER,
    RSA_KEY,
    claims,
    ec_entry,
    key_set,
    rsa_entry,
    signed,
)

NEVER = Pace(3600.0, 3600.0)


@pytest.fixture(scope="module")
def keys() -> Iterator[KeySet]:
    found = KeySet(lambda: key_set(rsa_entry(), ec_entry()), NEVER)
    yield found
    found.close()


@pytest.fixture
def tokens(keys: KeySet) -> JsonWebTokens:
    return JsonWebTokens(Provider(ISSUER, AUDIENCE), keys)


def asked(tokens: JsonWebTokens, token: str) -> Principal:
    return tokens.authenticate(Credentials(token, (), "ipv4:127.0.0.1:1"))


@pytest.mark.parametrize(
    "token",
    [
        signed(claims()),
        signed(claims(), EC_KEY, "ES256", "two"),
        signed(claims(aud=["other", AUDIENCE])),
        signed(claims(), typ="at+JWT"),
    ],
)
def test_a_principal(tokens: JsonWebTokens, token: str) -> None:
    assert asked(tokens, token) == Principal("oidc:alice", frozenset(), AuthenticatedBy.JWT)


def test_clocks_may_differ(tokens: JsonWebTokens) -> None:
    assert asked(tokens, signed(claims(exp=int(time.time()) - int(LEEWAY_SECONDS) // 2))).name == "oidc:alice"


def test_claims_that_the_operator_chose(keys: KeySet) -> None:
    tokens = JsonWebTokens(Provider(ISSUER, AUDIENCE, "email", "roles"), keys)
    principal = asked(tokens, signed(claims(email="a@clinic.example", roles=["Data Stewards", "é"])))
    assert principal.name == "oidc:a@clinic.example"
    assert principal.groups == {"oidc:Data Stewards", "oidc:é"}
    assert asked(tokens, signed(claims(email="a", roles="one"))).groups == {"oidc:one"}
    with pytest.raises(Unauthenticated, match="name"):
        asked(tokens, signed(claims()))


def forged(header: dict[str, Any], payload: dict[str, Any], signature: bytes = b"") -> str:
    """A token as nobody's library would make it."""
    parts = (json.dumps(header).encode(), json.dumps(payload).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def with_the_public_key_as_secret(form: PublicFormat) -> str:
    """HS256 with a secret that everybody knows; the library refuses to make one."""
    secret = RSA_KEY.public_key().public_bytes(Encoding.PEM, form)
    unsigned = forged({"alg": "HS256", "kid": "one", "typ": "JWT"}, claims()).removesuffix(".")
    hmac = jwt.get_algorithm_by_name("HS256")
    signature = base64.urlsafe_b64encode(hmac.sign(unsigned.encode(), secret)).rstrip(b"=").decode()
    return f"{unsigned}.{signature}"


OTHER_KEY = rsa.generate_private_key(65537, 2048)
NOW = int(time.time())

ATTACKS = {
    "no signature": forged({"alg": "none", "kid": "one"}, claims()),
    "no signature, spelled otherwise": forged({"alg": "NoNe", "kid": "one"}, claims()),
    "no algorithm": forged({"kid": "one"}, claims()),
    "the public key as secret": with_the_public_key_as_secret(PublicFormat.SubjectPublicKeyInfo),
    "the public key as secret, otherwise": with_the_public_key_as_secret(PublicFormat.PKCS1),
    "signed by another key": signed(claims(), OTHER_KEY),
    "another algorithm than the key's": signed(claims(), algorithm="PS256"),
    "the id of another key": signed(claims(), EC_KEY, "ES256", "one"),
    "an unknown key": signed(claims(), OTHER_KEY, kid="three"),
    "no id of a key": signed(claims(), kid=None),
    "an id that is no text": forged({"alg": "RS256", "kid": ["one"]}, claims()),
    "its own key": signed(claims(), OTHER_KEY, kid="three", jwk=rsa_entry("three", OTHER_KEY)),
    "a key elsewhere": signed(claims(), OTHER_KEY, kid="three", jku="http://127.0.0.1:1/keys"),
    "another issuer": signed(claims(iss=f"{ISSUER}.evil.example")),
    "no issuer": signed(claims(iss=None)),
    "another audience": signed(claims(aud="tableveil-test")),
    "a list without the audience": signed(claims(aud=["other"])),
    "no audience": signed(claims(aud=None)),
    "expired": signed(claims(exp=NOW - 2 * int(LEEWAY_SECONDS))),
    "no expiry": signed(claims(exp=None)),
    "an expiry that is no time": signed(claims(exp="tomorrow")),
    "not valid yet": signed(claims(nbf=NOW + 3600)),
    "another type": signed(claims(), typ="logout+jwt"),
    "a notice of logout": signed(claims(events={"http://schemas.openid.net/event/backchannel-logout": {}})),
    "no name": signed(claims(sub=None)),
    "an empty name": signed(claims(sub="")),
    "a name with a line break": signed(claims(sub="alice\nadmin")),
    "a name with a character of no width": signed(claims(sub="ali\u200bce")),
    "a name that is written backwards": signed(claims(sub="\u202eecila")),
    "a name with a filler": signed(claims(sub="alice\u3164")),
    "a group with a tag": signed(claims(groups=["admins\U000e0041"])),
    "a long name": signed(claims(sub="a" * 196)),
    "groups that are none": signed(claims(groups={"admins": True})),
    "groups of numbers": signed(claims(groups=[1])),
    "a critical extension": signed(claims(), crit=["exp"]),
    "a huge token": signed(claims(padding="x" * LARGEST_TOKEN)),
    "three parts of nothing": "..",
    "no parts": "nonsense",
    "nothing": "",
    "a header of lists": base64.urlsafe_b64encode(b"[" * 8000).decode() + ".e30.",
    "a header that is no object": base64.urlsafe_b64encode(b"[]").decode() + ".e30.",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(tokens: JsonWebTokens, attack: str) -> None:
    with pytest.raises(Unauthenticated) as raised:
        asked(tokens, ATTACKS[attack])
    # For the audit: no part of a token.
    assert raised.value.reason.startswith("JWT ")
    assert len(raised.value.reason) < 60


def test_a_key_that_is_too_short() -> None:
    small = rsa.generate_private_key(65537, 1024)
    keys = KeySet(lambda: key_set(rsa_entry("one", small)), NEVER)
    with closing(keys), pytest.warns(jwt.InsecureKeyLengthWarning):
        token = signed(claims(), small)
    with pytest.raises(Unauthenticated, match="InvalidKeyError"):
        asked(JsonWebTokens(Provider(ISSUER, AUDIENCE), keys), token)


def test_a_changed_payload(tokens: JsonWebTokens) -> None:
    head, _, signature = signed(claims()).split(".")
    _, payload, _ = signed(claims(sub="admin")).split(".")
    with pytest.raises(Unauthenticated, match="InvalidSignatureError"):
        asked(tokens, f"{head}.{payload}.{signature}")
