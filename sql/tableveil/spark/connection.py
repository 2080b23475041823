"""One session of a Spark Connect server: work runs in threads that can be given up."""

import hashlib
import secrets
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from pyspark.logger import PySparkLogger
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from tableveil.control import Control, Stopped
from tableveil.errors import InvalidError, TableveilError
from tableveil.spark.failures import translated

# The failure says so.
warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")

# They write statements with their values to stderr, as JSON.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging"):
    PySparkLogger.getLogger(_name).disabled = True

T = TypeVar("T")

OLDEST = (4, 0)
"""The first version with Arrow tables in and out, and with conditions of errors."""

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_STOP = 3.0
"""How long Spark may take to end interrupted work before it is given up; a task that computes may not notice."""

SECONDS_TO_END = 30.0
"""How long statements of an earlier process are waited for."""

SETTINGS = {
    # One reading of values, whatever the cluster's defaults are.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    # Names and texts mean what they say: Spark would put the value of a variable in place of `${env:HOME}`.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    # Java runs longer methods without compiling them; Spark makes several of one instead.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # No row is dropped in silence.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}


class _Retries(DefaultPolicy):  # type: ignore[misc]
    """Tries again for some seconds while the server is not there; PySpark would do so for ten minutes."""

    def __init__(self) -> None:
        super().__init__(max_retries=6, initial_backoff=100, backoff_multiplier=2.0, max_backoff=2000, jitter=0)


class SparkConnection:
    """A session of the server, which keeps views, settings and Arrow data of its own. Use it from one thread."""

    def __init__(self, warehouse: str, url: str, token: str, control: Control | None = None) -> None:
        """Connects; the `token` names the session, for `end`.

        Raises:
            BusyError: the server does not answer.
            InvalidError: it refuses the connection, or its version is too old.
        """
        self._warehouse = warehouse
        self._url = url
        self._tag = f"tableveil-{secrets.token_hex(8)}"
        self._spark = _session(url, token)
        self.version: str = self.run(lambda spark: spark.version, control)
        if tuple(int(part) for part in self.version.split(".")[:2]) < OLDEST:
            self.close()
            expected = f"Spark {'.'.join(map(str, OLDEST))} or newer"
            raise InvalidError.of("WAREHOUSE_OLD", warehouse, f"a server of Spark {self.version}", expected)
        self.run(_set, control)

    @property
    def id(self) -> str:
        """The server's name for the session."""
        identifier: str = self._spark.session_id
        return identifier

    def run(self, work: Callable[[SparkSession], T], control: Control | None) -> T:
        """Runs work and returns its result.

        Raises:
            Stopped: the control said to stop. Work that Spark does not end soon is given up.
            TableveilError: the work failed.
        """
        if control is not None and control.must_stop:
            raise Stopped
        done: Future[T] = Future()

        def run() -> None:
            # Tags belong to a thread.
            self._spark.addTag(self._tag)
            try:
                done.set_result(work(self._spark))
            except BaseException as error:
                done.set_exception(error)

        # A daemon: the process may end while it hangs in the network.
        threading.Thread(target=run, name="tableveil-spark", daemon=True).start()
        self._await(done, control)
        try:
            return done.result()
        except (TableveilError, Stopped):
            raise
        except Exception as error:
            raise translated(error, self._warehouse) from None

    def end(self, token: str) -> None:
        """Ends another session of the server, and waits for its statements: they outlive their client.

        It may be gone already.
        """
        until = time.monotonic() + SECONDS_TO_END
        other = _session(self._url, token)
        with suppress(Exception):
            while other.interruptAll() and time.monotonic() < until:
                time.sleep(SECONDS_BETWEEN_LOOKS)
        with suppress(Exception):
            other.stop()

    def close(self) -> None:
        """Ends the session on the server, with all that it keeps."""
        threading.Thread(target=self._spark.stop, name="tableveil-spark-end", daemon=True).start()

    def _await(self, done: Future[T], control: Control | None) -> None:
        """Waits for the end; asked to stop, interrupts again and again: one before the start would be lost."""
        if control is None:
            wait([done])
            return
        given_up: float | None = None
        while not wait([done], SECONDS_BETWEEN_LOOKS).done:
            if not control.must_stop:
                continue
            now = time.monotonic()
            given_up = given_up or now + SECONDS_TO_STOP
            if now >= given_up:
                # Given up here, it must not go on there.
                threading.Thread(target=self._stop, args=(done,), name="tableveil-stop", daemon=True).start()
                raise Stopped
            interrupting = threading.Thread(target=self._interrupt, name="tableveil-interrupt", daemon=True)
            interrupting.start()
            interrupting.join(given_up - now)

    def _stop(self, done: Future[T]) -> None:
        while not wait([done], SECONDS_TO_STOP).done:
            self._interrupt()

    def _interrupt(self) -> None:
        with suppress(Exception):
            self._spark.interruptTag(self._tag)


def _session(url: str, token: str) -> SparkSession:
    """The session of a token, whose id follows from the address, too: names of tables have tokens."""
    digest = hashlib.sha256(f"{url}\n{token}".encode()).digest()
    session = SparkSession(f"{url}{'' if urlsplit(url).path else '/'};session_id={UUID(bytes=digest[:16], version=4)}")
    session.client.set_retry_policies([_Retries()])
    return session


def _set(spark: SparkSession) -> None:
    """Makes the settings that differ: each takes a call, and PySpark warns of old ones that are made."""
    for (name, value), present in zip(SETTINGS.items(), spark.client.get_configs(*SETTINGS), strict=True):
        if present != value:
            spark.conf.set(name, value)
