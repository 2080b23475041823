"""Section: the exact search for every quality model on adult, against the reference tool's checks."""

import time
from pathlib import Path

from benchmarks.expected import close
from benchmarks.markdown import seconds, table
from benchmarks.search.in_memory import instances
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.search import exact

TITLE = "The search: every quality model on adult"


def other_models(shared: Path) -> Section:
    """Runs the `b-` cases; says so if there is no data."""
    if not (shared / "data").is_dir():
        return Section(TITLE, (f"Skipped: there is no `{shared / 'data'}`.",))
    rows, sound = [], True
    for instance in instances(shared, ["b-*"]):
        started = time.process_time()
        outcome = exact(instance.problem(), Control())
        spent = time.process_time() - started
        assert outcome.best is not None
        expected, reference = instance.case.expected["score"], instance.case.reference_checks
        equal = close(outcome.best.score, expected)
        sound = sound and equal
        few = reference is not None and outcome.counted < reference
        rows.append(
            [
                instance.case.id,
                f"{expected:.10g}",
                f"{outcome.best.score:.10g}",
                verdict(equal),
                f"{reference:,}",
                f"{outcome.counted:,}",
                verdict(few),
                seconds(spent),
            ]
        )
    return Section(
        TITLE,
        (
            "Every optimum must equal the reference's, to 1e-9. Classes are counted for checks and, by models that "
            "are bounded by classes, for bounds: both count here. Times are CPU seconds.",
            table(("case", "reference", "found", "", "its checks", "our counts", "fewer", "s"), rows),
        ),
        sound,
    )
