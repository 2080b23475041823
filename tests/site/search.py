"""Asks the search of the built site for tasks in Chromium: `python -m tests.site.search FOLDER`.

A task is in the words of a user. Its page has to be among the first three hits.
"""

import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

FIRST = 3
PATIENCE = 40
"""Looks at the hits, a fifth of a second apart."""

TASKS: Mapping[str, str] = {
    "my release lost a column": "reference/policy",
    "restore yesterday": "guides/operator",
    "my token is refused": "reference/doors",
    "nothing meets my policy": "explanations/infeasible",
    "load a messy csv file": "reference/loading",
    "erase a person": "reference/loading",
    "withdraw a release": "guides/operator",
    "publish to postgresql": "reference/publishing",
    "another person approves": "reference/doors",
    "disk is full": "guides/operator",
    "upgrade the server": "guides/operator",
    "renew the certificate": "reference/doors",
    "what is k-anonymity": "concepts",
    "first release of a file": "guides/steward",
    "next month's rows": "guides/steward",
    "generalize dates": "reference/hierarchies",
    "zip codes": "reference/hierarchies",
    "safe harbor": "reference/hierarchies",
    "several rows of a person": "explanations/people",
    "release the same people again": "explanations/together",
    "airflow": "reference/etl",
    "run without a server": "reference/etl",
    "exit code 7": "reference/commands",
    "TARGET_EXISTS": "reference/errors",
    "client in node": "reference/grpc",
    "data frame in a notebook": "guides/python",
    "verify the audit": "reference/audit",
    "prometheus": "reference/metrics",
    "concurrent jobs option": "reference/configuration",
    "draft a policy": "reference/drafts",
    "meaning of a label": "guides/analyst",
    "connect by flight sql": "guides/analyst",
    "usefulness of a release": "explanations/utility",
    "risk of re-identification": "explanations/risk",
    "spark": "explanations/scale",
    "privacy budget": "explanations/differential_privacy",
    "add a privacy model": "guides/developer",
    "not promised": "explanations/threats",
    "compared with arx": "peers",
    "create anonymized table": "reference/statements",
    "report for the data protection officer": "reference/report",
    "lost admin token": "reference/doors",
    "grant a role to an analyst": "reference/doors",
    "openid connect login": "reference/doors",
    "job waits in the queue": "guides/operator",
    "certificate expired": "guides/operator",
    "backup every night": "guides/operator",
    "kubernetes": "guides/operator",
    "withdrawn release still counts": "guides/operator",
    "out of memory": "reference/errors",
    "change a hierarchy": "reference/hierarchies",
    "top coding of ages": "reference/hierarchies",
    "suppressed records": "reference/policy",
    "weights of columns": "reference/policy",
    "guard against empty extract": "reference/etl",
    "rotate audit file": "reference/audit",
}
"""By task, the page that helps."""


def main(site: Path) -> int:
    """Prints each task with the place of its page among the hits; 1 if one misses."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no Chromium: nothing was searched.")
        return 0
    missed = 0
    with served(site) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        elsewhere: list[str] = []
        page.on("request", lambda asked: None if asked.url.startswith(address) else elsewhere.append(asked.url))
        for task, wanted in TASKS.items():
            found = hits(page, address, task)
            place = found.index(wanted) + 1 if wanted in found else 0
            missed += not 0 < place <= FIRST
            first = ", ".join(found[:FIRST])
            print(
                f"{'hit ' if 0 < place <= FIRST else 'MISS'} {place or '-':>2}  {task}: {wanted} [{first}]", flush=True
            )
        browser.close()
    print(*(f"another origin: {url}" for url in elsewhere), sep="\n", end="\n" if elsewhere else "")
    print(f"{len(TASKS) - missed} of {len(TASKS)} tasks lead to their page among the first {FIRST} hits")
    return 1 if missed or elsewhere else 0


def hits(page: Page, address: str, task: str) -> list[str]:
    """The pages of the hits in their order, as the search of the site shows them: a hit is a section of a page."""
    page.goto(f"{address}/index.html")
    page.locator(".md-search__button").click()
    page.keyboard.type(task)
    links = page.locator('a[href*="?h="]')
    # The search works while one types. It says nothing when it is done, and has done nothing for a moment then.
    seen: list[str] = []
    for _ in range(PATIENCE):
        page.wait_for_timeout(200)
        shown = links.evaluate_all("links => links.map(link => link.href)")
        if shown and shown == seen:
            break
        seen = shown
    return [urlsplit(link).path.strip("/").removesuffix(".html") for link in seen]


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serves the folder on this machine; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
