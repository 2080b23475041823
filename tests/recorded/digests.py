"""Digests of texts, one a line, in a file."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

FILE = Path(__file__).with_name("digests.txt")


def digests(texts: Mapping[str, str]) -> dict[str, str]:
    """The digest of each text."""
    return {name: sha256(text.encode()).hexdigest()[:12] for name, text in texts.items()}


def written(found: Mapping[str, str]) -> str:
    """The digests as the file has them."""
    return "".join(f"{digest} {name}\n" for name, digest in found.items())
