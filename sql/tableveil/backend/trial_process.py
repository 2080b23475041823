"""The process that tries a statement: it binds and plans it on empty tables, within limits of its own.

It runs as a script and imports no other module of Tableveil, so that it starts quickly. It reads a JSON object from
standard input and writes one to standard output.
"""

import json
import os
import resource
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    # The extension alone: the package around it takes ten times as long to import, which every query would wait for.
    import _duckdb as duckdb
except ImportError:
    import duckdb  # type: ignore[no-redef]

TOO_MUCH_MEMORY = 3
"""The exit code of a process that ended itself because it exceeded its memory."""

_SECONDS_BETWEEN_LOOKS = 0.01


def main() -> None:
    """Tries the statement of the request."""
    asked = json.load(sys.stdin)
    connection = duckdb.connect(config={"threads": 1, "temp_directory": ""})
    for definition in asked["definitions"]:
        connection.execute(definition)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET GLOBAL enable_external_access = false")
    connection.execute("SET GLOBAL lock_configuration = true")
    _limit(asked["bytes"], asked["seconds"])
    json.dump(_tried(connection, asked["statement"]), sys.stdout)


def _tried(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[str, Any]:
    (plan,) = connection.execute("SELECT json_serialize_plan(?)", [statement]).fetchall()[0]
    if plan.startswith('{"error":true'):
        return {"error": json.loads(plan)}
    # The rows decide whether the statement fails; it binds.
    with suppress(duckdb.Error):
        # This also runs the optimizer, which computes constants and expands common table expressions.
        connection.execute(f"PREPARE tried AS {statement}")
    return {"plan_size": len(plan)}


def _limit(further_bytes: int, seconds: int) -> None:
    """Limits the process from here on. The kernel ends it after so many seconds of CPU time."""
    # A core dump would hold the values of ENUM types.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (end, end))
    # RLIMIT_AS would not do: if an allocation fails while DuckDB computes a constant, it goes on; in the server the
    # allocation would succeed, and DuckDB would compute the constant.
    if _MEMORY.exists():
        threading.Thread(target=_watch, args=[_resident() + further_bytes], daemon=True).start()


def _watch(most_bytes: int) -> None:
    while _resident() <= most_bytes:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(TOO_MUCH_MEMORY)


_MEMORY = Path("/proc/self/statm")


def _resident() -> int:
    return int(_MEMORY.read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
