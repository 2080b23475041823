"""Every field of a request that names a resource has a rule of what its caller may see."""

import re
from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from tableveil.server.services import DESCRIPTORS

RULES = {
    # Looked up by a session that sees as its caller does.
    "TableReference": "source/tables.py find_table and find_schema, by the caller's visibility",
    "RelatedTables": "source/resolve.py resolve_source, each table by find_table",
    "source_query": "source/query_tables.py find_tables, with the views, types and macros of the schema",
    "ReleaseTarget": "lifecycle/target.py check_target: a schema that the caller owns",
    "StoredHierarchy": "state/hierarchies.py find, by the schema in the name",
    "ServerFile": "runtime/loads.py: directories of schemas that the caller owns",
    # Numbers of the ledger's rows.
    "release": "state/releases.py, by the tables that were read for it, or by what it wrote",
    "name": "state/seen.py for results and jobs; state/hierarchies.py for hierarchies; access/access.py for grants",
    "request_id": "state/jobs.py and state/loads.py: a principal's own",
    "names": "access/access.py confirm: admins of the server only",
    "releases": "lifecycle/together.py joint_figures: releases whose evidence the caller sees",
    "object": "lookups/releases.py: an object of a release that was found",
    # Grants may name parts that are not there yet.
    "GrantRule": "access/access.py add: only on what the caller administers",
    "PrivacyBudget": "admins of the server only",
    "SchemaRule": "access/schema_rules.py put: only of a schema that the caller administers",
}
"""Where each field that names a resource is held against what its caller may see, by its message or its name."""

ELSEWHERE = {
    "BackupDatabaseRequest.name": "a new file",
    "CreateSchemaRequest.schema": "a new schema, which nobody has rights on yet",
    "ListReleasesRequest.target_schema": "a part of what the caller sees",
    "ListTablesRequest.schema": "a part of what the caller sees",
    "CreateTokenRequest.label": "a text",
    "ListReadableReleasesRequest.certificate_names": "the credential that the endpoint asks about",
    "Worksheet.job": "a note of the client's, which is not looked up",
    "Attribute.table": "one of the names that tables of the policy have",
    "SensitiveShare.table": "one of the names that tables of the policy have",
    "CsvHierarchy.path": "a file of the client, which the client replaces by rows",
    "CsvHierarchy.name": "the name of what it stores these rows as",
}

NAMING = re.compile(r"(^|_)(name|names|release|releases|job|jobs|object|request_id|query|table|schema|path)$")


def fields(message: Descriptor, seen: set[str]) -> Iterator[FieldDescriptor]:
    """All fields of a message and of those in it, except those of messages that a rule is for."""
    if message.full_name in seen or message.name in RULES:
        return
    seen.add(message.full_name)
    for field in message.fields:
        yield field
        if field.message_type is not None and field.message_type.full_name.startswith("tableveil."):
            yield from fields(field.message_type, seen)


def test_every_field_that_names_a_resource_has_a_rule() -> None:
    seen: set[str] = set()
    unruled = set()
    for service in DESCRIPTORS:
        for method in service.methods:
            for field in fields(method.input_type, seen):
                assert field.containing_type is not None
                full = f"{field.containing_type.name}.{field.name}"
                is_name = field.message_type is None and NAMING.search(field.name)
                if is_name and field.name not in RULES and full not in ELSEWHERE:
                    unruled.add(full)
    assert not unruled
