"""The templates of all pages, and the values that each of them may use."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from tableveil import wording

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST_WORD = 14
"""Characters of the longest word that a column of a table keeps whole."""

_PERCENT = re.compile(r"(?<=\d) %")
_WORDS = re.compile(r"[\s-]")


@cache
def environment(package: str = "tableveil.pages") -> Environment:
    """Finds templates in a package's folder `templates`, then in the one here; all texts are escaped and printable.

    A page extends `base.html` and fills its blocks; the macros in `parts.html` make tables and charts.
    """
    # Commands load this module, and few of them write a page.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, "tableveil.pages"))]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    stylesheet = files("tableveil.pages").joinpath("templates", "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(stylesheet.encode()).digest()).decode()
    made.tests["fitting"] = _fits
    made.globals["stylesheet"] = Markup(stylesheet)
    # Only this stylesheet applies, and nothing is loaded, even if a text of a table got into the page as markup.
    made.globals["content_security_policy"] = (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return made


def _printable(value: object) -> object:
    """Escapes for the characters of a text that would be hidden, or reverse the text around them.

    No line ends between a number and its unit.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", wording.printable(value))


def _fits(text: str) -> bool:
    """Whether the words of a text are so short that none has to be broken in a column of a table."""
    return all(len(word) <= LONGEST_WORD for word in _WORDS.split(text))
