"""Section: the reference tool's optima under the other privacy models."""

from pathlib import Path

from benchmarks.cases import read_cases
from benchmarks.reference import as_table, missed, run_cases
from benchmarks.section import Section

TITLE = "Privacy models: reference cases"

IDS = ("c-*", "d-*")


def reference_cases(shared: Path) -> Section:
    """Runs the cases in `shared` through the service; says so if there are none."""
    cases = shared / "reference" / "arx.jsonl"
    if not cases.is_file():
        return Section(TITLE, (f"Skipped: there is no `{cases}`.",))
    chosen = [case for ids in IDS for case in read_cases(cases, ids)]
    results = list(run_cases(chosen, shared / "data"))
    return Section(
        TITLE,
        (
            "Every optimum must equal the reference's, to 1e-9, except where it is known not to do what its models "
            "say: then ours must be on the side of it that follows from that, and the reason is named.",
            as_table(results),
        ),
        sound=not missed(results),
    )
