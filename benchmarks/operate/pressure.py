"""Section: memory, and how long others wait, while calls are half-sent, files are wide and checked policies large."""

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.discharges import CACHE
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.client import Client
from tableveil.errors import TableveilError
from tableveil.v1 import access_pb2, policy_pb2
from tests.campaign.pressure import asking
from tests.campaign.served import Served, serving
from tests.http2 import Connection

TITLE = "Servers under pressure"
LARGEST = 16 * 2**20
STREAMS, CONNECTIONS = 1000, 20
MOST_BYTES, MOST_WAIT = 512 * 2**20, 0.5
COLUMNS = (20_000, 200_000)
CHECKS, LABELS = 24, 300_000
SECONDS = 3.0

BEFORE = {
    "half-sent calls": "3.4 GiB for 150 calls; the others waited until these ended",
    "a header of 20,000 columns": "680 MiB, 7 s",
    "a header of 200,000 columns": "4.8 GB",
    "checks of 6 MB": "2.1 GiB; the others waited 2.7 s",
}
"""Figures of commit 3e05db6, as issue 29 has them."""


@dataclass(slots=True)
class _Others:
    """The longest wait of a caller who asks for jobs all the time, and the memory that the server took meanwhile."""

    longest: float = 0.0
    grown: int = 0
    ends: Counter[str] = field(default_factory=Counter)


def pressure(streams: int = STREAMS, columns: tuple[int, ...] = COLUMNS, checks: int = CHECKS) -> Section:
    """Presses a fresh server each time."""
    CACHE.mkdir(exist_ok=True)
    half_sent = _measured(partial(_half_sent, streams))
    wide = {count: _measured(partial(_wide, count)) for count in columns}
    checked = _measured(partial(_checks, checks))
    rows = [
        _row("half-sent calls", half_sent),
        *(_row(f"a header of {count:,} columns", it) for count, it in wide.items()),
    ]
    met = half_sent.grown <= MOST_BYTES and half_sent.longest <= MOST_WAIT
    return Section(
        TITLE,
        (
            f"{streams:,} calls of a stranger over {CONNECTIONS} connections that announce 16 MiB each and never send "
            "the last byte; files of one line, loaded from a directory of the server; "
            f"{checks} checks by one caller at once of a policy of 6 MB. Another caller asks for jobs meanwhile.",
            table(
                ("", "memory, MiB", "longest wait of the other, s", "ends", "before"),
                [*rows, _row("checks of 6 MB", checked)],
            ),
            f"Half-sent calls: at most 512 MiB and 0.5 s: {verdict(met)}.",
        ),
        sound=all(found.ends["COLUMNS_TOO_MANY"] == 1 for found in wide.values()),
    )


def _row(name: str, found: _Others) -> list[str]:
    ends = ", ".join(f"{count} {end}" for end, count in found.ends.most_common())
    return [name, f"{found.grown / 2**20:,.0f}", f"{found.longest:.2f}", ends, BEFORE.get(name, "")]


def _measured(press: Callable[[Served, Path, Counter[str]], None]) -> _Others:
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        folder = Path(directory)
        (folder / "files").mkdir()
        with serving(folder / "pressed.duckdb", "--load-directory", str(folder / "files")) as server:
            found, before = _Others(), server.status("VmHWM")
            with asking(server, _token_of_another(server, folder)) as (seconds, failures):
                press(server, folder / "files", found.ends)
            found.longest, found.grown = max(seconds), server.status("VmHWM") - before
            assert not failures, failures[0]
    return found


def _token_of_another(server: Served, folder: Path) -> Path:
    file = folder / "token"
    file.touch(0o600)
    with Client(server.address, token_file=server.token_file) as admin:
        roles = [access_pb2.ACCESS_ROLE_OPERATOR]
        file.write_text(admin.create_token("other", "pressure", roles).secret)
    return file


def _half_sent(streams: int, server: Served, _: Path, ends: Counter[str]) -> None:
    with ExitStack() as opened:
        strangers = [opened.enter_context(Connection(server.address)) for _ in range(CONNECTIONS)]
        for number in range(streams):
            strangers[number % CONNECTIONS].call("/tableveil.v1.JobService/CheckPolicy", LARGEST)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if not sum(stranger.pump() for stranger in strangers):
                time.sleep(0.01)
        ends["open"] = sum(stranger.open for stranger in strangers)


def _wide(columns: int, server: Served, files: Path, ends: Counter[str]) -> None:
    (files / "wide.csv").write_text(",".join(f"c{number}" for number in range(columns)) + "\n")
    with Client(server.address, token_file=server.token_file) as client:
        _end(lambda: client.load_server_file("wide.csv", "wide"), ends)


def _checks(checks: int, server: Served, _: Path, ends: Counter[str]) -> None:
    policy = policy_pb2.Policy(source=policy_pb2.TableReference(schema="main", table="missing"))
    attribute = policy.attributes.add(column="zip", role=policy_pb2.ROLE_QUASI_IDENTIFIER)
    rows = (policy_pb2.HierarchyRow(labels=(f"{number:07}", "xxxx", "*")) for number in range(LABELS))
    attribute.hierarchy.inline.rows.extend(rows)
    with ExitStack() as opened:
        clients = [opened.enter_context(Client(server.address, token_file=server.token_file)) for _ in range(checks)]
        threads = [threading.Thread(target=_end, args=(partial(it.check_policy, policy), ends)) for it in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _end(call: Callable[[], object], ends: Counter[str]) -> None:
    try:
        call()
        ends["answered"] += 1
    except TableveilError as error:
        ends[error.code] += 1
