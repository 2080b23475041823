"""A private PostgreSQL in a temporary directory; its tests are skipped where Debian's `postgresql` is not installed."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# Tests stop it by force, but no machine loses power.
_OPTIONS = ("listen_addresses=", "fsync=off", "max_connections=20", "shared_buffers=16MB", "timezone=UTC")


class Cluster:
    """A running PostgreSQL; the superuser `postgres` needs no password, every other role needs one."""

    def __init__(self, directory: Path, binaries: Path, account: str | None) -> None:
        self.directory = directory
        """Where its socket is: the `host` of its URLs."""
        self._binaries, self._account, self._data = binaries, account, directory / "data"
        self._numbers = itertools.count()
        self._run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8")
        (self._data / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        self.start()

    def new_database(self) -> str:
        """The URL of a database of a test's own."""
        name = f"test_{next(self._numbers)}"
        self.rows(self.url("postgres"), f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str, user: str = "postgres") -> str:
        """How libpq connects to a database, without a password."""
        return f"postgresql://{user}@/{database}?host={self.directory}"

    def rows(self, url: str, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, which is committed by itself."""
        return rows(url, statement)

    def start(self) -> None:
        """Starts it, also after `crash`, and waits until it answers."""
        options = " ".join(f"-c {option}" for option in (*_OPTIONS, f"unix_socket_directories={self.directory}"))
        self._run("pg_ctl", "start", "--wait", "--silent", f"--log={self.directory / 'log'}", f"--options={options}")

    def crash(self) -> None:
        """Ends all its processes without a shutdown; the next start recovers what was committed."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "--mode=immediate")

    def _run(self, program: str, *arguments: str) -> None:
        # Files, because the server would keep a pipe open.
        with tempfile.TemporaryFile() as told:
            command = [str(self._binaries / program), f"--pgdata={self._data}", *arguments]
            done = subprocess.run(command, stdout=told, stderr=told, user=self._account, check=False, timeout=60)
            told.seek(0)
            assert done.returncode == 0, told.read().decode()


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, which is committed by itself."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Starts one; the test is skipped where PostgreSQL or its driver is not installed."""
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    installed = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=shutil.which("initdb"))
    if installed is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    # It refuses to run as root. The path of a socket has at most 107 bytes: pytest's own directories are too deep.
    account = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="tableveil-") as name:
        if account is not None:
            owner = pwd.getpwnam(account)
            os.chown(name, owner.pw_uid, owner.pw_gid)
        running = Cluster(Path(name), Path(installed).parent, account)
        try:
            yield running
        finally:
            running.crash()
