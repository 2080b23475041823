"""A page as a browser shows it, measured in its document, at three widths, in light and dark, and in print."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, ConsoleMessage, Page, Request

WIDTHS = (400, 768, 1280)
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
LARGEST = 2_000_000
SECONDS_OF_LAYOUT = 2.0

# Every element must lie within the window, unless it is in a part that scrolls. A text of a chart must lie within the
# chart, and no box may hide a part of its content.
CLIPPED = """() => {
  const found = [], width = document.documentElement.clientWidth;
  const needed = document.documentElement.scrollWidth;
  if (needed > width) found.push(`the page is ${needed} wide`);
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect(), look = getComputedStyle(element);
    if (!box.width || element.closest(".skip, thead, .matrix, pre")) continue;
    const name = `${element.tagName} ${(element.textContent || "").trim().slice(0, 40)}`;
    const drawing = element.ownerSVGElement;
    if (drawing) {
      const frame = drawing.getBoundingClientRect();
      if (element.tagName === "text" && (box.left < frame.left - 1 || box.right > frame.right + 1
          || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)) found.push(`cut off in its chart: ${name}`);
      continue;
    }
    if (box.left < -1 || box.right > width + 1) found.push(`outside the window: ${name}`);
    if (look.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1) found.push(`hidden: ${name}`);
    if (element.tagName !== "svg" && element.scrollWidth > element.clientWidth + 2 && look.display !== "inline")
      found.push(`wider than its place: ${name}`);
  }
  return found.slice(0, 10);
}"""


def faults(browser: Browser, path: Path, axe: str, pictures: Path) -> Iterator[str]:
    """Sentences about what is wrong with the page; its pictures go into a folder."""
    if path.stat().st_size > LARGEST:
        yield f"{path.name}: {path.stat().st_size:,} bytes"
    for width in WIDTHS:
        for scheme in SCHEMES:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            said: list[str] = []
            page.on("console", partial(_note_message, said))
            page.on("request", partial(_note_request, said, path))
            seconds = _layout(page, path)
            found = [*said, *page.evaluate(CLIPPED)]
            # Colours and places differ between these two, and nothing else does.
            if (width, scheme) in ((WIDTHS[0], "dark"), (WIDTHS[-1], "light")):
                found += inaccessible(page, axe)
            if seconds > SECONDS_OF_LAYOUT:
                found.append(f"{seconds:.1f} seconds of layout")
            page.screenshot(path=pictures / f"{path.stem}-{width}-{scheme}.png", full_page=True)
            if scheme == "light" and width == WIDTHS[-1]:
                for paper in ("A4", "Letter"):
                    page.pdf(path=pictures / f"{path.stem}-{paper}.pdf", format=paper)
            page.close()
            yield from (f"{path.name}, {width} pixels, {scheme}: {fault}" for fault in found)


def _note_message(said: list[str], message: ConsoleMessage) -> None:
    said.append(message.text)


def _note_request(said: list[str], path: Path, asked: Request) -> None:
    if asked.url != path.as_uri():
        said.append(f"it asks for {asked.url}")


def _layout(page: Page, path: Path) -> float:
    """Opens the page; seconds of layout and style."""
    session = page.context.new_cdp_session(page)
    # Only what comes later is counted.
    session.send("Performance.enable")
    page.goto(path.as_uri())
    measured = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(measured["LayoutDuration"] + measured["RecalcStyleDuration"])


def inaccessible(page: Page, axe: str) -> Iterator[str]:
    """The faults that axe-core sees for screen readers, from moderate on."""
    page.evaluate(axe)
    rules = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}}
    found: dict[str, Any] = page.evaluate("(rules) => axe.run(document, rules)", rules)
    for violation in found["violations"]:
        if violation["impact"] in ("serious", "critical", "moderate"):
            yield f"{violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:200]}"
