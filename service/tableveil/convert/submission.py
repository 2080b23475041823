"""How jobs of a kind are submitted, also again by one text per request, and how their results are sent."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message

from tableveil.errors import Fault
from tableveil.pipelines.work import Work
from tableveil.policy import Policy
from tableveil.v1 import policy_pb2

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
