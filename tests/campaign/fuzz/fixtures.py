"""One of each resource on a fuzzed server, and what a caller without rights to them is told instead."""

import re
from collections.abc import Sequence

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.v1 import access_pb2, access_service_pb2, privacy_service_pb2, worksheet_service_pb2
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest
from tableveil.v1.faults_pb2 import Failure
from tableveil.v1.risk_service_pb2 import SubmitRiskAnalysisRequest

COLLECTIONS = (
    "classifications", "dryRuns", "frontiers", "grants", "jobs", "loads", "payoutSweeps", "proposals", "releases",
    "riskAnalyses", "tokens", "utilityReports", "worksheets",
)  # fmt: skip
NAMES = (
    # The callers have the other tokens and the first grant, and go on to call.
    *(f"{one}/{number}" for one in COLLECTIONS for number in ((2,) if one in ("grants", "tokens") else (1, 2, 3))),
    "releases/1/objects/furnished", "jobs/1/parts/2", "riskAnalyses/1/records/1", "kept", "hierarchies/kept",
    "clinic_kept/kept", "schemas/clinic_kept",
    "schemaRules/clinic_kept", "privacyBudgets/kept", "targets/files", "files", "furnished",
)  # fmt: skip
"""Names of resources that `furnish` makes, and others of their kind."""

PRINCIPAL = "neighbour"

STATEMENTS = (
    "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.own AS SELECT 1 AS a",
    "CREATE SCHEMA clinic_kept; CREATE TABLE clinic_kept.people AS SELECT i % 4 AS age, i AS id FROM range(80) r(i)",
)

_POLICY = """
source: {schema: clinic_kept, table: people}
rows_are_people: true
attributes:
  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {column: id, role: IDENTIFYING}
privacy_models: [{k_anonymity: {k: 3}}]
suppression_limit: "0.1"
repeat_reason: a test
release: {schema: clinic_kept, name: furnished}
"""

_GHOSTS = {"clinic": "clinik", "people": "peopla", "kept": "kopt", "files": "filos", "furnished": "furnashed"}
_WORDS = re.compile("|".join(_GHOSTS))
_NUMBERED = re.compile(rf"\b({'|'.join(COLLECTIONS)})/([0-9]+)")

_LETTERS = re.compile(
    r"""[\d,]+ characters\b|(?<=one of the quasi-identifiers)(\. [^"\n]*|"\n *hint: ".*")|"""
    r"""\.? Did you mean \\?'[A-Z]+\\?'\?|\n *hint: "Did you mean \\'[A-Z]+\\'\?\""""
)
"""Hints and lengths by the letters of sent names: one that nothing has may look more like a word of SQL."""

NOBODYS = r"/900\2"
"""Two names stay two: a request that names one twice has a fault more."""


def furnish(client: Client) -> str:
    """Makes one of each resource, and returns the secret of a steward who has the rights to none of them."""
    policy, faults = read_policy(_POLICY, "yaml")
    assert not faults, faults
    client.wait(client.submit(policy).name)
    policy.release.name = "furnished_too"
    client.wait(client.submit(policy, trial=True).name)
    client.wait(client.submit_analysis(SubmitDryRunRequest(policy=policy)).name)
    asked = SubmitRiskAnalysisRequest()
    asked.risk.table.CopyFrom(policy.source)
    asked.risk.quasi_identifiers.append(policy.attributes[0].column)
    asked.risk.records = True
    client.wait(client.submit_analysis(asked).name)
    client.create_hierarchy("kept", [("a", "*"), ("b", "*")])
    client.create_hierarchy("clinic_kept/kept", [("a", "*"), ("b", "*")])
    client.set_schema_rule("clinic_kept", joint_k=True)
    client.set_privacy_budget("kept", ["clinic_kept.people"], epsilon="1", delta="0.1")
    client.declare_privacy(
        policy.source, privacy_service_pb2.Privacy(rows_are_people=True, attributes=policy.attributes)
    )
    client.create_worksheet(worksheet_service_pb2.Worksheet(table=policy.source))
    client.create_token("somebody", "kept")
    steward = access_pb2.ACCESS_ROLE_STEWARD
    client.add_grant(access_service_pb2.GrantRule(principal=PRINCIPAL, role=steward, schema="elsewhere"))
    client.add_grant(access_service_pb2.GrantRule(principal="somebody", role=steward, schema="elsewhere"))
    return client.create_token(PRINCIPAL, "fuzz").secret


def ghost(message: Message) -> Message:
    """The message with names of what is not there in place of those of what `furnish` made."""
    found = type(message)()
    found.CopyFrom(message)
    for part in parts(found):
        for field, value in part.ListFields():
            if field.type == field.TYPE_STRING:
                if isinstance(value, str):
                    setattr(part, field.name, told(value, NOBODYS))
                else:
                    value[:] = [told(each, NOBODYS) for each in value]
    return found


def told(text: str, number: str = "/N") -> str:
    """A text in which all ghosts, and what they stand for, read alike."""
    named = _WORDS.sub(lambda found: _GHOSTS[found[0]], _LETTERS.sub("", text))
    return _NUMBERED.sub(rf"\1{number}", named)


def level(failures: Sequence[Failure]) -> None:
    """Leaves the faults that all have room for: a ghost's name is longer, and a status holds only so many bytes."""
    shown = min(len(failure.faults) for failure in failures)
    for failure in failures:
        failure.omitted_faults += len(failure.faults) - shown
        del failure.faults[shown:]


def parts(message: Message) -> list[Message]:
    """The message and all messages in it, except entries of maps."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is None or is_map(field):
            continue
        for part in value if field.is_repeated else [value]:
            found += parts(part)
    return found


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry
