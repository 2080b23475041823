"""A Spark Connect server of our own, for a try-out and for tests; it needs Java and the whole of PySpark."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from tableveil.errors import BusyError, InvalidError

SECONDS_TO_START = 120.0
SECONDS_TO_STOP = 3.0
"""The service itself has ten to end."""

MASTER = "local[2]"
MEMORY = "2g"

_WITH_US = 'exec 3<&0; "$@" </dev/null 3<&- & server=$!; (read _ <&3; kill $server) & exec 3<&-; wait $server'
"""Runs a command until our end of the pipe is closed, also by our own end: a killed service leaves no server behind."""

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class LocalServer:
    """A server on two cores, whose tables are in a private directory; it listens on this machine only.

    `url` is its address, with a token: other users of the machine do not get in. The file `url` in the directory has
    it, too, for other clients of the same user. With `persistent`, the directory also keeps the catalog of the tables,
    which takes Spark some ten seconds more.
    """

    def __init__(self, directory: Path, *, persistent: bool = True, port: int = 0, memory: str = MEMORY) -> None:
        """Starts it and waits until it listens; `port` 0 finds a free one, `memory` is its heap as Java spells sizes.

        Raises:
            InvalidError: Java or PySpark's server is not there.
            BusyError: the server does not start.
        """
        spark_home = _spark_home()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._port = port or _free_port()
        token = secrets.token_urlsafe(24)
        # Spark's client sends a token without TLS to this name only.
        self.url = f"sc://localhost:{self._port}/;token={token}"
        with open(directory / "url", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.url + "\n")
        settings = {
            "spark.ui.enabled": "false",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
            "spark.local.dir": str(directory / "spill"),
            "spark.sql.shuffle.partitions": "4",
            # Adaptive execution starts stages in other threads: one that starts after a cancel runs to its end, which
            # may never come, and holds the cores. These few partitions need no fitting to the data.
            "spark.sql.adaptive.enabled": "false",
            # A thread that fetches results and runs out of memory dies alone, and its statement would never end.
            "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
        }
        if persistent:
            catalog = f"jdbc:derby:;databaseName={directory / 'catalog'};create=true"
            settings |= {
                "spark.sql.catalogImplementation": "hive",
                "spark.hadoop.javax.jdo.option.ConnectionURL": catalog,
            }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        log = (directory / "log").open("wb")
        self._process = subprocess.Popen(
            [
                *("/bin/sh", "-c", _WITH_US, "sh"),
                *(str(spark_home / "bin" / "spark-submit"), "--driver-memory", memory, "--master", MASTER),
                *("--class", _SERVER, *options, "spark-internal"),
            ],
            env={
                **os.environ,
                "SPARK_HOME": str(spark_home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
            },
            # Derby writes a log of its own where it runs.
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            # A Ctrl-C for the service must not end it first: jobs are ended before.
            start_new_session=True,
        )
        log.close()
        self._wait(directory / "log")

    @property
    def group(self) -> int:
        """The group of its processes."""
        return self._process.pid

    def close(self) -> None:
        """Ends the server; its tables stay."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _wait(self, log: Path) -> None:
        until = time.monotonic() + SECONDS_TO_START
        while self._process.poll() is None and time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.2)
        self.kill()
        actual = "a Spark Connect server that did not start"
        raise BusyError.of("WAREHOUSE_UNAVAILABLE", "warehouse", actual, "one that listens", f"Its log is {log}.")


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    home = Path(spec.origin).parent if spec is not None and spec.origin else None
    if home is None or not (home / "bin" / "spark-submit").is_file():
        actual = "no server of Spark: the extra tableveil[spark] brings the client alone"
        hint = "Install it (pip install 'pyspark[connect]'), or give the address of a server (sc://HOST:15002)."
        raise InvalidError.of("SPARK_MISSING", "warehouse", actual, "PySpark with its server", hint)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        hint = "Install it, such as openjdk-17-jre-headless of Debian."
        raise InvalidError.of("JAVA_MISSING", "warehouse", "no Java", "Java 17 or newer", hint)
    return home


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
