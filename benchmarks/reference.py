"""Runs reference cases through the service, from the CSV file to the release, and says whether their optima are found.

    python benchmarks/reference.py --cases ../shared/reference/arx.jsonl --data ../shared/data --ids 'a-*'

Exit codes: 0 all found, 1 something else found, 2 the cases cannot be run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

if not __package__:
    # Run as a file: what is imported from is this folder then, not the repository.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.cases import Case, read_cases
from benchmarks.markdown import seconds, table
from benchmarks.prepared import NotThereYet, Prepared, Result, Tables, run_case
from benchmarks.problems import UnusableError
from benchmarks.service import LocalService

PASS, MISS, NOT_THERE_YET = "pass", "MISS", "not there yet"

HEADERS = ("case", "expected", "found", "suppressed", "classes", "checks", "reference", "search s", "job s", "result")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the cases that the command line names and returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        tables = Tables(options.data)
        prepared = tables.prepare(read_cases(options.cases, options.ids))
        with tempfile.TemporaryDirectory() as folder, LocalService(Path(folder, "reference.duckdb")) as service:
            results = _run(prepared, tables, service, show=_print_json if options.json else lambda result: None)
    except UnusableError as error:
        print(error, file=sys.stderr)
        return 2
    if not options.json:
        print(as_table(results))
    return 1 if missed(results) else 0


def as_table(results: Sequence[Result | NotThereYet]) -> str:
    """The results as a Markdown table."""
    return table(HEADERS, map(_row, results))


def missed(results: Sequence[Result | NotThereYet]) -> list[Result]:
    """Those that found something else."""
    return [result for result in results if isinstance(result, Result) and result.differences]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reference.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, required=True, help="a file with one case per line, as JSON")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder per dataset")
    parser.add_argument("--ids", default="*", metavar="GLOB", help="only cases whose id matches")
    parser.add_argument("--json", action="store_true", help="one JSON object per case, as soon as it has ended")
    return parser
