"""The diagrams of boxes and arrows, which D2 lays out from `tests/pictures/d2`; it needs no network."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SOURCES = Path(__file__).parent / "d2"
LIGHT, DARK = "0", "200"
"""Themes of D2."""

SCALE = "0.7"


def d2() -> str | None:
    """The program, if it is installed: beside this Python, or on the path."""
    return shutil.which("d2", path=str(Path(sys.executable).parent)) or shutil.which("d2")


def diagrams() -> Mapping[str, str]:
    """The SVG of each source, by its name."""
    return {source.stem: _rendered(source) for source in sorted(SOURCES.glob("*.d2"))}


def _rendered(source: Path) -> str:
    program = d2()
    assert program is not None, "D2 is missing: pip install -e '.[dev]'"
    text = "vars: {d2-config: {layout-engine: elk}}\nstyle.fill: transparent\n" + source.read_text(encoding="utf-8")
    options = (
        "--theme",
        LIGHT,
        "--dark-theme",
        DARK,
        "--pad",
        "12",
        "--scale",
        SCALE,
        "--no-xml-tag",
        "--omit-version",
    )
    done = subprocess.run(
        [program, *options, "-", "-"], input=text, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout
