"""Tokens: which are accepted, what is kept of them, and what a wrong one costs."""

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.backend import Database
from tableveil.errors import InternalError, InvalidError, NotFoundError
from tableveil.identity import AuthenticatedBy, Credentials, Principal, Unauthenticated, first_token, tokens
from tableveil.identity.first_token import make_first_token
from tableveil.identity.secret import digest_of, is_well_formed, new_secret, token_file
from tableveil.identity.tokens import Tokens
from tableveil.state import tokens as store
from tableveil.state.jobs import now
from tableveil.state.ledger_gaps import suspend
from tests.authenticated import TOKEN
from tests.migrated import opened

DAY = timedelta(days=1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    yield from opened(tmp_path / "clinic.duckdb")


@pytest.fixture
def known(database: Database) -> Iterator[Tokens]:
    with closing(Tokens(database)) as found:
        yield found


def caller(known: Tokens, secret: str | None) -> Principal:
    return known.authenticate(Credentials(secret, (), "ipv4:127.0.0.1:1"))


def refusal(known: Tokens, secret: str | None) -> str:
    with pytest.raises(Unauthenticated) as raised:
        caller(known, secret)
    return raised.value.reason


def test_a_token_tells_its_principal_and_roles(known: Tokens) -> None:
    token, secret = known.create("etl", "airflow", ["STEWARD", "ANALYST"], DAY)
    assert caller(known, secret) == Principal(
        "etl", frozenset(), AuthenticatedBy.TOKEN, frozenset({"ANALYST", "STEWARD"})
    )
    assert token.expires_at == token.created_at + DAY


def test_another_process_knows_it(database: Database, known: Tokens) -> None:
    _, secret = known.create("etl", "airflow", [], None)
    with closing(Tokens(database)) as later:
        assert caller(later, secret).name == "etl"


def test_nothing_but_the_digest_is_kept(database: Database, known: Tokens) -> None:
    token, secret = known.create("etl", "airflow", [], DAY)
    assert token.digest == digest_of(secret)
    with database.session() as session:
        session.execute("CHECKPOINT")
    for file in database.path.parent.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_reasons_for_the_audit(database: Database, known: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    _, good = known.create("etl", "a", [], DAY)
    assert refusal(known, None) == "no token"
    assert refusal(known, "") == refusal(known, good[:-1]) == refusal(known, f"{good}\n") == "malformed token"
    assert refusal(known, new_secret()) == "unknown token"
    token, revoked = known.create("etl", "b", [], DAY)
    known.revoke(token.number)
    assert refusal(known, revoked) == "revoked token"
    monkeypatch.setattr(tokens, "now", lambda: now() + DAY)
    assert refusal(known, good) == "expired token"


def test_a_revoked_token_stays_revoked(database: Database, known: Tokens) -> None:
    token, secret = known.create("etl", "a", [], DAY)
    first = known.revoke(token.number)
    assert known.revoke(token.number).revoked_at == first.revoked_at
    known.confirm(token.number)
    assert refusal(known, secret) == "revoked token"
    with closing(Tokens(database)) as later:
        assert refusal(later, secret) == "revoked token"


def test_a_restored_token_waits_for_an_admin(database: Database, known: Tokens) -> None:
    token, secret = known.create("etl", "a", [], DAY)
    with database.ledger() as ledger:
        suspend(ledger)
    with closing(Tokens(database)) as later:
        assert refusal(later, secret) == "suspended token"
        _, fresh = later.create("admin", "after", [], DAY)
        assert caller(later, fresh).name == "admin"
        later.confirm(token.number)
        assert caller(later, secret).name == "etl"
    with closing(Tokens(database)) as last:
        assert caller(last, secret).name == "etl"


@pytest.mark.parametrize(
    ("principal", "label", "lifetime", "field"),
    [
        ("", "a", DAY, "principal"),
        ("an etl", "a", DAY, "principal"),
        ("etl\n", "a", DAY, "principal"),
        ("et\u200bl", "a", DAY, "principal"),
        ("etl\u202e", "a", DAY, "principal"),
        ("etl\u2800", "a", DAY, "principal"),
        ("x" * 201, "a", DAY, "principal"),
        ("etl", "\x1b[31m", DAY, "label"),
        ("etl", "a", timedelta(0), "lifetime"),
        ("etl", "a", -DAY, "lifetime"),
        ("etl", "a", 367 * DAY, "lifetime"),
    ],
)
def test_no_token(known: Tokens, principal: str, label: str, lifetime: timedelta, field: str) -> None:
    with pytest.raises(InvalidError) as raised:
        known.create(principal, label, [], lifetime)
    assert raised.value.faults[0].field == field
    assert known.is_empty()


def test_no_such_token(known: Tokens) -> None:
    for ask in (known.get, known.revoke, known.confirm):
        with pytest.raises(NotFoundError):
            ask(1)


def test_pages_begin_with_the_newest(known: Tokens) -> None:
    made = [known.create("etl", str(number), [], DAY)[0].number for number in range(3)]
    assert [token.number for token in known.page(None, 2)] == made[:0:-1]
    assert [token.number for token in known.page(made[1], 2)] == made[:1]


def test_the_last_use_is_noted_now_and_then(database: Database, known: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    token, secret = known.create("etl", "a", [], DAY)
    assert known.get(token.number).last_used_at is None
    caller(known, secret)
    used_at = known.get(token.number).last_used_at
    assert used_at is not None
    with database.ledger() as ledger:
        assert [found.last_used_at for found in store.all_tokens(ledger)] == [None], "not with each call"
    known.close()
    with database.ledger() as ledger:
        assert [found.last_used_at for found in store.all_tokens(ledger)] == [used_at]


def test_ten_thousand_wrong_tokens_leave_nothing(
    database: Database, known: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = known.create("etl", "a", [], DAY)
    caller(known, secret)
    monkeypatch.setattr(database, "ledger", None)
    wrong = [new_secret() for _ in range(5_000)]
    before = sum(map(sys.getsizeof, (known._by_digest, known._used)))
    for guess in wrong:
        assert refusal(known, guess) == "unknown token"
        assert refusal(known, guess[:-1]) == "malformed token"
    assert sum(map(sys.getsizeof, (known._by_digest, known._used))) == before
    monkeypatch.undo()


def test_a_token_is_recognized_and_whole() -> None:
    secret = new_secret()
    assert secret.startswith("tvl_")
    assert is_well_formed(secret)
    assert new_secret() != secret
    assert is_well_formed(TOKEN)


@given(st.integers(0, 52), st.characters(codec="utf-8"))
def test_a_typo_shows(place: int, character: str) -> None:
    changed = TOKEN[:place] + character + TOKEN[place + 1 :]
    assert is_well_formed(changed) == (changed == TOKEN)


def test_the_first_token_is_for_the_owner_of_the_file_only(
    database: Database, known: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = database.path.with_name("victim")
    victim.write_text("precious")
    path = token_file(database.path)
    path.symlink_to(victim)
    assert make_first_token(known, database.path, ["ADMIN"]) == path
    assert victim.read_text() == "precious"
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert caller(known, path.read_text().strip()).roles == {"ADMIN"}
    (token,) = known.page(None, 10)
    assert token.expires_at is None
    # Once there was a token there never is another first one, whatever became of it.
    known.revoke(token.number)
    assert make_first_token(known, database.path, ["ADMIN"]) is None
    assert sorted(file.name for file in path.parent.iterdir() if "token" in file.name) == [path.name]


def test_a_first_token_that_cannot_be_written_is_none(
    database: Database, known: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    token_file(database.path).mkdir()
    with pytest.raises(InternalError) as raised:
        make_first_token(known, database.path, ["ADMIN"])
    assert raised.value.code == "TOKEN_UNWRITABLE"
    assert known.is_empty()
    assert [file.name for file in database.path.parent.glob(".*.token*")] == [token_file(database.path).name]


def test_a_crash_between_file_and_ledger_makes_another(
    database: Database, known: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_token, "new_secret", new_secret)
    with monkeypatch.context() as crash:
        crash.setattr(Tokens, "create", lambda *_, **__: sys.exit())
        with pytest.raises(SystemExit):
            make_first_token(known, database.path, ["ADMIN"])
    lost = token_file(database.path).read_text()
    make_first_token(known, database.path, ["ADMIN"])
    assert token_file(database.path).read_text() != lost
    assert caller(known, token_file(database.path).read_text().strip()).name == "admin"
