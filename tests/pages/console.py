"""The console in a browser, by keyboard alone: a steward's path from a messy file to a release, and its approval."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.journeys.steward import write_file
from tableveil.client import Client
from tableveil.identity.secret import token_file
from tableveil.v1 import access_pb2
from tests.pages.seen import CLIPPED, inaccessible
from tests.running import running

WIDTHS = (360, 768, 1440)
MOST_STEPS = 25
_LARGEST = 200_000
_SECONDS = 300
_SEED = 7
_TABS = 150
_NOTE = "Read the report"


def walked(browser: Browser, axe: str, pictures: Path) -> Iterator[str]:
    """Sentences about what is wrong with the pages, or with the path; pictures of each page go into a folder."""
    with TemporaryDirectory() as directory, _console(Path(directory)) as (address, steward, approver, file):
        walk = _Walk(browser, address, axe, pictures)
        walk.sign_in(steward)
        walk.release(file)
        if walk.steps > MOST_STEPS:
            walk.faults.append(f"the path takes {walk.steps} clicks and fields, more than {MOST_STEPS}")
        print(f"console: {walk.steps} clicks and fields from the messy file to the promoted release")
        walk.page.context.close()
        judge = _Walk(browser, address, axe, pictures)
        judge.sign_in(approver)
        judge.approve()
        judge.page.context.close()
        yield from (f"console: {fault}" for fault in (*walk.faults, *judge.faults))


class _Walk:
    """A visitor at the keyboard."""

    def __init__(self, browser: Browser, address: str, axe: str, pictures: Path) -> None:
        self.page: Page = browser.new_context(viewport={"width": WIDTHS[-1], "height": 900}).new_page()
        self.faults: list[str] = []
        self.steps = 0
        self._address, self._axe, self._pictures = address, axe, pictures
        self._bytes = 0
        self.page.on("console", lambda said: self.faults.append(f"{self.page.url}: {said.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.page.url}: {error}"))
        self.page.on("response", self._count)

    def sign_in(self, token: str) -> None:
        """Signs in by a token."""
        self.page.goto(self._address)
        self._look("sign-in")
        self._type("#token", token)
        self._press("form[action='/sign-in'] button")
        self.page.wait_for_url("**/releases")
        # Nothing comes from a cache yet but what the first page brought.
        if self._bytes > _LARGEST:
            self.faults.append(f"the first pages have {self._bytes:,} bytes")

    def release(self, file: Path) -> None:
        """From a file to a promoted release that waits for its approver."""
        self.steps = 0
        self._press("a[href='/tables']")
        self._press("a[href='/tables/upload']")
        self._look("upload", "#file")
        self._type("#table", "visits")
        self.page.set_input_files("#file", str(file))
        self.steps += 1
        self._press("main button.main")
        self._look("preview", "button[value=load]")
        self._press("button[value=load]")
        self.page.wait_for_selector("[aria-invalid=true]", timeout=1000 * _SECONDS)
        self._look("rejected")
        self._type("#max_rejected", "5")
        self._press("button[value=load]")
        self.page.wait_for_selector("text=Look at", timeout=1000 * _SECONDS)
        self._look("loaded")
        self._press("main a[href^='/tables/one']")
        self.page.wait_for_selector("[hx-get] dl", timeout=1000 * _SECONDS)
        self._look("table")
        self._press("main button.main")
        self._press("summary")
        self.page.wait_for_selector("text=level 1", timeout=1000 * _SECONDS)
        # The key down chooses the second radio button: a column numbers people; known recipients.
        self._choose("input[name=person]", "ArrowDown")
        self._choose("select[name=person_column]", "p", "a", "t")
        self._choose("input[name=readers]", "ArrowDown")
        self._look("decide", "text=level 1")
        self._press("button[value=propose]")
        self._look("job", "text=jobs/")
        self._ended()
        self._look("compare", "form[action$='/choose']")
        self._press("form[action$='/repair'] button")
        self._ended()
        self._look("repaired", "form[action$='/choose']")
        self._press("button[name=alternative]")
        self._look("release", "form[action$='/rehearse']")
        self._press("form[action$='/rehearse'] button")
        self._ended()
        self.page.wait_for_selector("text=of the rows")
        self._look("dry-run")
        self._press("a[href$='/release']")
        self._press("form[action$='/submit'] button[value=trial]")
        self._ended()
        self._look("trial", "form[action$='/promote']")
        self._press("form[action$='/promote'] button.main")
        self.page.wait_for_selector("text=pending, made")
        self._look("promoted")

    def approve(self) -> None:
        """Reads what waits, and approves it."""
        self._press("a[href='/approvals']")
        self._look("approvals", "text=Releases that wait")
        self._press("tbody a")
        self._look("pending", "#note")
        self._type("#note", _NOTE)
        self._press("form[action$='/approve'] button.main")
        self.page.wait_for_selector(f"text={_NOTE}")
        self._look("approved")
        self._press("details[hx-get$='/questions'] summary")
        self.page.wait_for_selector("pre")
        self._look("questions")

    def _ended(self) -> None:
        self.page.wait_for_selector("a:has-text('Go on')", timeout=1000 * _SECONDS)
        self._press("main a[href]:has-text('Go on')", "main p a")

    def _type(self, selector: str, text: str) -> None:
        self._to(selector)
        self.page.keyboard.type(text)
        self.steps += 1

    def _choose(self, selector: str, *keys: str) -> None:
        self._to(selector)
        for key in keys:
            self.page.keyboard.press(key)
        self.steps += 1

    def _press(self, selector: str, matched: str = "") -> None:
        self.page.wait_for_selector(selector)
        self._to(matched or selector)
        self.page.keyboard.press("Enter")
        self.page.wait_for_load_state()
        self.steps += 1

    def _to(self, selector: str) -> None:
        """Goes on by the tabulator until it is there."""
        for _ in range(_TABS):
            if self.page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
            self.page.keyboard.press("Tab")
        self.faults.append(f"{self.page.url}: the keyboard does not reach {selector}")
        self.page.focus(selector)

    def _look(self, name: str, arrived: str = "h1") -> None:
        """Takes pictures once the page has what tells it from the one before."""
        self.page.wait_for_selector(arrived, timeout=1000 * _SECONDS)
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme="dark" if width == WIDTHS[0] else "light")
            clipped: list[str] = self.page.evaluate(CLIPPED)
            self.faults += [f"{name}, {width} pixels: {fault}" for fault in clipped]
            self.faults += [f"{name}, {width} pixels: {fault}" for fault in inaccessible(self.page, self._axe)]
            self.page.screenshot(path=self._pictures / f"console-{name}-{width}.png", full_page=True)

    def _count(self, response: Any) -> None:
        self._bytes += int(response.headers.get("content-length", 0))


@contextmanager
def _console(place: Path) -> Iterator[tuple[str, str, str, Path]]:
    """A console of a new server whose releases need approval; tokens of a steward and an approver; a file."""
    database = place / "clinic.duckdb"
    with (
        running(
            "serve", "--database", str(database), "--address", "127.0.0.1:0", "--needs-approval", "main"
        ) as service,
        running("console", "--service", service, "--address", "127.0.0.1:0") as address,
    ):
        with Client(service, token_file=token_file(database)) as admin:
            tokens = [admin.create_token(who, "pages", [role]).secret for who, role in _ROLES.items()]
        file = place / "besuche.csv"
        write_file(file, _SEED)
        yield address, tokens[0], tokens[1], file


_ROLES = {"steward": access_pb2.ACCESS_ROLE_STEWARD, "approver": access_pb2.ACCESS_ROLE_APPROVER}
