"""Dataclasses as JSON documents in one column: decimals and numbers that JSON lacks, such as inf, are texts."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import repeat
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints


def written(value: object) -> str:
    """The document of texts, numbers, flags, and tuples, mappings and dataclasses of them."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def typed(kind: Any, value: Any) -> Any:
    """The value of that type that a document has."""
    kind = next((one for one in get_args(kind) if one is not NoneType), kind) if NoneType in get_args(kind) else kind
    if value is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        hints, made = _hints(kind), cast(type[Any], kind)
        return made(**{name: typed(hints[name], one) for name, one in value.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if get_origin(kind) is tuple:
        kinds = get_args(kind)
        each = repeat(kinds[0], len(value)) if kinds[-1] is ... else kinds
        return tuple(typed(one, part) for one, part in zip(each, value, strict=True))
    return kind(value) if kind in (float, Decimal) else value


def _plain(value: Any) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        # A warning's text has a rank beside it, which is no part of the text.
        return str(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    assert value is None or type(value) in (int, bool), f"no document has a {type(value).__name__}"
    return value


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)
