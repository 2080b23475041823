"""Fills pages of lists: as many items as asked for, fewer if they are large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from tableveil.server.settings import LARGEST_PAGE

T = TypeVar("T")
M = TypeVar("M", bound=Message)


def fill_page(items: Sequence[T], size: int, to_proto: Callable[[T], M]) -> tuple[list[M], bool]:
    """The page's messages, and whether there are more after them.

    Args:
        items: Up to `size` items and, if there are more, one beyond them.
        size: Most items on the page. There is at least one, however large.
        to_proto: Makes an item's message.
    """
    page: list[M] = []
    room = LARGEST_PAGE
    for item in items[:size]:
        message = to_proto(item)
        room -= message.ByteSize()
        if page and room < 0:
            break
        page.append(message)
    return page, len(page) < len(items)
