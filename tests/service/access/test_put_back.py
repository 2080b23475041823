"""An older database file in the place of a newer one revives nothing until an admin confirms it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from tableveil import backend
from tableveil.access import Access, AccessRole, Scope, WantedGrant
from tableveil.cli.main import cli
from tableveil.client import Client
from tableveil.errors import NotFoundError, UnauthenticatedError
from tableveil.identity.tokens import Tokens
from tableveil.server import ServeSettings, TableveilServer
from tableveil.state.lineage import notice_older_ledger
from tableveil.state.migrate import migrate
from tests.service.access.house import ADMIN, opened, policy, submitted

DAY = timedelta(days=1)
STEWARD = WantedGrant("ann", False, AccessRole.STEWARD, Scope("ward_a"))

CHANGES: list[Callable[[Tokens, Access], object]] = [
    lambda tokens, access: tokens.create("etl", "b", [], DAY),
    lambda tokens, access: tokens.revoke(1),
    lambda tokens, access: tokens.confirm(1),
    lambda tokens, access: access.add(ADMIN, WantedGrant("bob", False, AccessRole.STEWARD, Scope("ward_b"))),
    lambda tokens, access: access.remove(ADMIN, 1),
    lambda tokens, access: access.follow(
        [WantedGrant("etl", False, AccessRole.STEWARD, Scope("ward_c"))], "grants.yaml"
    ),
]


@contextmanager
def rights(path: Path) -> Iterator[tuple[Tokens, Access]]:
    """The tokens and grants of a file as a server opens it."""
    database = backend.Database(backend.Settings(path, threads=1))
    with database.ledger() as ledger:
        migrate(ledger)
        notice_older_ledger(path, ledger)
    with closing(database), closing(Tokens(database)) as tokens:
        yield tokens, Access(database)


@contextmanager
def serving(path: Path) -> Iterator[str]:
    with closing(TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=1))) as server:
        yield server.address


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a file with a token and a grant, which was opened again."""
    path = tmp_path_factory.mktemp("made") / "clinic.duckdb"
    with rights(path) as (tokens, access):
        tokens.create("etl", "a", [], DAY)
        access.add(ADMIN, STEWARD)
    with rights(path) as (tokens, access):
        assert (tokens.suspended(), access.suspended()[0]) == (0, [])
    return path.parent


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_rights_is_missed_in_an_older_file(
    change: Callable[[Tokens, Access], object], made: Path, tmp_path: Path
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    path, old = tmp_path / "clinic.duckdb", tmp_path / "old.duckdb"
    shutil.copyfile(path, old)
    with rights(path) as (tokens, access):
        change(tokens, access)
    shutil.copyfile(old, path)
    with rights(path) as (tokens, access):
        assert tokens.suspended() == 1
        assert [grant.number for grant in access.suspended()[0]] == [1]
        tokens.confirm(1)
        access.confirm(ADMIN, [1], [])
    with rights(path) as (tokens, access):
        assert (tokens.suspended(), access.suspended()[0]) == (0, []), "what was confirmed stays so"


@pytest.mark.long
def test_an_older_file_is_put_back_and_an_admin_confirms_what_may_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, old = tmp_path / "clinic.duckdb", tmp_path / "old.duckdb"
    with opened(tmp_path) as house:
        submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a"))
        assert [release.name for release in house.clients["eve"].list_releases()] == ["releases/1"]
        secrets = {who: house.token_file(who).read_text() for who in ("admin", "ann", "bob", "eve")}
        (token,) = [found.name for found in house.clients["admin"].list_tokens() if found.principal == "bob"]
    shutil.copyfile(path, old)
    with serving(path) as address, Client(address, secrets["admin"]) as admin:
        admin.revoke_token(token)
        admin.withdraw_release("releases/1", "a ward asked for it")
    shutil.copyfile(old, path)

    with serving(path) as address:
        for secret in secrets.values():
            with Client(address, secret) as client, pytest.raises(UnauthenticatedError):
                client.get_server_info()
    monkeypatch.delenv("TABLEVEIL_TOKEN", raising=False)
    made = CliRunner().invoke(cli, ["tokens", "create", "saviour", "--database", str(path)])
    with serving(path) as address, Client(address, made.stdout.strip()) as admin:
        (tmp_path / "fresh").write_text(made.stdout)
        grants = ["grants", "confirm", "--server", address, "--token-file", str(tmp_path / "fresh")]
        waiting = CliRunner().invoke(cli, grants).stdout
        assert "releases/1" in waiting
        for found in admin.list_tokens():
            if found.suspended and found.name != token:
                admin.confirm_token(found.name)
        admin.revoke_token(token)
        with Client(address, secrets["eve"]) as eve:
            for grant in admin.list_grants():
                admin.confirm_restored([grant.name])
            with pytest.raises(NotFoundError):
                eve.get_release("releases/1")
            assert CliRunner().invoke(cli, [*grants, "releases/1"]).exit_code == 0
            assert eve.get_release("releases/1").name == "releases/1"
        assert any("older than its mark" in entry.note for entry in admin.list_audit_entries())
    with serving(path) as address, Client(address, secrets["ann"]) as ann, Client(address, secrets["bob"]) as bob:
        assert [found.table.schema for found in ann.list_tables()]
        with pytest.raises(UnauthenticatedError):
            bob.get_server_info()
