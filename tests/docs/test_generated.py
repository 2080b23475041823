"""The generated pages of the reference are those that `make reference` writes now, and leave nothing out."""

import importlib.util
import re
from pathlib import Path

import pytest

from tableveil.cli.commands import COMMANDS
from tableveil.cli.serve import serve
from tableveil.errors.codes import CODES, TOPICS
from tableveil.server.call import declared
from tableveil.server.services import DESCRIPTORS
from tests.reference import notebook
from tests.reference.__main__ import main
from tests.reference.raised import raised

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.skipif(not importlib.util.find_spec("grpc_tools"), reason="needs grpcio-tools, of the extra `lint`")
def test_the_pages_are_up_to_date(tmp_path: Path) -> None:
    main(tmp_path)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert len(written) == 8
    stale = [name for name in written if (tmp_path / name).read_text(encoding="utf-8") != page(name)]
    assert not stale, "run `make reference`"


def test_the_notebook_is_the_page() -> None:
    assert notebook.NOTEBOOK.read_text(encoding="utf-8") == notebook.notebook(), "run `make reference`"


def test_every_code_that_is_raised_is_explained_once() -> None:
    assert set(raised()) == set(CODES)
    assert len(CODES) == sum(map(len, TOPICS.values()))
    assert set(re.findall(r"^### ([A-Z_]+)$", page("errors.md"), re.M)) == set(CODES)
    for explained in CODES.values():
        assert explained.cause.endswith(".")
        assert explained.remedy.endswith(".")


def test_every_command_option_and_method_is_there() -> None:
    assert set(COMMANDS) <= set(re.findall(r"^### (.+)$", page("commands.md"), re.M))
    options = page("configuration.md").partition("\n## serve\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(--[a-z-]+)` \|", options, re.M)
    assert listed == [option.opts[0] for option in serve.params]


def test_every_method_has_its_roles() -> None:
    for service in DESCRIPTORS:
        section = page("rpcs.md").partition(f"\n## {service.name}\n")[2].partition("\n## ")[0]
        listed = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \|", section, re.M)
        wanted = [
            (
                method.rpartition("/")[2],
                ", ".join(sorted(access.roles)).lower() + " of the whole server" * access.whole_server,
            )
            for method, access in declared([service]).items()
        ]
        assert listed == wanted, service.name
