"""The rules that admins make for releases into a schema."""

import threading

from tableveil.access.access import Access
from tableveil.access.rules import Caller
from tableveil.backend import Database, folded
from tableveil.errors import DeniedError, Fault, InvalidError, shortened
from tableveil.state import schema_rules as store
from tableveil.state.grants import AccessRole, Scope
from tableveil.state.jobs import now
from tableveil.state.lineage import changing_rights
from tableveil.state.migrate import SCHEMA as STATE_SCHEMA
from tableveil.state.schema_rules import SchemaRule


class SchemaRules:
    """Makes and lists the rules of schemas that the caller administers. May be used from any thread."""

    def __init__(self, database: Database, access: Access) -> None:
        self._database, self._access = database, access
        # Two versions of one number would be told apart by nobody.
        self._changing = threading.Lock()

    def put(self, caller: Caller, schema: str, *, joint_k: bool) -> SchemaRule:
        """Makes the rule of a schema, which counts for releases that are written from now on.

        Raises:
            InvalidError: it names no schema, or that of the service's own state.
            DeniedError: the caller does not administer the schema.
        """
        if not schema or folded(schema) == STATE_SCHEMA:
            actual = STATE_SCHEMA if schema else "nothing"
            fault = Fault("rule.schema", actual, "a schema of yours, which need not exist yet")
            raise InvalidError.about("RULE_INVALID", "the rule is invalid", [fault])
        if not self._access.allows(caller, AccessRole.ADMIN, Scope(schema)):
            actual = shortened(caller.name)
            raise DeniedError.of("PERMISSION_DENIED", "rule.schema", actual, "an admin of the schema")
        with self._changing, self._database.ledger() as ledger, changing_rights(self._database.path, ledger):
            return store.put(ledger, schema, joint_k, caller.name, now())

    def visible(self, caller: Caller) -> list[SchemaRule]:
        """The rules of the schemas that the caller administers, by name."""
        with self._database.ledger() as ledger:
            rules = store.every(ledger)
        return [rule for rule in rules if self._access.allows(caller, AccessRole.ADMIN, Scope(rule.schema_name))]
