"""The grants of the ledger, kept in memory: how they are made and taken back, and which view they give a caller."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tableveil.access import rules
from tableveil.access.rules import Caller
from tableveil.backend import Database, Ledger, folded
from tableveil.errors import ConflictError, DeniedError, Fault, InvalidError, NotFoundError, is_shown, shortened
from tableveil.state import grants as store
from tableveil.state.audit_entries import note_offline
from tableveil.state.grants import GRANTS, AccessRole, Grant, Scope
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.migrate import SCHEMA as STATE_SCHEMA
from tableveil.state.releases import exists as release_exists

LONGEST_NAME = 200
"""Characters of a principal's or a group's name."""


@dataclass(frozen=True, slots=True)
class WantedGrant:
    """A grant to be made."""

    grantee: str
    is_group: bool
    role: AccessRole
    scope: Scope


class Access:
    """Answers from memory, so that a revoked grant counts from the next question on. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changing = threading.Lock()
        with database.ledger() as ledger:
            self._grants: Sequence[Grant] = store.every(ledger)

    @property
    def grants(self) -> Sequence[Grant]:
        """All grants as of now, in the order in which they were made."""
        return self._grants

    def allows(self, caller: Caller, role: AccessRole, scope: Scope) -> bool:
        """Whether a caller has a role on all of a scope."""
        return rules.allows(self._grants, caller, role, scope)

    def visible(self, caller: Caller) -> list[Grant]:
        """The grants on what a caller administers, in the order in which they were made."""
        return [grant for grant in self._grants if self.allows(caller, AccessRole.ADMIN, grant.scope)]

    def page(self, caller: Caller, before: int | None, size: int) -> list[Grant]:
        """The next `size` of the visible grants with numbers below `before`, newest first."""
        grants = [grant for grant in self.visible(caller) if before is None or grant.number < before]
        return grants[::-1][:size]

    def add(self, caller: Caller, wanted: WantedGrant) -> Grant:
        """Makes a grant, or returns the equal one that is there; a suspended one is confirmed by that.

        Raises:
            InvalidError: with all faults of the grant.
            NotFoundError: there is no such release.
            DeniedError: the caller does not administer the scope.
        """
        faults = faults_of(wanted)
        if faults:
            raise InvalidError.about("GRANT_INVALID", "the grant is invalid", faults)
        if not self.allows(caller, AccessRole.ADMIN, wanted.scope):
            actual = shortened(caller.name)
            raise DeniedError.of("PERMISSION_DENIED", "scope", actual, "an admin of what the grant is about")
        with self._changing, self._database.ledger() as ledger:
            _check_release(ledger, wanted.scope)
            same = next((grant for grant in self._grants if _wanted(grant) == wanted), None)
            if same is not None and not same.suspended:
                return same
            made = [] if same is not None else [_made(ledger, wanted, caller.name)]
            self._change(ledger, add=made, confirm=[] if same is None else [same.number])
        return next(grant for grant in self._grants if _wanted(grant) == wanted)

    def get(self, caller: Caller, number: int) -> Grant:
        """The grant of that number; `NotFoundError` if there is none that the caller administers."""
        grant = next((grant for grant in self.visible(caller) if grant.number == number), None)
        if grant is None:
            raise NotFoundError.of("GRANT_NOT_FOUND", "name", f"grants/{number}", "an existing grant")
        return grant

    def remove(self, caller: Caller, number: int) -> None:
        """Takes a grant back.

        Raises:
            NotFoundError: there is no such grant that the caller administers.
            ConflictError: it stands in the configuration file.
        """
        grant = self.get(caller, number)
        if grant.from_file:
            actual, hint = (
                f"grants/{number}, which is from the file of grants",
                "Change the file, and restart the server.",
            )
            raise ConflictError.of("GRANT_FROM_FILE", "name", actual, "a grant that was made by command", hint)
        with self._changing, self._database.ledger() as ledger:
            self._change(ledger, remove=[number])

    def suspended(self) -> tuple[list[Grant], list[int]]:
        """The grants, and the numbers of the releases, that wait until an admin confirms them."""
        with self._database.ledger() as ledger:
            return [grant for grant in self._grants if grant.suspended], store.suspended_releases(ledger)

    def confirm(self, caller: Caller, grants: Collection[int], releases: Collection[int]) -> None:
        """Lets suspended grants and releases count again; those that are not suspended stay as they are.

        Raises:
            DeniedError: the caller is no admin of the server.
        """
        if not self.allows(caller, AccessRole.ADMIN, Scope()):
            raise DeniedError.of("PERMISSION_DENIED", "names", shortened(caller.name), "an admin of the server")
        with self._changing, self._database.ledger() as ledger:
            self._change(ledger, confirm=grants, releases=releases)

    def follow(self, wanted: Sequence[WantedGrant], file: str) -> None:
        """Replaces the grants from the configuration file by these.

        Raises:
            InvalidError: with all faults of the file; the earlier ones stay.
        """
        faults = [
            replace(fault, field=f"grants[{i}].{fault.field}")
            for i, one in enumerate(wanted)
            for fault in faults_of(one)
        ]
        if faults:
            raise InvalidError.about("GRANTS_INVALID", f"the grants of {shortened(file)} are invalid", faults)
        with self._changing, self._database.ledger() as ledger:
            from_file = {_wanted(grant): grant for grant in self._grants if grant.from_file}
            gone = [grant.number for one, grant in from_file.items() if one not in wanted or grant.suspended]
            stay = [one for one, grant in from_file.items() if grant.number not in gone]
            new = [_made(ledger, one, file, from_file=True) for one in dict.fromkeys(wanted) if one not in stay]
            if new or gone:
                taken = [grant for grant in from_file.values() if grant.number in gone]
                # No call does it: without these remarks the audit would not tell who got or lost which role.
                remarks = [f"serve --grants: gave {_shown(grant)}" for grant in new]
                remarks += [f"serve --grants: took {_shown(grant)}" for grant in taken]
                self._change(ledger, add=new, remove=gone, remarks=remarks)

    def _change(
        self,
        ledger: Ledger,
        add: Sequence[Grant] = (),
        remove: Collection[int] = (),
        confirm: Collection[int] = (),
        releases: Collection[int] = (),
        remarks: Sequence[str] = (),
    ) -> None:
        with changing_rights(self._database.path, ledger):
            for remark in remarks:
                note_offline(ledger, now(), remark)
            GRANTS.insert(ledger, add)
            for number in remove:
                GRANTS.delete(ledger, number)
            store.confirm(ledger, confirm, releases)
        # As the ledger has them: a commit's success is no proof that anything was written.
        self._grants = store.every(ledger)


def faults_of(wanted: WantedGrant) -> list[Fault]:
    """The faults of a grant by itself."""
    kind, scope = "group" if wanted.is_group else "principal", wanted.scope
    faults = []
    if not wanted.grantee or len(wanted.grantee) > LONGEST_NAME or not is_shown(wanted.grantee):
        actual = shortened(wanted.grantee) if wanted.grantee else "nothing"
        faults.append(Fault(kind, actual, f"a name of up to {LONGEST_NAME} characters that show"))
    if scope.table and not scope.schema:
        faults.append(Fault("schema", "nothing", f"the schema of the table {shortened(scope.table)}"))
    if scope.release is not None and scope.schema:
        actual = f"releases/{scope.release} beside the schema {shortened(scope.schema)}"
        faults.append(Fault("release", actual, "a schema, a table or a release"))
    if folded(scope.schema) == STATE_SCHEMA:
        faults.append(Fault("schema", STATE_SCHEMA, "a schema of yours; this one holds Tableveil's own state"))
    if wanted.role in (AccessRole.OPERATOR, AccessRole.ENDPOINT) and not scope.is_server:
        role = wanted.role.lower()
        faults.append(Fault("role", f"{role} of a part", f"{role} of the whole server", "Name no schema or release."))
    return faults


def _check_release(ledger: Ledger, scope: Scope) -> None:
    if scope.release is not None and not release_exists(ledger, scope.release):
        name = f"releases/{scope.release}"
        raise NotFoundError.of("RELEASE_NOT_FOUND", "release", name, "an existing release")


def _made(ledger: Ledger, wanted: WantedGrant, by: str, *, from_file: bool = False) -> Grant:
    number = GRANTS.next_number(ledger)
    return Grant(number, wanted.grantee, wanted.is_group, wanted.role, wanted.scope, from_file, by, now())


def _shown(grant: Grant) -> str:
    scope = grant.scope
    where = ".".join(filter(None, (scope.schema, scope.table))) or "the server"
    if scope.release is not None:
        where = f"releases/{scope.release}"
    return f"{grant.role} on {where} for {'the group ' * grant.is_group}{grant.grantee}"


def _wanted(grant: Grant) -> WantedGrant:
    return WantedGrant(grant.grantee, grant.is_group, grant.role, grant.scope)
