"""How jobs of a kind are submitted, also again, and how their results are sent: the part of a kind in this package."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from tableveil.errors import Fault
from tableveil.pipelines.work import Work
from tableveil.policy import Policy

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
