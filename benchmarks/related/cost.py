"""Section: what a million people with five million events cost, beside the job that releases the events alone."""

import resource
import tempfile
import time
from pathlib import Path

from benchmarks.markdown import seconds, table, times
from benchmarks.people.visits import K, create_visits, visits_policy
from benchmarks.related.released import column, lost, policy_of, run
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService
from tableveil.policy import Policy

PEOPLE, FEW_PEOPLE = 1_000_000, 1_000
GOALS = {1: 1.5, 2: 10.0}
MEMORY_LIMIT, THREADS = "4GiB", 2

_SPLIT = """
CREATE OR REPLACE TABLE people AS
SELECT person AS id, any_value(sex) AS sex, any_value(birth_year) AS birth_year, any_value(area) AS area,
    any_value(insurance) AS insurance
FROM visits GROUP BY person
"""
_EVENTS = {
    "independent": "CREATE OR REPLACE TABLE events AS SELECT person AS id, month, ward FROM visits",
    # Three of four visits of a person are in one ward and one season.
    "correlated": """
CREATE OR REPLACE TABLE events AS
SELECT person AS id, if(hash(rowid, 1) % 4 = 0, month, 1 + (3 * (hash(person, 2) % 8) + hash(rowid, 3) % 3)) AS month,
    if(hash(rowid, 4) % 4 = 0, ward, 'w' || hash(person, 5) % 12) AS ward
FROM visits
""",
}


def cost() -> Section:
    """CPU seconds and memory of whole jobs, at m = 1 and m = 2, on two tables."""
    lines, sound = list[tuple[str, ...]](), True
    title = "A million people and their events"
    with (
        tempfile.TemporaryDirectory() as directory,
        LocalService(Path(directory) / "visits.duckdb", MEMORY_LIMIT, THREADS) as service,
    ):
        with service.session() as session:
            create_visits(session, FEW_PEOPLE)
            session.execute(_SPLIT)
            session.execute(_EVENTS["independent"])
        service.run(visits_policy("person"))
        run(service, _policy(1))
        with service.session() as session:
            session.execute("DROP TABLE main.visits")
            rows = create_visits(session, PEOPLE)
            session.execute(_SPLIT)
        before = time.process_time()
        alone = service.run(visits_policy("person"))
        alone_cpu = time.process_time() - before
        if alone.release is None:
            return Section(title, (f"Failed: {alone.failure}",), sound=False)
        for kind, statement in _EVENTS.items():
            with service.session() as session:
                session.execute(statement)
            for m, goal in GOALS.items():
                ran = run(service, _policy(m))
                if ran.failure:
                    return Section(title, (f"Failed: {ran.failure}",), sound=False)
                with service.session() as session:
                    share = lost(session)
                gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                ratio = ran.cpu / alone_cpu
                lines.append(
                    (
                        kind,
                        str(m),
                        seconds(ran.cpu),
                        times(ratio),
                        f"{100 * share:.1f} %",
                        f"{gib:.2f}",
                        verdict(ratio <= goal and gib <= 4),
                    )
                )
    return Section(
        title,
        (
            f"{rows:,} visits of {PEOPLE:,} people, k = {K}, six quasi-identifiers, searched; memory_limit "
            f"{MEMORY_LIMIT}, {THREADS} threads. The events alone with `person_column` took {seconds(alone_cpu)} CPU "
            "s. Goal: at most 1.5 times that at m = 1 and 10 times at m = 2, within 4 GiB (the peak of the process).",
            table(("events", "m", "CPU s", "of the events alone", "rows lost", "peak GiB", "goal"), lines),
        ),
        sound,
    )


def _policy(m: int) -> Policy:
    areas = [{"labels": [f"a{i}", f"region {i // 10}", f"half {i // 50}", "*"]} for i in range(100)]
    wards = [{"labels": [f"w{i}", f"department {i // 3}", "*"]} for i in range(12)]
    attributes = [
        column("sex", {"suppression_only": {}}),
        column("birth_year", {"intervals": {"minimum": "1930", "maximum": "2019", "widths": ["5", "10", "30"]}}),
        column("area", {"inline": {"rows": areas}}),
        column("insurance", {"suppression_only": {}}),
        column("month", {"intervals": {"minimum": "1", "maximum": "24", "widths": ["3", "6", "12"]}}, "events"),
        column("ward", {"inline": {"rows": wards}}, "events"),
    ]
    return policy_of(attributes, K, m, {})
