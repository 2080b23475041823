"""Compares numbers of statements with `statements.json`: `python -m benchmarks.everyday.statements`.

With `--write` it writes the file anew. The numbers are the same on any machine, so `.ci/run` fails on a difference.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.everyday.jobs import counted_jobs
from benchmarks.everyday.meter import PHASES
from benchmarks.everyday.run import run

FILE = Path(__file__).with_name("statements.json")
COMMAND = "python -m benchmarks.everyday.statements --write"

Counts = Mapping[str, Mapping[str, int]]


def counted() -> Counts:
    """Per job and phase, the number of statements that it takes."""
    found = {job.name: run(job).statements for job in counted_jobs()}
    return {name: {phase: of[phase] for phase in PHASES} for name, of in found.items()}


def differences(known: Counts, found: Counts) -> Iterator[str]:
    """A sentence per job and phase whose number is another one."""
    for job in sorted({*known, *found}):
        before, after = known.get(job, {}), found.get(job, {})
        for phase in dict.fromkeys((*before, *after)):
            if before.get(phase) != after.get(phase):
                yield f"{job}, {phase}: {after.get(phase)} statements, where the file has {before.get(phase)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 1 if a number differs from the file."""
    given = sys.argv[1:] if arguments is None else arguments
    found = counted()
    if "--write" in given:
        FILE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return 0
    problems = list(differences(json.loads(FILE.read_text(encoding="utf-8")), found))
    if problems:
        hint = f"If the change is meant, write {FILE.name} anew: {COMMAND}"
        print(*problems, hint, sep="\n", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
