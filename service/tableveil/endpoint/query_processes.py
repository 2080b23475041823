"""Runs each query in a process of its own, and bounds its time and the bytes of its rows."""

from __future__ import annotations

import base64
import fcntl
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from tableveil import errors
from tableveil.endpoint.query_process import FAILED, TOO_MUCH_MEMORY, Ended, Message, receive, send
from tableveil.endpoint.running import RunningQuery
from tableveil.endpoint.settings import QueryLimits
from tableveil.errors import BusyError, CancelledError, InternalError, TableveilError

logger = logging.getLogger("tableveil.endpoint")

SPARES = 2
"""Processes that wait for a query: opening a database takes longer than most queries."""

_SECONDS_BETWEEN_LOOKS = 0.05
_BUFFERED = 2**16
_PIPE_BYTES = 2**20
_KINDS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}


class QueryProcesses:
    """Makes processes of queries. Used from any thread; close it when done."""

    def __init__(self, limits: QueryLimits) -> None:
        """Starts the process of which they are copies, and a thread that ends those which take too long."""
        self._limits = limits
        self.spilled = SpillDirectory()
        self._lock = threading.Lock()
        self._made = 0
        self._spares: deque[QueryProcess] = deque()
        self._running = set[QueryProcess]()
        self._original, self._socket = self._start()
        self._closed = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="tableveil-queries", daemon=True)
        self._watching.start()
        self._fill()

    def open(self, request: Message, query: RunningQuery) -> QueryProcess:
        """A process that works on the request until it is closed, or the query says to stop."""
        # A backstop: the process is ended by its pipe long before.
        cpu_seconds = int(self._limits.seconds * self._limits.threads) + 10
        # The kernel may have ended those that waited, for lack of memory: the last one is made now.
        for _ in range(SPARES + 1):
            with self._lock:
                process = self._spares.popleft() if self._spares else self._make()
                process.query = query
                self._running.add(process)
            try:
                process.ask({**request, "bytes": self._limits.memory, "cpu_seconds": cpu_seconds})
                return process
            except BrokenPipeError:
                logger.warning("a process ended before its query came, with the exit code %d", process.exit_code())
                self.release(process)
        raise BusyError.of("QUERY_ENDED", "statement", "a process that ended", "one that runs", "Try again.")

    def release(self, process: QueryProcess) -> None:
        """Ends a process, removes what it spilled, and lets another one get ready."""
        with self._lock:
            self._running.discard(process)
        process.close()
        self._fill()

    @property
    def running(self) -> int:
        """How many processes work on a request."""
        with self._lock:
            return len(self._running)

    def close(self) -> None:
        """Ends all processes."""
        self._closed.set()
        self._watching.join()
        with self._lock:
            processes = [*self._spares, *self._running]
            self._spares.clear()
            self._running.clear()
        for process in processes:
            process.close()
        self._socket.close()
        self._original.wait()
        self.spilled.close()

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, child_end = socket.socketpair()
        # With the modules found where this process finds them.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-P", "-m", "tableveil.endpoint.query_process"]
        with child_end:
            process = subprocess.Popen(
                [*command, str(child_end.fileno()), str(self.spilled.path)],
                pass_fds=[child_end.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return process, ours

    def _fill(self) -> None:
        with self._lock:
            while len(self._spares) < SPARES and not self._closed.is_set():
                self._spares.append(self._make())

    def _make(self) -> QueryProcess:
        self._made += 1
        spill = self.spilled.path / str(self._made)
        settings = (f"{self._limits.memory}B", str(self._limits.threads), str(spill), f"{self._limits.spill}B")
        requests, asked = os.pipe()
        answered, results = os.pipe()
        answer_pipe, exit_code = os.pipe()
        with suppress(OSError):
            # Otherwise both sides would wake each other for every 64 KiB.
            fcntl.fcntl(results, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            for attempt in range(2):
                try:
                    socket.send_fds(self._socket, ["\0".join(settings).encode()], [requests, results, exit_code])
                    break
                except OSError:
                    if attempt:
                        raise
                    logger.warning("the process of which queries are copies ended; another one is started")
                    self._socket.close()
                    self._original.kill()
                    self._original.wait()
                    self._original, self._socket = self._start()
        finally:
            for sent in (requests, results, exit_code):
                os.close(sent)
        return QueryProcess(asked, answered, answer_pipe, spill)

    def _watch(self) -> None:
        while not self._closed.wait(_SECONDS_BETWEEN_LOOKS):
            with self._lock:
                stopped = [process for process in self._running if process.query.must_stop]
            for process in stopped:
                process.stop()


class QueryProcess:
    """One process, its answers, and its exit code. One thread reads them; any thread may stop it."""

    def __init__(self, requests: int, results: int, exit_code: int, spill: Path) -> None:
        """Takes the ends of its pipes over."""
        self.query = RunningQuery()
        self._requests = os.fdopen(requests, "wb", buffering=0)
        self._results = os.fdopen(results, "rb", buffering=_BUFFERED)
        self._exit_code = os.fdopen(exit_code, "rb", buffering=0)
        self._spill = spill

    def ask(self, request: Message) -> None:
        """Sends the request."""
        send(self._requests, request)

    def answer(self) -> Message:
        """The next answer; raises the error that it tells of, or that for a process that ended."""
        try:
            message = receive(self._results)
        except Ended:
            raise self.ended() from None
        if "kind" in message:
            kind = _KINDS.get(message["kind"], TableveilError)
            error: TableveilError = kind(message["code"], message["message"])
            raise error
        return message

    def batches(self) -> pa.RecordBatchReader:
        """The rows between two answers."""
        try:
            return pa.ipc.open_stream(self._results)
        except (pa.ArrowInvalid, OSError):
            raise self.ended() from None

    def ended(self) -> TableveilError:
        """The error for a process that ended before its answer did."""
        if self.query.refusal is not None:
            return self.query.refusal
        if self.query.cancelled:
            return CancelledError("CANCELLED", "nobody waits for the rows any more")
        try:
            code = self.exit_code()
        except ValueError:
            # The pipe is closed already.
            return BusyError("STOPPING", "the endpoint is stopping")
        if self.query.must_stop or code == -signal.SIGXCPU:
            return BusyError.of("QUERY_TIME", "statement", "a query that takes longer than one may", "a smaller one")
        # The kernel kills a process if the machine has no memory left.
        if code in (TOO_MUCH_MEMORY, -signal.SIGKILL):
            actual = "a query that takes more memory than one may"
            return BusyError.of("QUERY_MEMORY", "statement", actual, "a smaller one")
        logger.error("the process of a query failed with the exit code %d", code)
        return InternalError("QUERY_FAILED", "the process of the query failed; the endpoint's log tells its exit code")

    def exit_code(self) -> int:
        """The exit code of a process that ended, less than 0 if a signal ended it."""
        return int(self._exit_code.read() or FAILED)

    def stop(self) -> None:
        """Lets the process end: the reading thread finds the end of its answers."""
        with suppress(OSError):
            self._requests.close()

    def close(self) -> None:
        """Ends it, and removes what it spilled."""
        self.stop()
        self._results.close()
        self._exit_code.close()
        shutil.rmtree(self._spill, ignore_errors=True)


def schema_from(encoded: str) -> pa.Schema:
    """The schema in an answer."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded)))


def encoded(parameters: pa.Table) -> str:
    """Parameters for a request."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, parameters.schema) as stream:
        stream.write_table(parameters)
    return base64.b64encode(sink.getvalue()).decode()


_PREFIX = "tableveil-endpoint-"


class SpillDirectory:
    """A private directory, locked as long as its endpoint lives. The processes of its queries do not hold the lock."""

    def __init__(self) -> None:
        """Makes it, and removes those that nobody locks any more."""
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove(left, _locked(left))
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            # Another endpoint that starts may sweep it before it is locked.
            with suppress(OSError):
                self._lock = _locked(self.path)
                if self.path.exists():
                    return
                os.close(self._lock)

    def close(self) -> None:
        """Removes it."""
        _remove(self.path, self._lock)


def _locked(directory: Path) -> int:
    """A descriptor with the directory's lock; `OSError` if another process has that, or it is no directory of ours."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(directory: Path, lock: int) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    os.close(lock)
