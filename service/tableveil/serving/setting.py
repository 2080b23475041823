"""An option of a command by its field; a module of its own, which commands load without what a server needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """The option of a field, which annotates its type.

    Attributes:
        help: A sentence for the command line.
        name: Its name, if it is not the field's, as of one that may be repeated.
        metavar: A form of its value.
        is_directory: Whether a path is one.
        unit: The number that it counts in, such as bytes of a MiB.
        read: Reads each of the texts that may be repeated.
    """

    help: str
    name: str = ""
    metavar: str | None = None
    is_directory: bool = False
    unit: int = 1
    read: Callable[[str], Any] = str
