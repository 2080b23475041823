"""Commands that only ask the server start without what takes long to load."""

import subprocess
import sys

from tableveil.cli.commands import COMMANDS

SLOW = ("numpy", "duckdb", "pyarrow", "sqlglot", "jinja2")
ON_THEIR_OWN = {"demo", "run", "serve", "endpoint", "console", "restore", "load", "query"}
"""They read or write tables, or serve: they need what they load."""


def test_no_command_loads_what_only_a_server_needs() -> None:
    modules = sorted({f"tableveil.cli.{COMMANDS[name].module}" for name in COMMANDS.keys() - ON_THEIR_OWN})
    program = (
        f"import sys, importlib\n"
        f"for name in {modules!r}:\n"
        f"    importlib.import_module(name)\n"
        f"    slow = sys.modules.keys() & {set(SLOW)!r}\n"
        f"    assert not slow, (name, slow)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
