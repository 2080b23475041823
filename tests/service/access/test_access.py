"""Grants as they are made, taken back, suspended and confirmed, and as they follow a file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tableveil import backend
from tableveil.access import Access, AccessRole, Scope, WantedGrant
from tableveil.access.access import faults_of
from tableveil.errors import ConflictError, DeniedError, InvalidError, NotFoundError
from tableveil.state.audit_entries import pending
from tableveil.state.ledger_gaps import suspend
from tableveil.state.migrate import migrate


@dataclass(frozen=True)
class Someone:
    name: str
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()


ADMIN = Someone("admin", roles=frozenset({"ADMIN"}))
ANN = Someone("ann")
STEWARD_OF_A = WantedGrant("ann", False, AccessRole.STEWARD, Scope("a"))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[backend.Database]:
    database = backend.Database(backend.Settings(tmp_path / "clinic.duckdb", threads=1))
    with database.ledger() as ledger:
        migrate(ledger)
    yield database
    database.close()


@pytest.fixture
def access(database: backend.Database) -> Access:
    return Access(database)


def test_a_grant_counts_at_once_and_after_a_restart_until_it_is_removed(
    database: backend.Database, access: Access
) -> None:
    assert not access.allows(ANN, AccessRole.STEWARD, Scope("a"))
    grant = access.add(ADMIN, STEWARD_OF_A)
    assert access.allows(ANN, AccessRole.STEWARD, Scope("A"))
    assert access.add(ADMIN, STEWARD_OF_A) == grant, "the same grant twice is one"
    again = Access(database)
    assert again.visible(ADMIN) == [grant]
    assert (grant.granted_by, grant.from_file, grant.suspended) == ("admin", False, False)
    access.remove(ADMIN, grant.number)
    assert not access.allows(ANN, AccessRole.STEWARD, Scope("a"))
    assert Access(database).visible(ADMIN) == []


def test_an_admin_of_a_schema_grants_there_and_nowhere_else(access: Access) -> None:
    access.add(ADMIN, WantedGrant("ann", False, AccessRole.ADMIN, Scope("a")))
    theirs = access.add(ANN, WantedGrant("bob", False, AccessRole.STEWARD, Scope("a", "patients")))
    other = access.add(ADMIN, WantedGrant("bob", False, AccessRole.STEWARD, Scope("b")))
    for scope in (Scope(), Scope("b"), Scope(release=1)):
        with pytest.raises(DeniedError):
            access.add(ANN, WantedGrant("ann", False, AccessRole.STEWARD, scope))
    assert other not in access.visible(ANN)
    with pytest.raises(NotFoundError) as hidden:
        access.remove(ANN, other.number)
    with pytest.raises(NotFoundError) as missing:
        access.remove(ANN, 1000)
    assert str(hidden.value).replace(f"grants/{other.number}", "X") == str(missing.value).replace("grants/1000", "X")
    access.remove(ANN, theirs.number)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (WantedGrant("", False, AccessRole.STEWARD, Scope("a")), "principal"),
        (WantedGrant("two\nlines", True, AccessRole.STEWARD, Scope("a")), "group"),
        (WantedGrant("ann", False, AccessRole.STEWARD, Scope("", "patients")), "schema"),
        (WantedGrant("ann", False, AccessRole.STEWARD, Scope("TableVeil")), "schema"),
        (WantedGrant("ann", False, AccessRole.STEWARD, Scope("a", release=1)), "release"),
        (WantedGrant("ann", False, AccessRole.OPERATOR, Scope("a")), "role"),
    ],
)
def test_a_grant_that_means_nothing_is_refused(access: Access, wanted: WantedGrant, field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        access.add(ADMIN, wanted)
    assert [fault.field for fault in refused.value.faults] == [field]
    assert access.visible(ADMIN) == []


def test_a_release_that_is_not_there_cannot_be_granted(access: Access) -> None:
    with pytest.raises(NotFoundError):
        access.add(ADMIN, WantedGrant("ann", False, AccessRole.ANALYST, Scope(release=1)))


def test_the_audit_tells_what_a_file_gave_and_took_back(database: backend.Database, access: Access) -> None:
    nurses = WantedGrant("nurses", True, AccessRole.ANALYST, Scope(release=1))
    tables = WantedGrant("bob", False, AccessRole.AUDITOR, Scope("a", "patients"))
    access.follow([STEWARD_OF_A, nurses, tables], "grants.yaml")
    access.follow([STEWARD_OF_A, nurses], "grants.yaml")
    access.follow([STEWARD_OF_A, nurses], "grants.yaml")
    with database.ledger() as ledger:
        assert [entry.note.removeprefix("serve --grants: ") for entry in pending(ledger)] == [
            "gave STEWARD on a for ann",
            "gave ANALYST on releases/1 for the group nurses",
            "gave AUDITOR on a.patients for bob",
            "took AUDITOR on a.patients for bob",
        ]


def test_grants_of_a_file_follow_it_and_no_command_changes_them(database: backend.Database, access: Access) -> None:
    by_command = access.add(ADMIN, WantedGrant("bob", False, AccessRole.STEWARD, Scope("b")))
    auditors = WantedGrant("auditors", True, AccessRole.AUDITOR, Scope())
    access.follow([STEWARD_OF_A, auditors], "grants.yaml")
    (of_file, _) = [grant for grant in access.visible(ADMIN) if grant.from_file]
    with pytest.raises(ConflictError):
        access.remove(ADMIN, of_file.number)
    access.follow([auditors, auditors], "grants.yaml")
    assert not access.allows(ANN, AccessRole.STEWARD, Scope("a"))
    assert access.allows(Someone("eve", frozenset({"auditors"})), AccessRole.AUDITOR, Scope())
    with pytest.raises(InvalidError) as refused:
        access.follow([auditors, WantedGrant("", False, AccessRole.STEWARD, Scope("a"))], "grants.yaml")
    assert [fault.field for fault in refused.value.faults] == ["grants[1].principal"]
    assert len(access.visible(ADMIN)) == 2, "a file with a fault changes nothing"
    access.follow([], "grants.yaml")
    assert Access(database).visible(ADMIN) == [by_command]


@pytest.mark.parametrize("grantee", ["", "b\u200bob", "\u202ebob", "bob\U000e0100", "bob\n"])
def test_names_with_characters_that_do_not_show_are_refused(grantee: str) -> None:
    [fault] = faults_of(replace(STEWARD_OF_A, grantee=grantee))
    assert fault.field == "principal"


def test_suspended_grants_count_once_they_are_confirmed_or_stand_in_the_file(
    database: backend.Database, access: Access
) -> None:
    kept = access.add(ADMIN, STEWARD_OF_A)
    again = access.add(ADMIN, replace(STEWARD_OF_A, grantee="bob"))
    auditors = WantedGrant("auditors", True, AccessRole.AUDITOR, Scope())
    access.follow([auditors], "grants.yaml")
    with database.ledger() as ledger:
        suspend(ledger)
        ledger.execute("INSERT INTO tableveil.suspended_releases VALUES (7)")
    restored = Access(database)
    assert not restored.allows(ANN, AccessRole.STEWARD, Scope("a"))
    restored.follow([auditors], "grants.yaml")
    assert restored.allows(Someone("eve", frozenset({"auditors"})), AccessRole.AUDITOR, Scope())
    grants, releases = restored.suspended()
    assert ({grant.number for grant in grants}, releases) == ({kept.number, again.number}, [7])
    with pytest.raises(DeniedError):
        restored.confirm(ANN, [kept.number], [])
    restored.confirm(ADMIN, [kept.number], [7])
    assert restored.allows(ANN, AccessRole.STEWARD, Scope("a"))
    assert not restored.allows(Someone("bob"), AccessRole.STEWARD, Scope("a"))
    assert not restored.add(ADMIN, replace(STEWARD_OF_A, grantee="bob")).suspended, "granting anew confirms"
    assert restored.suspended() == ([], [])
