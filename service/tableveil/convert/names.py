"""Resource names, parsed and printed, such as `jobs/12`; references to tables; and how jobs of a kind are submitted."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from tableveil.errors import Fault, InvalidError, shortened
from tableveil.hierarchy import StoredLevels
from tableveil.pipelines.work import Work
from tableveil.policy import Policy, TableReference
from tableveil.state.jobs import KINDS, JobKind
from tableveil.v1 import policy_pb2

# Short enough for a 64-bit number.
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_VERSION = re.compile(r"[1-9][0-9]{0,8}")


def job_name(number: int) -> str:
    """The name of a job."""
    return f"jobs/{number}"


def release_name(number: int) -> str:
    """The name of a release."""
    return f"releases/{number}"


def load_name(number: int) -> str:
    """The name of a load."""
    return f"loads/{number}"


def result_name(kind: JobKind, number: int) -> str:
    """The name of the result of a job of that kind."""
    return f"{KINDS[kind].collection}/{number}"


def job_number(name: str, field: str = "name") -> int:
    """The number in a job's name; `field` is the request's field with the name."""
    return _parse("jobs", name, field)


def release_number(name: str, field: str = "name") -> int:
    """The number in a release's name; `field` is the request's field with the name."""
    return _parse("releases", name, field)


def result_number(kind: JobKind, name: str, field: str = "name") -> int:
    """The number in the name of the result of a job of that kind; `field` is the request's field with the name."""
    return _parse(KINDS[kind].collection, name, field)


def load_number(name: str) -> int:
    """The number in a load's name."""
    return _parse("loads", name, "name")


def worksheet_name(number: int) -> str:
    """The name of a worksheet."""
    return f"worksheets/{number}"


def worksheet_number(name: str, field: str = "name") -> int:
    """The number in a worksheet's name; `field` is the request's field with the name."""
    return _parse("worksheets", name, field)


def token_number(name: str) -> int:
    """The number in a token's name."""
    return _parse("tokens", name, "name")


def grant_number(name: str) -> int:
    """The number in a grant's name."""
    return _parse("grants", name, "name")


def last_part(collection: str, name: str) -> str:
    """The part of a name after its collection, which is a name itself: it may have slashes in it."""
    prefix, _, part = name.partition("/")
    if prefix != collection or not part:
        actual = shortened(name) if name else "nothing"
        raise InvalidError.of("NAME_INVALID", "name", actual, f"{collection}/ and a name")
    return part


def stored_levels_named(name: str) -> StoredLevels:
    """The version of a hierarchy with that name; the newest one if it says none."""
    part = last_part("hierarchies", name)
    stem, _, version = part.rpartition("@")
    return StoredLevels(stem, int(version)) if stem and _VERSION.fullmatch(version) else StoredLevels(part)


def _parse(collection: str, name: str, field: str) -> int:
    prefix, _, number = name.partition("/")
    if prefix != collection or not _NUMBER.fullmatch(number):
        actual = shortened(name) if name else "nothing"
        raise InvalidError.of("NAME_INVALID", field, actual, f"{collection}/ and a number, such as {collection}/12")
    return int(number)


DEFAULT_SCHEMA = "main"

BOUND_TO = "Its source was bound to {}. Bind it anew, to the load that is meant: --source-load."

UNBOUND = "no load: only the source of a policy is bound to one"


def table_from_proto(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message, with the default schema filled in; `InvalidError` if it is bound to a load."""
    for path, name in loads_of(message):
        raise InvalidError.of("LOAD_UNUSED", f"table.{path}", shortened(name), UNBOUND)
    return unbound(message)


def unbound(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message that may be bound to a load, without that load."""
    return TableReference(message.catalog, message.schema or DEFAULT_SCHEMA, message.table)


def loads_of(message: policy_pb2.TableReference) -> Iterator[tuple[str, str]]:
    """The fields of a reference that name loads, and these names."""
    if message.load:
        yield "load", message.load
    yield from ((f"loads[{i}]", name) for i, name in enumerate(message.loads))


def without_loads(policy: policy_pb2.Policy) -> tuple[policy_pb2.Policy, str]:
    """The policy as it is used again, when its tables have other rows, and the loads that bound it, in words."""
    again = policy_pb2.Policy()
    again.CopyFrom(policy)
    for path in ("load", "loads"):
        again.source.ClearField(path)
    if not again.source.ByteSize():
        again.ClearField("source")
    return again, ", ".join(name for _, name in loads_of(policy.source))


def table_to_proto(table: TableReference) -> policy_pb2.TableReference:
    """The message for a table's name."""
    return policy_pb2.TableReference(catalog=table.catalog, schema=table.schema, table=table.table)


Asked = TypeVar("Asked", bound=Message)


@dataclass(frozen=True, slots=True)
class Read:
    """The work of a request, or its faults; its policy if the database may find more faults of it."""

    work: Work | None
    faults: list[Fault]
    policy: Policy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(Generic[Asked]):
    """The `SUBMISSION` of a kind.

    The job keeps one field of the request as its `document`; the other fields are its options. A request with faults
    fails with a `code` and a `refusal`. `streams` are the methods that send a result in pieces, by their names.
    """

    request: type[Asked]
    document: str
    read: Callable[[Asked], Read]
    code: str
    refusal: str
    to_proto: Callable[[Any], Message]
    streams: Mapping[str, Callable[[Any, Any], Iterator[Message]]] = field(default_factory=dict)


def canonical_json(message: Message) -> str:
    """The request in proto's JSON form with the proto's field names; equal messages give equal texts."""
    document = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def policy_from_json(document: str) -> policy_pb2.Policy:
    """The policy that `canonical_json` wrote."""
    return json_format.Parse(document, policy_pb2.Policy())
