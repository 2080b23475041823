"""The notebook of examples: the blocks of the page on Python as cells, and its text between them."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "python.md"
NOTEBOOK = ROOT / "examples" / "python" / "ten_minutes.ipynb"

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()[^):#]+")


def notebook() -> str:
    """The notebook as its file has it, without outputs."""
    language = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    document = {"cells": list(_cells()), "metadata": language, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def code() -> Iterator[str]:
    """The cells of code in the file."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def _cells() -> Iterator[dict[str, Any]]:
    # Splitting by a pattern with a group gives the texts between its matches, and the groups.
    for number, part in enumerate(_BLOCK.split(PAGE.read_text(encoding="utf-8"))):
        kind = ("markdown", "code")[number % 2]
        text = part.strip() if kind == "code" else _LINK.sub(_moved, part.strip())
        if text:
            outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
            source = text.splitlines(keepends=True)
            yield {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source, **outputs}


def _moved(link: re.Match[str]) -> str:
    return os.path.relpath(PAGE.parent / link[0], NOTEBOOK.parent)
