"""Writes what is generated: `python -m tests.reference [another folder for the pages]`, or `make reference`.

These are pages of docs/reference, and the notebook of examples.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import reference

from tests.reference import commands, configuration, errors, metrics, models, notebook, objects, rpcs

TARGET = Path(__file__).parents[2] / "docs" / "reference"

PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "commands.md": commands.page,
    "configuration.md": configuration.page,
    "errors.md": errors.page,
    "metrics.md": metrics.page,
    "models.md": models.page,
    "objects.md": objects.page,
    "rpcs.md": rpcs.page,
}


def main(folder: Path) -> None:
    """Writes all of them, each from what the code declares."""
    for name, page in PAGES.items():
        (folder / name).write_text("\n".join(page()).rstrip("\n") + "\n", encoding="utf-8")
    reference.main(folder / "policy_fields.md")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
    notebook.NOTEBOOK.write_text(notebook.notebook(), encoding="utf-8")
