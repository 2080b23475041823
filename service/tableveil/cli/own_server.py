"""A server in the process of a command, on a database file that nobody else has open."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from tableveil.client import Client
from tableveil.identity.secret import new_secret
from tableveil.serving.setting import Setting


@dataclass(frozen=True, slots=True)
class OwnServerOptions:
    """The settings of a server of the command's own."""

    publish: Annotated[
        tuple[str, ...], Setting("A target, as of `serve`; may be repeated.", metavar="NAME=TARGET")
    ] = ()
    memory_limit: Annotated[
        str | None, Setting("Memory of the database, such as 2GiB; it spills beyond.", metavar="SIZE")
    ] = None
    threads: Annotated[int | None, Setting("Threads of the database.")] = None


@contextmanager
def client_of_own_server(database: Path, options: OwnServerOptions | None = None) -> Iterator[Client]:
    """A client of a server in this process, on a socket in a directory that only this user may enter."""
    from tableveil.server import ServeSettings, TableveilServer

    # The server's files beside the database hold raw values.
    os.umask(0o077)
    with TemporaryDirectory(prefix="tableveil-") as directory:
        options = options or OwnServerOptions()
        address = f"unix:{directory}/socket"
        settings = ServeSettings(
            database,
            (address,),
            memory_limit=options.memory_limit,
            threads=options.threads,
            concurrent_jobs=1,
            publish=options.publish,
        )
        token = new_secret()
        with closing(TableveilServer(settings, token)), Client(address, token) as client:
            yield client
