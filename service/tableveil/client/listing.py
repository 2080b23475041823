"""Lists of resources: all items, fetched as they are read, or one page of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Listing(Iterator[Item], Generic[Item]):
    """All items of a list, in its order; the server is asked for each page when the first item of it is read."""

    def __init__(self, fetch: Callable[[str], tuple[Sequence[Item], str]]) -> None:
        """`fetch` gives the page of a token, and the token of the one after it: empty on the last page."""
        self._fetch = fetch
        self._items = self._every()

    def __next__(self) -> Item:
        return next(self._items)

    def page(self, token: str = "") -> tuple[Sequence[Item], str]:
        """The page of a token, by one call, and the token of the page after it: empty on the last one."""
        return self._fetch(token)

    def _every(self) -> Iterator[Item]:
        token, is_last = "", False
        while not is_last:
            items, token = self._fetch(token)
            yield from items
            is_last = not token
