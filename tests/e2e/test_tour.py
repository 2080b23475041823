"""Walks the README, the tour and then docs/, command by command and snippet by snippet, in a directory of its own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.e2e.forked import Command
from tests.e2e.process import Serve, ServerProcess
from tests.e2e.snippets import ROOT, Snippet, snippets
from tests.file_modes import open_to_others

pytestmark = pytest.mark.long

PAGES = (
    "README.md",
    "docs/guides/steward.md",
    "docs/concepts.md",
    "docs/reference/loading.md",
    "docs/reference/drafts.md",
    "docs/reference/hierarchies.md",
    "docs/explanations/risk.md",
    "docs/explanations/utility.md",
    "docs/explanations/classification.md",
    "docs/explanations/frontier.md",
    "docs/explanations/game.md",
    "docs/explanations/infeasible.md",
    "docs/explanations/related_tables.md",
    "docs/reference/etl.md",
)
"""In the order in which the tour names them; each goes on where the one before it ended."""

STAND_INS = {
    "make demo": "tableveil demo --rows 800",
    "tableveil propose visits": "tableveil propose visits --seconds 5",
    (
        "tableveil propose --query visits-repaired.sql --output visits --overwrite"
        " --keep zip --leave-out ward --leave-out weight \\\n"
        '  --readers contract --documentation purpose="Planning of beds"'
        ' --documentation recipient="The planning office"'
    ): (
        "tableveil propose --query visits-repaired.sql --output visits --overwrite"
        " --keep zip --leave-out ward --leave-out weight --seconds 20 --readers contract"
        ' --documentation purpose="Planning of beds"'
    ),
    ("tableveil submit visits.yaml --release-name visits_january --trial --wait"): (
        "tableveil submit visits.yaml --release-name visits_january --trial --wait --set search.time_limit_seconds=3"
    ),
    (
        "tableveil submit visits.yaml --release-name visits_february"
        ' --repeat-reason "other readers, who may not have January" --wait'
    ): (
        "tableveil submit visits.yaml --release-name visits_february"
        ' --repeat-reason "other readers, who may not have January" --wait --set search.time_limit_seconds=3'
    ),
    "tableveil sweep game.yaml --gains 0..2000/500 --chart payouts.html": (
        "tableveil sweep game.yaml --gains 0..500/500 --chart payouts.html"
    ),
    "tableveil sweep game.yaml --gains 0,100,300,1000,2000 --chart sweep.html": (
        "tableveil sweep game.yaml --gains 300,2000 --chart sweep.html"
    ),
    "tableveil classify releases/4 --class diagnosis --html diagnosis.html": (
        "tableveil classify releases/4 --class diagnosis --folds 2 --html diagnosis.html"
    ),
}
"""Quicker commands with an equal effect."""

ELSEWHERE = {
    "make test": "these are the tests",
    "source .venv/bin/activate": "the tests run in such an environment",
    "python -m venv dagster && dagster/bin/pip install . --requirement examples/dagster/requirements.txt": "CI",
    "tableveil serve --database tableveil-demo/clinic.duckdb &": "CI",
    "dagster/bin/python -c \"import duckdb; duckdb.connect('tableveil-demo/clinic.duckdb').sql("
    "'COPY discharges TO \\'examples/dagster/discharges.parquet\\'')\"": "CI",
    "dagster/bin/pip install dagster-webserver": "CI",
    "cd examples/dagster && ../../dagster/bin/dagster dev --python-file released_discharges.py": "CI",
}
"""Snippets that do not run in the tour, with the reason."""

EXIT_CODES = {
    "tableveil load january.csv visits": 2,
    "tableveil submit visits.yaml --release-name visits_february --wait": 2,
    "tableveil submit tableveil-demo/policy.yaml --wait": 6,
    "tableveil check-policy draft.yaml": 2,
    "tableveil submit strict.yaml --wait": 3,
}
"""Exit codes of commands that the pages describe as refused."""

AFTER_A_STOP = {"mkdir hospital && mv hospital.duckdb* .hospital.duckdb.* hospital"}
"""Commands before which the reader stops the server, as the page says."""

WORD = re.compile(r"[A-Za-z_-]{3,}")
"""The output of a command is held against what its page shows by words: numbers and widths depend on the rows."""

SHOWS_LESS = {
    "tableveil sweep game.yaml --gains 0,100,300,1000,2000 --chart sweep.html",
    "tableveil submit strict.yaml --wait",
}
"""Commands that print fewer words here than on their page: of a stand-in, or of a table with fewer rows."""

NO_TOKEN = {"TABLEVEIL_TOKEN": ""}
"""Readers have the token of the demo's folder only."""


class Reader:
    """A reader who types the pages' commands, in one directory."""

    def __init__(self, directory: Path, serve: Serve) -> None:
        self.directory = directory
        self.server: ServerProcess | None = None
        self._serve = serve

    @property
    def address(self) -> str:
        """The address of the server."""
        assert self.server is not None, "no server was started yet"
        return self.server.address

    def read(self, page: str) -> None:
        """Runs everything on the page."""
        for snippet in snippets(page):
            if snippet.language == "console" and snippet.text not in ELSEWHERE:
                self._type(snippet)

    def run(self, command: str, exit_code: int = 0) -> str:
        """The output of a command; both streams, as a terminal shows them."""
        environment = {"TABLEVEIL_SERVER": self.address} if self.server else {}
        environment |= NO_TOKEN
        if command.startswith("tableveil "):
            words = shlex.split(command.replace("\\\n", " "), comments=True)[1:]
            code, said = Command(*words, directory=self.directory, environment=environment).ended()
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.directory,
                env={**os.environ, "PATH": path, **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
            )
            code, said = done.returncode, done.stdout
        assert code == exit_code, f"{command}\n{said}"
        return said

    def _type(self, snippet: Snippet) -> None:
        command = STAND_INS.get(snippet.text, snippet.text)
        if command in AFTER_A_STOP and self.server is not None:
            assert self.server.terminate() == 0
            self.server = None
        if command.startswith("tableveil serve --database "):
            self.server = self._serve(self.directory / command.split()[3])
        else:
            said = self.run(command, EXIT_CODES.get(command, 0))
            shown = "" if snippet.text in SHOWS_LESS else snippet.shown
            missing = {*WORD.findall(shown)} - {*WORD.findall(said)}
            assert not missing, f"{snippet.place}: the page shows {missing}, and {command} printed\n{said}"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, serve_all_along: Serve) -> Reader:
    """A reader who is in a new directory."""
    directory = tmp_path_factory.mktemp("tour")
    (directory / "examples").symlink_to(ROOT / "examples")
    return Reader(directory, serve_all_along)


def test_all_pages_are_walked() -> None:
    """All exceptions are on the pages, and every page with commands or snippets is walked, except the operator's."""
    texts = {snippet.text for page in PAGES for snippet in snippets(page)}
    assert {*STAND_INS, *ELSEWHERE, *EXIT_CODES, *AFTER_A_STOP, *SHOWS_LESS} <= texts
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    with_some = {page for page in pages if {"console", "python", "sql"} & {found.language for found in snippets(page)}}
    # These need root, Docker, Spark, or a head, or have a test of their own (`tests/service/jobs/test_labels.py`,
    # `test_notebook.py`).
    elsewhere = {
        "docs/reference/audit.md",
        "docs/guides/analyst.md",
        "docs/guides/python.md",
        "docs/explanations/scale.md",
    }
    assert with_some - {*PAGES} == elsewhere | {"docs/reference/statements.md"}
    assert not [found.place for page in pages for found in snippets(page) if found.language in ("sh", "bash")]


def test_the_readme_and_the_tour(reader: Reader) -> None:
    reader.read("README.md")
    reader.read("docs/guides/steward.md")
    demo = reader.directory / "tableveil-demo"
    with duckdb.connect(demo / "released.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) > 750 FROM discharges_released").fetchone() == (True,)
    assert open_to_others(demo).keys() == {str(demo / "clinic.log")}, "which is the tests' own"
    said = reader.run("tableveil show releases/2")
    assert "10-anonymity" in said
    assert "optimal" in said
    listed = json.loads(reader.run("tableveil releases --json"))["releases"]
    assert [release["name"] for release in listed] == ["releases/3", "releases/2", "releases/1"]
    with duckdb.connect(reader.directory / "planning.duckdb", read_only=True) as connection:
        exported = connection.table("discharges_planning").to_arrow_table()
    assert pq.read_table(reader.directory / "planning" / "discharges_planning.parquet").equals(exported)
    # The policy under another name, with the levels of the first.
    reader.run("tableveil export releases/3 --output february --format parquet")
    assert pq.read_table(reader.directory / "february" / "discharges_february.parquet").equals(exported)


@pytest.mark.parametrize("page", PAGES[2:-1])
def test_a_page_that_goes_on(reader: Reader, page: str) -> None:
    reader.read(page)


def test_without_a_server(reader: Reader) -> None:
    assert reader.server is not None
    assert reader.server.terminate() == 0
    assert not list(reader.server.spill_directory.parent.glob(".*.spill")), "raw data stays only in the database"
    reader.run("tableveil jobs", exit_code=5)
    reader.read(PAGES[-1])
    queries = [snippet for page in PAGES for snippet in snippets(page) if snippet.language == "sql"]
    with duckdb.connect(reader.server.database, read_only=True) as connection:
        for query in queries:
            assert connection.execute(query.text).fetchall(), query.place
