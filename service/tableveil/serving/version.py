"""The version of the server."""

from importlib import metadata


def installed_version() -> str:
    """As installed; a checkout need not be."""
    try:
        return metadata.version("tableveil")
    except metadata.PackageNotFoundError:
        return "(not installed)"
