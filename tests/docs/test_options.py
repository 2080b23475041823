"""The operators' page names every option of the server."""

from __future__ import annotations

import re
from pathlib import Path

from tableveil.cli.serve import serve

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "operator.md"


def test_the_table_of_options_is_whole() -> None:
    (table,) = re.findall(r"^\| options \| are about \|\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    assert sorted(re.findall(r"`(--[a-z-]+)`", table)) == sorted(
        name for option in serve.params for name in option.opts
    )
