"""Prints how the house is built: `python -m tests.project.house` counts each number by the pattern beside it."""

import ast
import re
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import FrameType

from tableveil.backend import Database, Settings
from tableveil.policy import KAnonymity
from tableveil.runtime import open_jobs
from tableveil.server.services import DESCRIPTORS
from tests.docs.test_development import CHANGES, DOCS, TESTS, Change, files_with, touched
from tests.reference.syntax import parsed
from tests.service.jobs.managed import LABELLED, ended, submit

ROOT = Path(__file__).parents[2]
METHOD = r"\.(microaggregation|local_recoding|record_level|own_levels|aggregated)\b"
METHOD_OTHERWISE = r'HasField\("(microaggregation|local_recoding|record_level)|\.method is\b|isinstance\([\w.]*recoding'
"""The question by its other names, in messages, in the registry and in plans."""
METHODS = {
    "local recoding": Change(6, 3, r"(?i)local_?recoding", own=r"/local_"),
    "record level": Change(7, 3, r"(?i)record_?level(?!s)", own=r"/record_level|/by_combination"),
    "microaggregation": Change(7, 3, r"(?i)microaggregation", own=r"/microaggregation"),
}
"""The methods that are no example of the developer's guide; features that treat one otherwise are counted, too."""
ENGINE = r"\bis (not )?(\w+\.)*embedded\b|\bembedded is\b"
RULES = ("PLR0912", "C901", "PLR0913")
LAYER = re.compile(r"/(engine|sql|service)/tableveil/(\w+)")


def sources() -> Iterator[Path]:
    for layer in ("engine", "sql", "service"):
        yield from (path for path in (ROOT / layer).rglob("*.py") if "_pb2" not in path.name)


def lines_of(path: Path) -> tuple[int, int, int, int]:
    """Lines of code without docstrings, of imports, that are not blank, and all lines."""
    text = path.read_text(encoding="utf-8")
    code, docstrings, imports = set[int](), set[int](), set[int]()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.string.strip() and token.type not in (tokenize.COMMENT, tokenize.ENCODING):
                code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code - docstrings), len(imports), sum(map(bool, map(str.strip, text.splitlines()))), text.count("\n")


def lines_with(pattern: str) -> tuple[int, int]:
    """The lines with a pattern, imports left out, and their files."""
    found = Counter(
        path
        for path in sources()
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(pattern, line) and not re.match(r"\s*(from|import) ", line)
    )
    return found.total(), len(found)


def classes() -> Counter[str]:
    """How often each name of a public class occurs."""
    trees = map(parsed, sources())
    nodes = (node for tree in trees for node in ast.walk(tree))
    return Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


def refused(rule: str) -> int:
    options = ["--select", rule, "--config", "lint.mccabe.max-complexity=15", "--config", "lint.pylint.max-args=6"]
    options += ["--config", "lint.pylint.max-branches=15"]
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--isolated", "--output-format", "concise"]
    done = subprocess.run([*command, *options, "engine", "sql", "service"], cwd=ROOT, capture_output=True, text=True)
    return len(re.findall(rf" {rule} ", done.stdout))


def entered() -> tuple[int, int]:
    """The files with a function that a job of 500 rows enters after it is submitted, and calls between packages."""
    files, calls, counting = set[str](), 0, False

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        here = LAYER.search(frame.f_code.co_filename)
        if not counting or event != "call" or here is None or not frame.f_code.co_name.isidentifier():
            return
        # The follow-up of the job that has ended, which may begin before this thread notices.
        if threading.current_thread().name == "tableveil-checksums":
            return
        files.add(frame.f_code.co_filename)
        before = LAYER.search(frame.f_back.f_code.co_filename) if frame.f_back is not None else None
        calls += before is not None and before.groups() != here.groups()

    with tempfile.TemporaryDirectory() as folder:
        database = Database(Settings(Path(folder) / "house.duckdb"))
        threading.setprofile(profile)
        sys.setprofile(profile)
        jobs = open_jobs(database)
        with database.session() as session:
            session.execute(
                "CREATE TABLE patients AS SELECT 20 + i % 3 AS age, i % 2 AS ward, 'illness ' || i % 5 AS illness "
                "FROM range(500) r(i)"
            )
        counting = True
        ended(jobs, submit(jobs, replace(LABELLED, privacy_models=(KAnonymity(5),))).number)
        counting = False
        sys.setprofile(None)
        threading.setprofile(None)
        jobs.close(grace_seconds=1)
        database.close()
    return len(files), calls


def counted(change: Change) -> tuple[int, int, int]:
    """The files of code and protos that a change touches, those of its tests, and its pages."""
    return len(touched(change)), len(files_with(change.example, TESTS)), len(files_with(change.example, DOCS))


def of_calls() -> tuple[float, int]:
    """The files of the median remote procedure call, and of the one that most files name, without commands' names."""
    names = [re.sub("(?<!^)(?=[A-Z])", "_?", method.name) for service in DESCRIPTORS for method in service.methods]
    counts = [len(files_with(rf"(?i)\b{name}(request|response)?\b")) for name in names]
    return median(counts), max(counts)


def measures() -> Iterator[tuple[str, object, str, str]]:
    code, imports, filled, every = zip(*map(lines_of, sources()), strict=True)
    yield "lines of code; without imports", (sum(code), sum(code) - sum(imports)), "fall", "tokenize, ast"
    yield "files; lines of the median file", (len(code), int(median(every))), "fall; -", "*.py"
    yield "per thousand of filled lines that import", 1000 * sum(imports) // sum(filled), "fall", "ast.Import"
    benchmarks = sum(lines_of(path)[0] for path in (ROOT / "benchmarks").rglob("*.py"))
    yield "lines of code in benchmarks", benchmarks, "fall", "tokenize, ast"
    yield "lines that ask for the method; files", lines_with(METHOD), "≤ 25, ≤ 10", METHOD
    yield "lines that ask for it by other names; files", lines_with(METHOD_OTHERWISE), "0", METHOD_OTHERWISE
    yield "lines that ask for the engine; files", lines_with(ENGINE), "0", ENGINE
    yield "files that a job enters; calls between packages", entered(), "≤ 160, ≤ 2,000", "sys.setprofile"
    for title, change in CHANGES.items():
        yield f"files of: {title} (and tests; pages)", counted(change), f"{change.goal}", change.example
    for name, change in METHODS.items():
        yield f"files of: {name} (and tests; pages)", counted(change), f"{change.goal}", change.example
    yield "files of a remote procedure call: median; most", of_calls(), "6", "the names of all"
    for rule in RULES:
        yield f"ruff {rule}", refused(rule), "≤ 15" if rule == "PLR0913" else "0", "at 15, and at 6 parameters"
    yield "names of several public classes", sum(number > 1 for number in classes().values()), "0", "ast.ClassDef"


if __name__ == "__main__":
    for what, number, goal, pattern in measures():
        shown = ", ".join(f"{part:,}" for part in number) if isinstance(number, tuple) else f"{number:,}"
        print(f"{what:50} {shown:>15}   goal {goal or '-':15} {pattern}")
