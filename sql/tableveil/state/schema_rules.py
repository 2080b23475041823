"""The rules of schemas, as admins make them for releases into these: versions, of which the newest counts."""

from dataclasses import dataclass
from datetime import datetime

from tableveil.backend import Ledger, folded
from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class SchemaRule:
    """One version of a schema's rule; the schema's name is folded.

    With `joint_k`, a release that repeats people by a reason waits for approval, unless all share joint classes of k.
    """

    schema_name: str
    joint_k: bool
    set_by: str
    set_at: datetime


_RULES = Table("schema_rules", SchemaRule, "version")


def every(ledger: Ledger) -> list[SchemaRule]:
    """The newest rules of all schemas that have one, by their names."""
    newest = "(schema_name, version) IN (SELECT schema_name, max(version) FROM tableveil.schema_rules GROUP BY ALL)"
    return _RULES.where(ledger, newest, [], "ORDER BY schema_name")


def find(ledger: Ledger, schema: str) -> SchemaRule | None:
    """The newest rule of a schema."""
    return next(iter(_RULES.where(ledger, "schema_name = ?", [folded(schema)], "ORDER BY version DESC LIMIT 1")), None)


def asks_for_joint_k(ledger: Ledger, schema: str) -> bool:
    """Whether a reason does not suffice for releases into a schema whose joint classes are smaller than k."""
    rule = find(ledger, schema)
    return rule is not None and rule.joint_k


def put(ledger: Ledger, schema: str, joint_k: bool, set_by: str, at: datetime) -> SchemaRule:
    """The new version of a schema's rule, or the newest one if it says the same; call it in a transaction."""
    newest = find(ledger, schema)
    if newest is not None and newest.joint_k == joint_k:
        return newest
    rule = SchemaRule(folded(schema), joint_k, set_by, at)
    query = "SELECT coalesce(max(version), 0) + 1 FROM tableveil.schema_rules WHERE schema_name = ?"
    ((version,),) = ledger.rows(query, [rule.schema_name])
    _RULES.insert(ledger, [rule], version)
    return rule
