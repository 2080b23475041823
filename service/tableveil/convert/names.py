"""Resource names, parsed and printed: `jobs/12`, `releases/3`, `frontiers/2`."""

import re

from tableveil.errors import InvalidError, shortened
from tableveil.hierarchy import StoredLevels
from tableveil.state.kinds import KINDS, JobKind

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
