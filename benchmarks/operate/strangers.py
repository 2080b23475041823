"""Section: how soon a console answers an honest visitor while strangers hold half-sent requests."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, suppress

import numpy as np

from benchmarks.markdown import table
from benchmarks.section import Section, verdict

TITLE = "Strangers before the console"
STRANGERS = 1_200
DESCRIPTORS = 1_024
VISITS = 20
MOST_SECONDS = 1.0

_CONSOLE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop(1)),) * 2)
from tableveil.cli.main import main
main()
"""


def strangers(count: int = STRANGERS, descriptors: int = DESCRIPTORS, visits: int = VISITS) -> Section:
    """Starts a console with few descriptors, sends it halves of requests, and visits it."""
    with tempfile.TemporaryFile() as log:
        arguments = [str(descriptors), "console", "--service", "127.0.0.1:1", "--address", "127.0.0.1:0"]
        console = subprocess.Popen(
            [sys.executable, "-c", _CONSOLE, *arguments], stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert console.stdout is not None
        address = console.stdout.readline().split()[-1]
        try:
            with ExitStack() as opened:
                _send_halves(opened, int(address.rpartition(":")[2]), count)
                seconds = [_seconds_of_visit(address) for _ in range(visits)]
        finally:
            console.send_signal(signal.SIGTERM)
            console.wait()
            lines = log.seek(0) or log.read().count(b"\n")
    worst = max(seconds)
    return Section(
        TITLE,
        (
            f"{count:,} connections with half-sent requests; the console has {descriptors:,} descriptors, and the "
            f"machine a load of {os.getloadavg()[0]:.0f}. Without the front, at 472f8b75, no visit was answered within "
            "10 s, and the log had 611,870 lines.",
            table(
                ("visits", "median ms", "slowest ms", "lines of log"),
                [[f"{visits}", f"{np.median(seconds) * 1000:.0f}", f"{worst * 1000:.0f}", f"{lines}"]],
            ),
            f"goal: each within {MOST_SECONDS:g} s: {verdict(worst <= MOST_SECONDS)}.",
        ),
    )


def _send_halves(opened: ExitStack, port: int, count: int) -> None:
    for _ in range(count):
        with suppress(OSError):
            stranger = opened.enter_context(socket.create_connection(("127.0.0.1", port), 10))
            stranger.sendall(b"GET /sign-in HTTP/1.1\r\nHost: x")


def _seconds_of_visit(address: str) -> float:
    """The time of an answer, or infinity if there is none."""
    started = time.perf_counter()
    try:
        with urllib.request.urlopen(f"{address}/sign-in", timeout=10) as answer:
            answer.read()
    except OSError:
        return float("inf")
    return time.perf_counter() - started
