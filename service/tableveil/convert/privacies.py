"""The declared privacy of tables as messages, and what policies take of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from google.protobuf import json_format

from tableveil.backend import folded
from tableveil.convert.copied import timestamp
from tableveil.convert.names import table_to_proto
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


def complete_related(policy: policy_pb2.Policy, declared: Mapping[str, v1.TablePrivacy]) -> Callable[[Fault], Fault]:
    """Adds to a policy of related tables what it leaves out of their privacy, as `complete`.

    `declared` has the privacy of tables by their names in the policy. A declared person is the people's key, or says
    whose an event is. The columns of each table stay together.
    """
    tables, stated = policy.tables, list(policy.attributes)
    people = tables.people.table
    names = [people, *(event.name or event.table for event in tables.events)]
    of_table = {name: [i for i, one in enumerate(stated) if (one.table or people) == name] for name in names}
    if sorted(place for places in of_table.values() for place in places) != [*range(len(stated))]:
        # A name of no table is refused as it was written.
        return lambda fault: fault
    if [place for name in names for place in of_table[name]] != [*range(len(stated))]:
        return lambda fault: fault
    columns, origins = list[policy_pb2.Attribute](), list[int | str]()
    for name, event in zip(names, (None, *tables.events), strict=True):
        part = policy_pb2.Policy(attributes=[stated[i] for i in of_table[name]], default_role=policy.default_role)
        if name in declared:
            complete(part, declared[name])
            policy.default_role = policy.default_role or part.default_role
            if event is None:
                tables.people.key = tables.people.key or part.person_column
            else:
                event.person = event.person or part.person_column
        whose = f"privacy of {declared[name].table.table}, version {declared[name].version}" if name in declared else ""
        for i, column in enumerate(part.attributes):
            column.table = column.table or ("" if event is None else name)
            columns.append(column)
            origins.append(of_table[name][i] if i < len(of_table[name]) else f"{whose}: {column.column}")
    del policy.attributes[:]
    policy.attributes.extend(columns)

    def told(fault: Fault) -> Fault:
        found = _ATTRIBUTE.match(fault.field)
        if found is None or int(found[1]) >= len(origins):
            return fault
        origin = origins[int(found[1])]
        field = f"attributes[{origin}]" if isinstance(origin, int) else origin
        return replace(fault, field=f"{field}{fault.field[found.end() :]}")

    return told
