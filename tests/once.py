"""Kinds of a thing of which `make test` tries one: all others are long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def once(kinds: Iterable[Any], first: int = 1) -> list[Any]:
    """The parameters of a test over kinds: the first ones as they are, the others under the mark `long`."""
    given = list(kinds)
    return [*given[:first], *(pytest.param(kind, marks=pytest.mark.long) for kind in given[first:])]
