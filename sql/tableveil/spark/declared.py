"""Warehouses as the operator declares them: `NAME=sc://HOST:PORT`, or `NAME=local`."""

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from tableveil.errors import InvalidError, shortened
from tableveil.spark.local import LocalServer
from tableveil.spark.warehouse import SparkWarehouse

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_EXPECTED = "NAME=sc://HOST:PORT or NAME=local, with a name of letters, digits and '_'"


def declared_warehouses(
    declarations: Iterable[str], catalog: str, directory: Path, most_collected: int
) -> dict[str, SparkWarehouse]:
    """The warehouses by name; local servers are started, with their tables below the directory.

    Raises:
        InvalidError: a declaration cannot be understood, or has the name of another one or of the `catalog`; PySpark or
            Java is missing.
        BusyError: a local server does not start.
    """
    warehouses: dict[str, SparkWarehouse] = {}
    try:
        for declaration in declarations:
            name, _, url = declaration.partition("=")
            _check(name, url, (catalog, *warehouses))
            local = LocalServer(directory / name) if url == "local" else None
            warehouses[name] = SparkWarehouse(name, local.url if local else url, most_collected, local)
    except BaseException:
        for warehouse in warehouses.values():
            warehouse.close()
        raise
    return warehouses


def _check(name: str, url: str, taken: Iterable[str]) -> None:
    place = urlsplit(url)
    if not (_NAME.fullmatch(name) and (url == "local" or (place.scheme == "sc" and place.hostname))):
        # A token may be in the address.
        raise InvalidError.of("WAREHOUSE_INVALID", "warehouse", shortened(name), _EXPECTED)
    if name.casefold() in (each.casefold() for each in taken):
        actual = f"{shortened(name)}, which another warehouse or the server's own database is called"
        raise InvalidError.of("WAREHOUSE_INVALID", "warehouse", actual, "a name of its own")
    if find_spec("pyspark") is None:
        hint = "Install it: pip install 'tableveil[spark]'."
        raise InvalidError.of("SPARK_MISSING", "warehouse", "no client of Spark Connect", "the extra spark", hint)
