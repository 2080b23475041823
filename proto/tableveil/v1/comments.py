"""The comments of the protos, which `proto/generate.py` keeps beside the stubs: help and pages are made from them."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def comments() -> Mapping[str, str]:
    """Each as one line, by the full name of the message, field, enum, value, service or method that it describes."""
    found: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return found
