"""Records calls: each as one entry of the audit, or one before it begins and one at its end."""

import re
import time
from collections.abc import Iterator, Sequence
from functools import reduce

from google.protobuf.message import Message

from tableveil.audit import REFUSED, Audit, Refused, without_port
from tableveil.convert.decimals import LONGEST_DECIMAL
from tableveil.convert.policy_from_proto import methods_stated
from tableveil.server.call import Call
from tableveil.source.query import NAMED
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now
from tableveil.v1.access_pb2 import AccessRole
from tableveil.v1.access_service_pb2 import GrantRule, PrivacyBudget, SchemaRule
from tableveil.v1.job_service_pb2 import Job
from tableveil.v1.policy_pb2 import Attribute, EventTable, PeopleTable, Policy, TableReference

_READING = ("Check", "Compare", "Describe", "Draft", "Execute", "Get", "List", "Preview", "Read", "Verify")
"""The verbs of methods that change nothing. Any other method, and every stream, is recorded before it begins.

To execute a statement changes nothing by itself: what it stands for are calls of their own.
"""

_NAMES = ("name", "principal")
"""Fields of requests about what is nobody's resource: tokens, backups."""

_OF_HIERARCHIES = {"table", "path", "name", "stored", "safe_harbor_zip", "combination", "rest"}
_PARTS = {*_OF_HIERARCHIES, "population", "people", "events", "classes_of"}
"""Fields of messages, such as hierarchies and options of methods, that name what is read, or have fields that do."""

_TARGET = re.compile(r"[\w-]{1,63}")

_OVER_LIMIT = "RATE_LIMITED"


class RecordedCalls:
    """Writes the audit; it is the `CallAudit` of access control. Only health checks are not recorded."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def begin(self, call: Call) -> None:
        """Returns once the begin of a call that is no mere reading is on the disk."""
        NAMED.set(call.queried)
        reads = call.method.rpartition("/")[2].startswith(_READING)
        if call.access is None or (reads and not call.access.is_stream):
            return
        self._audit.record(_entry(call, AuditEvent.BEGIN))
        call.begun = True

    def end(self, call: Call) -> None:
        """Returns once the call is on the disk, or counted: nobody can fill the disk by refused calls."""
        if call.begun:
            self._audit.record_end(_entry(call, AuditEvent.END))
        elif call.refusal or (call.failure is not None and call.failure.code == _OVER_LIMIT):
            name = call.principal.name if call.principal is not None else ""
            self._audit.count(Refused(without_port(call.peer), name, call.code.name, call.refusal or _OVER_LIMIT))
        elif call.principal is not None:
            self._audit.record(_entry(call, AuditEvent.CALL))


def _entry(call: Call, event: AuditEvent) -> AuditEntry:
    """The facts of the call, without a value."""
    assert call.principal is not None
    ended = event is not AuditEvent.BEGIN
    return AuditEntry(
        now(),
        event,
        call.principal.name,
        call.principal.authenticated_by.value,
        call.peer,
        call.method,
        tuple(dict.fromkeys((*sorted(call.queried), *_resources(call)))),
        "ALLOWED" if call.allowed else REFUSED,
        call.code.name if ended else "",
        call.failure.code if call.failure is not None else "",
        _job(call.response),
        call.correlation,
        time.monotonic() - call.began if ended else None,
    )


def _resources(call: Call) -> Iterator[str]:
    """The names at the paths that the method declares, or else those that the request has."""
    if call.access is None or call.request is None:
        return
    own = [field for field in _NAMES if field in call.request.DESCRIPTOR.fields_by_name]
    for path in call.access.resources or own:
        yield from filter(None, _names(reduce(getattr, path.split("."), call.request), path))
    target = getattr(call.request, "target", None)
    # Anything else is nobody's name, and may be a URL with a password.
    if isinstance(target, str) and _TARGET.fullmatch(target):
        yield f"target {target}"


def _names(found: object, path: str) -> Iterator[str]:
    match found:
        case str():
            # The text of a query may have values of the tables.
            yield "a query" if found and path.endswith("source_query") else found
        case Sequence():
            for one in found:
                yield from _names(one, path)
        case TableReference():
            yield ".".join(filter(None, (found.catalog, found.schema, found.table)))
        case PeopleTable() | EventTable():
            yield ".".join(filter(None, (found.schema, found.table)))
        case Policy():
            yield from _names(found.source_query or found.source, "source_query")
            yield ".".join(filter(None, (found.release.schema, found.release.name)))
            yield from (f"target {name}" for name in found.release.publish if _TARGET.fullmatch(name))
            yield from _names(found.population, "population")
            for method in methods_stated(found):
                yield from _names(getattr(found, method.field), method.field)
            yield from found.release.together_with
            yield from _names(found.attributes, "attributes")
        case Attribute():
            yield from _names(found.hierarchy, "hierarchy")
        case GrantRule():
            role = AccessRole.Name(found.role) if found.role in AccessRole.values() else "no role"
            yield f"{role} for {found.principal or f'the group {found.group}'}"
            yield found.release or ".".join(filter(None, (found.schema, found.table)))
        case PrivacyBudget():
            yield f"epsilon {found.epsilon[:LONGEST_DECIMAL]} and delta {found.delta[:LONGEST_DECIMAL]}"
            yield from found.tables
        case SchemaRule():
            yield f"joint_k {'on' if found.joint_k else 'off'}"
            yield found.schema
        case Message():
            for field, value in found.ListFields():
                if field.name in _PARTS:
                    yield from _names(value, field.name)


def _job(response: Message | None) -> str:
    job = response if isinstance(response, Job) else getattr(response, "job", None)
    return job.name if isinstance(job, Job) else ""
