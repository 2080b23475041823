"""The commands and snippets of the README and docs/, as their readers find them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A command may go on in the next line, and end with a comment; what it prints may follow.
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*?)(?: +# .*)?\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    """A block of a page, or one command of a block, and where its block begins; a command may show what it prints."""

    place: str
    language: str
    text: str
    shown: str = ""


def snippets(page: str) -> Iterator[Snippet]:
    """The page's commands and other blocks, from top to bottom."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        language, content = block.groups()
        place = f"{page}:{text.count(chr(10), 0, block.start()) + 1}"
        if language == "console":
            yield from (Snippet(place, language, *found) for found in _COMMAND.findall(content))
        else:
            yield Snippet(place, language, content)
