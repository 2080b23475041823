"""A server in the process of a command, on a database file that nobody else has open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tableveil.client import Client
from tableveil.identity.secret import new_secret


@contextmanager
def client_of_own_server(
    database: Path, memory_limit: str | None = None, threads: int | None = None, publish: tuple[str, ...] = ()
) -> Iterator[Client]:
    """A client of a server in this process, on a socket in a directory that only this user may enter."""
    from tableveil.server import ServeSettings, TableveilServer

    # The server's files beside the database hold raw values.
    os.umask(0o077)
    with TemporaryDirectory(prefix="tableveil-") as directory:
        address = f"unix:{directory}/socket"
        settings = ServeSettings(
            database,
            (address,),
            memory_limit=memory_limit,
            threads=threads,
            concurrent_jobs=1,
            publish=publish,
        )
        token = new_secret()
        with closing(TableveilServer(settings, token)), Client(address, token) as client:
            yield client
