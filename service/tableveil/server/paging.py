"""Pages of lists: the requested number of items, fewer if they are large, and the begin of the next page."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from google.protobuf.message import Message

from tableveil.convert import number_token, page_size, read_number_token
from tableveil.convert.pages import name_token, read_name_token
from tableveil.errors import InvalidError, NotFoundError, shortened
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
    before = read_number_token(collection, own_token(request))
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
    if len(messages) == len(items):
        return messages, ""
    return messages, token_after(items[len(messages) - 1]) + _mark(request)


def page_of_named(
    collection: str, request: PageRequest, items: Iterable[ItemMessage], name: Callable[[ItemMessage], str]
) -> tuple[list[ItemMessage], str]:
    """The page of a collection in the order of its names; all items if the request asks for no size."""
    ordered = sorted(items, key=name)
    after = read_name_token(collection, own_token(request))
    if not request.page_size:
        return [item for item in ordered if name(item) > after], ""

    def page(after: str, size: int) -> list[ItemMessage]:
        return [item for item in ordered if name(item) > after][:size]

    return page_of(after, request, page, lambda item: item, lambda last: name_token(collection, name(last)))


def own_token(request: PageRequest) -> str:
    """The token of a request without its mark: it goes on with a list under the filter that it began with.

    Raises:
        InvalidError: the request has another filter.
    """
    token, dot, mark = request.page_token.partition(".")
    if request.page_token and dot + mark != _mark(request):
        actual, hint = "the token of a list with another filter", "Change nothing but the token and the page size."
        expected = "nothing, or the next_page_token of an earlier page of the same list"
        raise InvalidError.of("PAGE_TOKEN_INVALID", "page_token", actual, expected, hint)
    return token


def _mark(request: PageRequest) -> str:
    """Identifies the filter of a request; empty without one."""
    asked: Any = type(request)()
    asked.CopyFrom(request)
    for field in ("page_size", "page_token"):
        asked.ClearField(field)
    text: bytes = asked.SerializeToString(deterministic=True)
    return f".{sha256(text).hexdigest()[:16]}" if text else ""


def only(items: Sequence[Item], code: str, name: str, expected: str) -> Item:
    """The only item; `NotFoundError` of that code if there is none."""
    if not items:
        raise NotFoundError.of(code, "name", shortened(name), expected)
    return items[0]
