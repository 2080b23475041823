"""Files that are named after tables."""

import hashlib

_LONGEST = 120
"""Bytes: two names and an ending fit into the 255 that file systems take."""


def file_name(name: str) -> str:
    """A file name for an object: readable, safe for any name, without a dot, and different for different names."""
    safe = "".join(c if c.isalnum() or c in " _-" else "".join(f"%{b:02X}" for b in c.encode()) for c in name)
    if len(safe.encode()) > _LONGEST:
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        safe = f"{safe.encode()[: _LONGEST - 20].decode(errors='ignore')}%{digest}"
    return safe
