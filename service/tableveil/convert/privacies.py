"""The declared privacy of tables as messages, and what policies take of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from google.protobuf import json_format

from tableveil.backend import folded
from tableveil.convert.tables import table_to_proto
from tableveil.convert.times import timestamp
from tableveil.errors import Fault
from tableveil.policy import TableReference
from tableveil.state.table_privacy import TablePrivacy
from tableveil.v1 import policy_pb2
from tableveil.v1 import privacy_service_pb2 as v1

_ATTRIBUTE = re.compile(r"attributes\[(\d{1,9})\]")


def table_privacy_to_proto(table: TableReference, table_privacy: TablePrivacy) -> v1.TablePrivacy:
    """The message for a version."""
    return v1.TablePrivacy(
        table=table_to_proto(table),
        version=table_privacy.version,
        privacy=privacy_from_json(table_privacy.privacy),
        declared_by=table_privacy.declared_by,
        declare_time=timestamp(table_privacy.declared_at),
    )


def privacy_from_json(document: str) -> v1.Privacy:
    """The privacy that `canonical_json` wrote."""
    return json_format.Parse(document, v1.Privacy())


def policy_of_privacy(table: policy_pb2.TableReference, privacy: v1.Privacy) -> policy_pb2.Policy:
    """A policy that asks for little more than the privacy of a table."""
    policy = policy_pb2.Policy(
        source=table,
        privacy_models=[policy_pb2.PrivacyModel(k_anonymity=policy_pb2.KAnonymity(k=2))],
        release=policy_pb2.ReleaseTarget(name="released"),
    )
    complete(policy, v1.TablePrivacy(privacy=privacy))
    return policy


def complete(policy: policy_pb2.Policy, declared: v1.TablePrivacy) -> Callable[[Fault], Fault]:
    """Adds to a policy what it leaves out of its source's privacy.

    The statement on people and the default role are taken if there is none. An attribute that has no role takes the
    declared one, and each other field that it does not have; one with a role stays as it is. Declared columns that the
    policy does not list follow its own.

    Returns what puts the name of the table and the column into a fault of such a column: the policy as it was written
    has no such field.
    """
    privacy, listed = declared.privacy, len(policy.attributes)
    if policy.WhichOneof("person") is None and (person := privacy.WhichOneof("person")):
        setattr(policy, person, getattr(privacy, person))
    policy.default_role = policy.default_role or privacy.default_role
    own = {folded(attribute.column): attribute for attribute in policy.attributes}
    for column in privacy.attributes:
        attribute = own.get(folded(column.column))
        if attribute is None:
            policy.attributes.append(column)
        elif not attribute.role:
            said = policy_pb2.Attribute()
            said.CopyFrom(attribute)
            attribute.CopyFrom(column)
            for field, _ in said.ListFields():
                attribute.ClearField(field.name)  # type: ignore[arg-type]  # it is a field
            attribute.MergeFrom(said)
    columns = [attribute.column for attribute in policy.attributes]
    whose = f"privacy of {declared.table.table}, version {declared.version}"

    def told(fault: Fault) -> Fault:
        attribute = _ATTRIBUTE.match(fault.field)
        if attribute is None or not listed <= (position := int(attribute[1])) < len(columns):
            return fault
        return replace(fault, field=f"{whose}: {columns[position]}{fault.field[attribute.end() :]}")

    return told
