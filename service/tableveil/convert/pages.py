"""Pages of lists: how many items one holds, and the opaque tokens that say where the next begins."""

import base64
import binascii
import json

from tableveil.errors import InvalidError

# The numbers that the database can compare with; only a forged token holds a larger one.
_INT32, _INT64 = 2**31, 2**63

DEFAULT_PAGE_SIZE = 50
LARGEST_PAGE_SIZE = 1000


def page_size(requested: int) -> int:
    """The number of items to return: the requested number, 0 meaning the default, cut to the largest allowed."""
    if requested < 0:
        expected = f"0 for {DEFAULT_PAGE_SIZE}, or 1 to {LARGEST_PAGE_SIZE}"
        raise InvalidError.of("PAGE_SIZE_INVALID", "page_size", str(requested), expected)
    return min(requested or DEFAULT_PAGE_SIZE, LARGEST_PAGE_SIZE)


def number_token(collection: str, before: int) -> str:
    """The token of a page of numbered things, newest first, that begins below `before`."""
    return _write([collection, before])


def read_number_token(collection: str, token: str) -> int | None:
    """The number in a token of `number_token`; None for the first page, whose token is empty."""
    match _read(token):
        case None:
            return None
        case [str(found), int(before)] if found == collection and 0 < before < _INT64:
            return before
    raise _invalid()


def name_token(collection: str, after: str) -> str:
    """The token of a page of named things, in the order of their names, that begins after a name."""
    return _write([collection, after])


def read_name_token(collection: str, token: str) -> str:
    """The name in a token of `name_token`; empty for the first page."""
    match _read(token):
        case None:
            return ""
        case [str(found), str(name)] if found == collection:
            return name
    raise _invalid()


def hierarchy_token(after: tuple[str, int]) -> str:
    """The token of a page of hierarchies that begins after this name and version."""
    return _write(["hierarchies", *after])


def read_hierarchy_token(token: str) -> tuple[str, int]:
    """The place in a token of `hierarchy_token`; the place before all others for the first page."""
    match _read(token):
        case None:
            return ("", 0)
        case ["hierarchies", str(name), int(version)] if 0 <= version < _INT32:
            return (name, version)
    raise _invalid()


def table_token(after: tuple[str, str]) -> str:
    """The token of a page of tables that begins after this schema and name."""
    return _write(["tables", *after])


def read_table_token(token: str) -> tuple[str, str]:
    """The place in a token of `table_token`; the place before all others for the first page."""
    match _read(token):
        case None:
            return ("", "")
        case ["tables", str(schema), str(name)]:
            return (schema, name)
    raise _invalid()


def _write(position: list[str | int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def _read(token: str) -> object:
    if not token:
        return None
    try:
        position = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _invalid() from None
    # Our tokens are lists; no other JSON may look like the first page.
    return position if isinstance(position, list) else [position]


def _invalid() -> InvalidError:
    error = InvalidError.of(
        "PAGE_TOKEN_INVALID",
        "page_token",
        "a token that this list did not give out",
        "nothing, or the next_page_token of an earlier page of the same list",
    )
    assert isinstance(error, InvalidError)
    return error
