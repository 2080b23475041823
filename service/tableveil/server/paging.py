"""Pages of lists: the requested number of items, fewer if they are large, and the begin of the next page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from google.protobuf.message import Message

from tableveil.convert import number_token, page_size, read_number_token
from tableveil.serving.settings import LARGEST_PAGE


class PageRequest(Protocol):
    """The fields of every list request."""

    page_size: int
    page_token: str


class Numbered(Protocol):
    """The interface of items in a list from the newest to the oldest."""

    @property
    def number(self) -> int:
        """Its number in its collection."""


Position = TypeVar("Position")
Item = TypeVar("Item")
NumberedItem = TypeVar("NumberedItem", bound=Numbered)
ItemMessage = TypeVar("ItemMessage", bound=Message)


def page_of_numbered(
    collection: str,
    request: PageRequest,
    page: Callable[[int | None, int], Sequence[NumberedItem]],
    to_proto: Callable[[NumberedItem], ItemMessage],
) -> tuple[list[ItemMessage], str]:
    """The page of a collection, newest first; see `page_of`."""
    before = read_number_token(collection, request.page_token)
    return page_of(before, request, page, to_proto, lambda last: number_token(collection, last.number))


def page_of(
    position: Position,
    request: PageRequest,
    page: Callable[[Position, int], Sequence[Item]],
    to_proto: Callable[[Item], ItemMessage],
    token_after: Callable[[Item], str],
) -> tuple[list[ItemMessage], str]:
    """The page that begins at a position.

    Args:
        position: The position in the request's token.
        request: Has the number of items; a page has at least one, however large.
        page: Gives so many items from a position on.
        to_proto: Makes an item's message.
        token_after: The token of the page that begins after an item.

    Returns:
        The messages, and the token of the next page: empty if there is none.
    """
    size = page_size(request.page_size)
    items = page(position, size + 1)
    messages: list[ItemMessage] = []
    room = LARGEST_PAGE
    for item in items[:size]:
        message = to_proto(item)
        room -= message.ByteSize()
        if messages and room < 0:
            break
        messages.append(message)
    return messages, token_after(items[len(messages) - 1]) if len(messages) < len(items) else ""
