"""The report of a release beside its utility report, in CPU seconds of the whole process, and its size and layout."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb

from benchmarks.discharges import SEED, TABLE, demo_policy
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.cli.own_server import client_of_own_server
from tableveil.client import Client
from tableveil.demo import create_discharges
from tableveil.v1 import policy_pb2
from tableveil.v1.utility_service_pb2 import SubmitUtilityReportRequest, UtilityRequest
from tests.service.convert.policy_to_proto import policy_to_proto

MOST_SECONDS_OF_LAYOUT = 2.0
MOST_TIMES, MOST_BYTES, COLUMNS, ROWS_OF_MANY_COLUMNS = 1.5, 2 * 10**6, 60, 20_000

T = TypeVar("T")


def report(rows: int) -> Section:
    """The report of a release of so many rows, and of one with many columns."""
    with tempfile.TemporaryDirectory(prefix="tableveil-bench-") as directory:
        path = Path(directory) / "bench.duckdb"
        with duckdb.connect(str(path)) as connection:
            create_discharges(connection, TABLE, rows, SEED)
            named = ", ".join(f"(hash(i, {c}) % {c + 2})::INTEGER AS column_{c}" for c in range(COLUMNS))
            connection.execute(f"CREATE TABLE many AS SELECT {named} FROM range({ROWS_OF_MANY_COLUMNS}) r(i)")
        with client_of_own_server(path) as client:
            job, _ = _timed(lambda: client.wait(client.submit(policy_to_proto(demo_policy())).name))
            # The server makes the checksum once the release stands.
            of_rows, _ = _timed(_wait_until_idle)
            of_utility, _ = _timed(lambda: _utility(client, "releases/1"))
            first, document = _timed(lambda: client.get_report("1"))
            again, _ = _timed(lambda: client.get_report("1"))
            client.wait(client.submit(_many()).name)
            _utility(client, "releases/2")
            wide, of_many = _timed(lambda: client.get_report("2"))
        layouts = [_layout(Path(directory), found.content) for found in (document, of_many)]
    sizes = len(document.content), len(of_many.content)
    times = (first + of_rows) / of_utility
    measured = [
        ("the job", f"{job:.1f}", ""),
        ("checksum of the rows", f"{of_rows:.1f}, {of_rows / job:.0%} of the job", ""),
        ("utility report", f"{of_utility:.1f}", ""),
        ("report", f"{first:.1f}", ""),
        ("report and checksum / utility report", f"{times:.2f} x", verdict(times <= MOST_TIMES)),
        ("report once more", f"{again:.2f}", ""),
        (f"report of {COLUMNS} columns", f"{wide:.2f}", ""),
        ("size, kB", f"{sizes[0] / 1000:.0f}", verdict(sizes[0] <= MOST_BYTES)),
        (f"size of {COLUMNS} columns, kB", f"{sizes[1] / 1000:.0f}", verdict(sizes[1] <= MOST_BYTES)),
        *(
            (f"layout in Chromium, {name}", f"{seconds:.2f}", verdict(seconds <= MOST_SECONDS_OF_LAYOUT))
            for name, seconds in zip((f"{rows:,} records", f"{COLUMNS} columns"), layouts, strict=True)
            if seconds is not None
        ),
    ]
    goal = f"Goals: at most {MOST_TIMES} times the utility report of the release of {rows:,} records, and 2 MB."
    lines = (goal, table(("CPU seconds of all threads", "measured", "goal"), measured))
    return Section("Reports", lines, max(sizes) <= MOST_BYTES)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _wait_until_idle() -> None:
    """Returns once the process has done next to nothing for some seconds."""
    quiet = 0
    while quiet < 5:
        before = time.process_time()
        time.sleep(1)
        quiet = quiet + 1 if time.process_time() - before < 0.02 else 0


def _layout(folder: Path, content: bytes) -> float | None:
    """Seconds of layout and style in Chromium; None where there is none, or no Playwright (the extra `browser`)."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    (folder / "page.html").write_bytes(content)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        session = page.context.new_cdp_session(page)
        # Only what comes later is counted.
        session.send("Performance.enable")
        page.goto((folder / "page.html").as_uri())
        found = {one["name"]: float(one["value"]) for one in session.send("Performance.getMetrics")["metrics"]}
        browser.close()
    return found["LayoutDuration"] + found["RecalcStyleDuration"]


def _utility(client: Client, release: str) -> None:
    asked = SubmitUtilityReportRequest(utility=UtilityRequest(release=release))
    client.wait(client.submit_analysis(asked).name)


def _many() -> policy_pb2.Policy:
    """Eight quasi-identifiers, and all other columns as they are."""
    policy = policy_pb2.Policy(rows_are_people=True, suppression_limit="1", default_role=policy_pb2.ROLE_SENSITIVE)
    policy.source.table, policy.release.name = "many", "many_released"
    for column in range(8):
        attribute = policy.attributes.add(column=f"column_{column}", role=policy_pb2.ROLE_QUASI_IDENTIFIER)
        attribute.hierarchy.suppression_only.SetInParent()
    policy.privacy_models.add().k_anonymity.k = 5
    return policy
