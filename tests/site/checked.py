"""Checks of the built site: its links and anchors lead somewhere, and nothing is loaded from another origin."""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "link": "href",
    "object": "data",
    "embed": "src",
}
"""The attributes by which a page loads something; `a` only leads there."""

IN_STYLES = re.compile(r"url\(\s*['\"]?(https?:)?//|@import\s+['\"]?(https?:)?//")
IN_SCRIPTS = re.compile(r"(?:fetch|importScripts|import)\(\s*['\"`](?:https?:)?//")


class _Page(HTMLParser):
    """The ids of a page, its links, and the addresses that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and (link := given.get("href")):
            self.links.append(link)
        if tag in LOADED and (address := given.get(LOADED[tag])) and given.get("rel") not in ("canonical", "edit"):
            self.loaded.append(address)


@cache
def _read(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def faults(site: Path) -> Iterator[str]:
    """Sentences about what is wrong with the site, whose folder may be a relative one."""
    site = site.resolve()
    for path in sorted(site.rglob("*.html")):
        page, name = _read(path), path.relative_to(site).as_posix()
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{name} loads {address}"
        if name != "404.html":
            yield from (f"{name}: {fault}" for link in page.links if (fault := _fault(path, link, site)))
    for path in sorted([*site.rglob("*.css"), *site.rglob("*.js")]):
        pattern = IN_STYLES if path.suffix == ".css" else IN_SCRIPTS
        if found := pattern.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site).as_posix()} loads {found.group()}…"


def _fault(path: Path, link: str, site: Path) -> str:
    """The fault of a link within the site; empty if there is none."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or not target.is_relative_to(site):
        return f"{link} leads nowhere"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in _read(target).ids:
        return f"{link} names no heading"
    return ""
