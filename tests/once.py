"""Kinds of a thing of which `make test` tries one: all others are long."""

from collections.abc import Iterable
from typing import Any

import pytest


def once(kinds: Iterable[Any], first: int = 1, *, several: bool = False) -> list[Any]:
    """The parameters of a test over kinds: the first ones as they are, the others under the mark `long`.

    With `several`, each kind has the values of several parameters.
    """
    given = list(kinds)
    others = (kind if several else (kind,) for kind in given[first:])
    return [*given[:first], *(pytest.param(*values, marks=pytest.mark.long) for values in others)]
