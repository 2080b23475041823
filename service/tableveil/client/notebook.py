"""Results in notebooks: each message of the service as an HTML table, with everything that comes from data escaped."""

import sys
from collections.abc import Iterable
from html import escape
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

MOST_ITEMS = 50
"""Items of a list that are shown; further ones are counted."""


def show_in_notebook() -> None:
    """Lets the IPython that runs this, if one does, show messages as tables."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(Message, table_of)


def table_of(message: Message) -> str | None:
    """The fields of a message that are set; None for messages of others."""
    if message.DESCRIPTOR.file.package != "tableveil.v1":
        return None
    rows = (
        f"<tr><th style='text-align:left'>{field.name.replace('_', ' ')}</th>"
        f"<td style='text-align:left'>{_shown(field, value)}</td></tr>"
        for field, value in message.ListFields()
    )
    return f"<table>{''.join(rows)}</table>"


def _shown(field: FieldDescriptor, value: Any) -> str:
    if field.GetOptions().debug_redact:
        return "not shown"
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        items: Iterable[str] = (f"{escape(str(key))}: {escape(str(item))}" for key, item in sorted(value.items()))
        return _listed(len(value), items)
    if field.is_repeated:
        return _listed(len(value), (_single(field, item) for item in value[:MOST_ITEMS]))
    if field.message_type is not None and not isinstance(value, Timestamp | Duration):
        return f"<details><summary>…</summary>{_single(field, value)}</details>"
    return _single(field, value)


def _listed(count: int, items: Iterable[str]) -> str:
    shown = "".join(f"<div>{item}</div>" for item, _ in zip(items, range(MOST_ITEMS), strict=False))
    further = f"<div>and {count - MOST_ITEMS:,} more</div>" if count > MOST_ITEMS else ""
    return f"<details><summary>{count:,}</summary>{shown}{further}</details>"


def _single(field: FieldDescriptor, value: Any) -> str:
    if isinstance(value, Timestamp | Duration):
        return value.ToJsonString()
    if isinstance(value, Message):
        return table_of(value) or escape(str(value))
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if field.enum_type is not None:
        prefix = field.enum_type.values_by_number[0].name.removesuffix("UNSPECIFIED")
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name.removeprefix(prefix)
    return escape(str(value))
