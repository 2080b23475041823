"""One text per request: it is stored as the document, and decides whether two requests are equal."""

import json

from google.protobuf import json_format
from google.protobuf.message import Message

from tableveil.v1 import policy_pb2


def canonical_json(message: Message) -> str:
    """The request in proto's JSON form with the proto's field names; equal messages give equal texts."""
    document = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def policy_from_json(document: str) -> policy_pb2.Policy:
    """The policy that `canonical_json` wrote."""
    return json_format.Parse(document, policy_pb2.Policy())
