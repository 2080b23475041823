"""Sections: an adversary attacks releases of random worlds, and what the verification notices without the repair."""

import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tests.adversary.related.published import as_released, findings, publish
from tests.adversary.related.worlds import draw
from tests.authenticated import use_one_token
from tests.migrated import opened
from tests.sql.verification.related_cases import written_case

TOWNS, JOBS = 20, 500
UNREPAIRED = 300


def worlds() -> Section:
    """Towns of a few people each are worlds of their own: classes have nothing to do with each other."""
    use_one_token()
    broken, rows, kept = list[str](), 0, 0
    kinds = Counter[tuple[str, ...]]()
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(JOBS):
            world = draw(Random(seed), TOWNS, 20)
            found = publish(Path(directory) / f"{seed}.duckdb", world)
            broken += [f"world {seed}: {finding}" for finding in findings(world, as_released(world, found), seed)]
            rows += sum(map(len, world.events.values()))
            kept += sum(found[table].num_rows for table in world.events)
            kinds[str(world.m), world.anchor or "none", str(len(world.events)), "capped" if world.cap else ""] += TOWNS
    return Section(
        "An adversary on random worlds",
        (
            f"{TOWNS * JOBS:,} worlds of 1 to 20 people in {JOBS} jobs of a server, k from 2 to 5; {kept:,} of "
            f"{rows:,} rows were released. The adversary knows up to m rows: exactly, by sets of labels, or by the "
            f"days between two. Found against the promise: {len(broken)}: {verdict(not broken)}. "
            f"{'; '.join(broken[:5])}",
            table(
                ("m", "anchor", "tables", "cap", "worlds"),
                ((*kind, str(number)) for kind, number in sorted(kinds.items())),
            ),
        ),
        not broken,
    )


def unrepaired() -> Section:
    """Worlds whose rows are all written, by a naive writer: those that break the definition are to be refused."""
    needed = noticed = wrongly = 0
    with tempfile.TemporaryDirectory() as directory:
        database = next(opened(Path(directory) / "worlds.duckdb"))
        with database.session() as session:
            for seed in range(UNREPAIRED):
                random = Random(seed)
                case = written_case(session, random, draw(random), raw=[0])
                problems = bool(case.problems(session))
                needed += case.broken
                noticed += case.broken and problems
                wrongly += problems and not case.broken
        database.close()
    share = noticed / max(needed, 1)
    met = share >= 0.9 and not wrongly
    return Section(
        "Releases without their repair",
        (
            f"{UNREPAIRED} worlds, {needed} of which need a repair. The verification refused {noticed} of these "
            f"({100 * share:.0f} %), and {wrongly} others. Goal: at least 90 %: {verdict(met)}.",
        ),
        met,
    )
