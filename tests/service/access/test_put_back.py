"""An older database file in the place of a newer one revives nothing until an admin confirms it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from tableveil import backend
from tableveil.access import Access, AccessRole, Scope, WantedGrant
from tableveil.cli.main import cli
from tableveil.client import Client
from tableveil.errors import InvalidError, NotFoundError, UnauthenticatedError
from tableveil.identity.tokens import Tokens
from tableveil.operate.newer_ledger import WITHDRAWN
from tableveil.server import ServeSettings, TableveilServer
from tableveil.state import privacy_budgets
from tableveil.state.lineage import notice_older_ledger
from tableveil.state.migrate import migrate
from tests.e2e import samples
from tests.e2e.test_private import private
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
def serving(path: Path, **settings: Any) -> Iterator[str]:
    with closing(TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=1, **settings))) as server:
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


BUDGET, TABLES = "patients", ["main.people", "main.visits"]


def spent(client: Client) -> list[tuple[str, str, bool]]:
    return [(found.epsilon, found.spent_epsilon, found.outdated) for found in client.list_privacy_budgets()]


def command(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_restored_ledger_gives_no_budget_back(tmp_path: Path) -> None:
    """Charges come along, also that of a job that failed, and the newest budget; without them nothing is released."""
    path, backups = tmp_path / "clinic.duckdb", tmp_path / "backups"
    backups.mkdir()
    samples.create(path, people=samples.PEOPLE, visits=f"{samples.PEOPLE} UNION ALL {samples.PEOPLE}")
    with serving(path, backup_directory=backups) as address, Client(address) as client:
        client.set_privacy_budget(BUDGET, TABLES, epsilon="5", delta="0.1")
        client.back_up("early")
        client.set_privacy_budget(BUDGET, TABLES, epsilon="2", delta="0.1")
        assert client.wait(client.submit(samples.message(private())).name).result == "releases/1"
        client.back_up("later")
        # People with several rows: nothing is released, and the charge stays.
        twice = samples.message(private(target="twice", source="visits"))
        with pytest.raises(InvalidError):
            client.wait(client.submit(twice).name)
        assert spent(client) == [("2", "2", False)]
    shown = {}
    for name, options in {
        "whole": ("--ledger", str(path)),
        "part": ("--ledger", str(backups / "later.duckdb")),
        "none": (),
    }.items():
        restored = tmp_path / name / path.name
        restored.parent.mkdir()
        shown[name] = command("restore", str(backups / "early.duckdb"), "--database", str(restored), *options)
        fresh = command("tokens", "create", "saviour", "--database", str(restored)).strip()
        with serving(restored) as address, Client(address, fresh) as client:
            seen = spent(client)
            assert seen == {"whole": [("2", "2", False)], "part": [("2", "1", True)], "none": [("5", "0", True)]}[name]
            refused = "2 of 2" if name == "whole" else "went back in time"
            with pytest.raises(InvalidError, match=refused):
                client.submit(samples.message(private(target="again")))
            if name == "part":
                client.set_privacy_budget(BUDGET, TABLES, epsilon="2", delta="0.1")
                assert spent(client) == [("2", "1", False)]
    assert "1 releases, 2 charges to privacy budgets" in shown["whole"]
    assert ["may lack charges" in text for text in shown.values()] == [False, True, True]


def test_an_older_file_gives_no_budget_back(tmp_path: Path) -> None:
    """The mark beside the file knows of charges by which nothing was released, and of lowered budgets and rules."""
    path, old = tmp_path / "clinic.duckdb", tmp_path / "old.duckdb"
    samples.create(path, visits=f"{samples.PEOPLE} UNION ALL {samples.PEOPLE}")
    with serving(path) as address, Client(address) as client:
        client.set_privacy_budget(BUDGET, TABLES, epsilon="5", delta="0.1")
    shutil.copyfile(path, old)
    with serving(path) as address, Client(address) as client, pytest.raises(InvalidError):
        client.wait(client.submit(samples.message(private(source="visits"))).name)
    shutil.copyfile(old, path)
    with rights(path):
        pass
    with closing(backend.Database(backend.Settings(path, threads=1))) as database, database.ledger() as ledger:
        assert [budget.outdated for budget in privacy_budgets.every(ledger)] == [True]


def test_decisions_since_the_backup_stay(tmp_path: Path) -> None:
    """Releases that were withdrawn or promoted since, erased people, and what is to be done again."""
    path, backups, elsewhere = tmp_path / "clinic.duckdb", tmp_path / "backups", tmp_path / "elsewhere"
    backups.mkdir()
    elsewhere.mkdir()
    samples.create(path, people=samples.PEOPLE)
    with serving(path, backup_directory=backups) as address, Client(address) as client:
        for name in ("withdrawn", "stays", "tried"):
            document = samples.message(samples.policy(target=name, repeat_reason="a test"))
            assert not client.wait(client.submit(document, trial=name == "tried").name).failure.code
        client.back_up("early")
        client.withdraw_release("releases/1", "a ward asked for it")
        client.promote_release("releases/3", "a test")
        client.erase_persons("people", ["7", "8"], "id")
    restored = elsewhere / path.name
    shown = command("restore", str(backups / "early.duckdb"), "--database", str(restored), "--ledger", str(path))
    assert "2 rows of 'main.people', which were removed" in shown
    assert "taken over: 2 withdrawals or rejections" in shown
    persons = "SELECT release, digest, class FROM tableveil.release_persons ORDER BY ALL"
    with duckdb.connect(restored) as here, duckdb.connect(path) as there:
        assert here.execute(persons).fetchall() == there.execute(persons).fetchall()
        names = here.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
        assert {name for (name,) in names} >= {"people", "stays"}
        assert not {"withdrawn", "tried"} & {name for (name,) in names}
        assert here.execute("SELECT release, reason FROM tableveil.withdrawals ORDER BY 1").fetchall() == [
            (1, "a ward asked for it"),
            (3, WITHDRAWN),
        ]
