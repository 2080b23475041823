"""Runs reference cases through the service, from the CSV file to the release, and says whether their optima are found.

    python benchmarks/reference.py --cases ../shared/reference/arx.jsonl --data ../shared/data --ids 'a-*'

Exit codes: 0 all found, 1 something else found, 2 the cases cannot be run. Where the reference is known to differ from
its own definitions, the difference is named and is no failure.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

if not __package__:
    # If run as a file, imports start in this folder, not in the repository.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.cases import Case, read_cases
from benchmarks.markdown import seconds, table
from benchmarks.measured import searched
from benchmarks.prepared import NotThereYet, Prepared, Result, Tables, run_case
from benchmarks.problems import UnusableError
from benchmarks.service import LocalService

PASS, NAMED, MISS, NOT_THERE_YET = "pass", "differs as named", "MISS", "not there yet"

HEADERS = ("case", "expected", "found", "suppressed", "classes", "checks", "reference", "search s", "job s", "result")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the cases that the command line names and returns the exit code."""
    options = _parser().parse_args(arguments)
    results = []
    try:
        for result in run_cases(read_cases(options.cases, options.ids), options.data):
            results.append(result)
            if options.json:
                print(json.dumps(as_json(result)), flush=True)
    except UnusableError as error:
        print(error, file=sys.stderr)
        return 2
    if not options.json:
        print(as_table(results))
    return 1 if missed(results) else 0


def run_cases(cases: Sequence[Case], data: Path) -> Iterator[Result | NotThereYet]:
    """Runs the cases one after another on a database of their own.

    Raises:
        UnusableError: before the first, with all faults of the cases; later for a table that cannot be loaded.
    """
    tables = Tables(data)
    prepared = tables.prepare(cases)
    with tempfile.TemporaryDirectory() as folder, LocalService(Path(folder, "reference.duckdb")) as service:
        for case in prepared:
            yield run_case(case, tables, service) if isinstance(case, Prepared) else case


def as_json(result: Result | NotThereYet) -> dict[str, object]:
    """The result as a JSON object."""
    if isinstance(result, NotThereYet):
        return {"id": result.case.id, "result": NOT_THERE_YET, "what": result.what}
    expected, run, release = result.expected, result.run, result.run.release
    return {
        "id": result.case.id,
        "result": _verdict(result),
        "differences": result.differences,
        "known": result.known,
        "expected": {
            "score": expected.score,
            "suppressed": expected.suppressed,
            "classes": expected.classes,
            "transformation": expected.transformation,
        },
        "found": release
        and {
            "score": release.score,
            "suppressed": release.suppressed_records,
            "classes": release.classes,
            "transformation": {attribute.column: attribute.level for attribute in release.attributes},
        },
        "checks": release and searched(release).counted,
        "reference_checks": result.case.reference_checks,
        "search_seconds": release and release.proof.seconds,
        "job_seconds": run.seconds,
    }


def as_table(results: Sequence[Result | NotThereYet]) -> str:
    """The results as a Markdown table."""
    return table(HEADERS, map(_row, results))


def missed(results: Sequence[Result | NotThereYet]) -> list[Result]:
    """The results that differ without a known oddity of the reference."""
    return [result for result in results if isinstance(result, Result) and _verdict(result) == MISS]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reference.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, required=True, help="a file with one case per line, as JSON")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder per dataset")
    parser.add_argument("--ids", default="*", metavar="GLOB", help="only cases whose id matches")
    parser.add_argument("--json", action="store_true", help="one JSON object per case, as soon as it has ended")
    return parser


def _row(result: Result | NotThereYet) -> list[str]:
    if isinstance(result, NotThereYet):
        return [result.case.id, *[""] * (len(HEADERS) - 2), f"{NOT_THERE_YET}: {result.what}"]
    release = result.run.release
    found = (
        ["", "", "", "", ""]
        if release is None
        else [
            _number(release.score),
            str(release.suppressed_records),
            str(release.classes),
            str(searched(release).counted),
            seconds(release.proof.seconds),
        ]
    )
    score, suppressed, classes, checks, search = found
    reference = result.case.reference_checks
    return [
        result.case.id,
        _number(result.expected.score),
        score,
        suppressed,
        classes,
        checks,
        "" if reference is None else str(reference),
        search,
        seconds(result.run.seconds),
        ": ".join(filter(None, [_verdict(result), result.known, "; ".join(result.differences)])),
    ]


def _verdict(result: Result) -> str:
    if not result.differences:
        return PASS
    return NAMED if result.known else MISS


def _number(score: float | None) -> str:
    return "infeasible" if score is None else f"{score:.10g}"


if __name__ == "__main__":
    sys.exit(main())
