"""Builds the site of the docs without a network: the pages as they stand, with README as its first page."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/tableveil/tableveil/blob/main/"
GUIDES = ("steward", "python", "analyst", "operator", "developer")

CONFIGURATION = """\
[project]
site_name = "Tableveil"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = [
  {Home = "index.md"},
  {Concepts = "concepts.md"},
  {Guides = [GUIDES]},
  {Reference = [REFERENCE]},
  {Explanations = [EXPLANATIONS]},
  {Peers = "peers.md"},
  {Changes = "changelog.md"},
]

[project.theme]
language = "en"
# Fonts would come from another origin.
font = false
features = ["content.code.copy", "navigation.footer", "navigation.tabs", "navigation.top", "search.highlight"]
palette = [
  {media = "(prefers-color-scheme: light)", scheme = "default"},
  {media = "(prefers-color-scheme: dark)", scheme = "slate"},
]

[project.extra]
generator = false
"""

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)|!\[([^\]]*)\]\(([^()\s]+)\)")


def installed() -> bool:
    """Whether Zensical is installed: the extra `docs`."""
    return importlib.util.find_spec("zensical") is not None


def build(target: Path) -> None:
    """Builds the site into a folder that is not there yet.

    Raises:
        subprocess.CalledProcessError: a link of a page leads nowhere, or the build failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        docs = work / "docs"
        shutil.copytree(ROOT / "docs", docs)
        shutil.copy(ROOT / "README.md", docs / "index.md")
        shutil.copy(ROOT / "CHANGELOG.md", docs / "changelog.md")
        for page in docs.rglob("*.md"):
            page.write_text(rewritten(page, docs), encoding="utf-8")
        configuration = CONFIGURATION
        for section in ("guides", "reference", "explanations"):
            pages = ", ".join(f'"{section}/{name}.md"' for name in _order(docs / section))
            configuration = configuration.replace(section.upper(), pages)
        (work / "zensical.toml").write_text(configuration, encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        subprocess.run(command, cwd=work, check=True, env={**os.environ, "NO_COLOR": "1"})
        shutil.copytree(work / "site", target)


def _order(folder: Path) -> Iterator[str]:
    names = {page.stem for page in folder.glob("*.md")}
    first = [name for name in GUIDES if name in names]
    return iter([*first, *sorted(names - {*first})])


def rewritten(page: Path, docs: Path) -> str:
    """The page with its links as the site has them; a file outside of the docs is in the repository."""
    moved = {"index.md": ROOT / "README.md", "changelog.md": ROOT / "CHANGELOG.md"}
    name = page.relative_to(docs).as_posix()
    origin = moved.get(name, ROOT / "docs" / name)

    def link(match: re.Match[str]) -> str:
        text, target, picture, source = match.groups()
        if picture is not None:
            return f"![{picture}]({_target(source, origin, name)})"
        return f"[{LINK.sub(link, text)}]({_target(target, origin, name)})"

    return LINK.sub(link, page.read_text(encoding="utf-8"))


def _target(link: str, origin: Path, name: str) -> str:
    path, hash_, anchor = link.partition("#")
    if "://" in link or not path:
        return link
    place = (origin.parent / path).resolve().relative_to(ROOT).as_posix()
    inside = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}.get(place, place.removeprefix("docs/"))
    if inside == place:
        return f"{REPOSITORY}{place}{hash_}{anchor}"
    return os.path.relpath(inside, Path(name).parent) + hash_ + anchor
