"""The first token of a database goes to servers of this machine only."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tableveil.client.token import find_token, with_token
from tests.authenticated import TOKEN


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a server left in the current directory."""
    monkeypatch.delenv("TABLEVEIL_TOKEN")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".clinic.duckdb.token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("address", ["127.0.0.1:50651", "127.3.2.1:1", "localhost:1", "[::1]:1", "unix:/run/socket"])
def test_here(left: Path, address: str) -> None:
    assert find_token(address) == TOKEN


@pytest.mark.parametrize(
    "address",
    [
        *("clinic.example:50651", "10.0.0.1:1", "[2001:db8::1]:1", "127.0.0.1.example.com:1", "localhost.example:1"),
        *("dns:///localhost.example:1", "127.0.0.1@example.com:1", "example.com:1/127.0.0.1", "", ":1"),
    ],
)
def test_elsewhere(left: Path, address: str) -> None:
    assert find_token(address) is None
    assert find_token(address, file=left) == TOKEN, "it was meant for that server"


def test_a_link_is_not_followed_unless_it_is_named(left: Path) -> None:
    aside = left.rename(left.with_name("aside"))
    left.symlink_to(aside)
    assert find_token("localhost:1") is None
    assert find_token("localhost:1", file=left) == TOKEN


def test_a_damaged_file_does_not_keep_anybody_from_making_another(left: Path) -> None:
    left.write_text(TOKEN[:-1])
    assert find_token("localhost:1") is None


def test_the_database_that_is_named_comes_before_what_is_here(left: Path, tmp_path: Path) -> None:
    assert find_token("localhost:1", database=tmp_path / "other.duckdb") is None
    assert find_token("localhost:1", database=tmp_path / "clinic.duckdb") == TOKEN


def test_a_token_that_a_starting_server_leaves_later_goes_with_the_next_call(left: Path) -> None:
    aside = left.rename(left.with_name("aside"))
    sent: list[object] = []
    plain = Mock()
    plain.unary_unary.return_value = lambda request, timeout, metadata: sent.append(metadata)
    call: Any = with_token(plain, lambda: find_token("localhost:1")).unary_unary("/method")
    call(b"")
    aside.rename(left)
    call(b"")
    left.unlink()
    call(b"")
    known = (("authorization", f"Bearer {TOKEN}"),)
    assert sent == [(), known, known]
