"""Sections: the digests of people in the ledger, and a job that is judged together with an earlier release."""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from sqlglot import exp

from benchmarks.discharges import CACHE
from benchmarks.markdown import table, times
from benchmarks.section import Section, verdict
from tableveil.backend import Database, Session, Settings
from tableveil.backend import table as named
from tableveil.control import Control
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.definition import HierarchyDefinition
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.work import JobContext
from tableveil.policy import AttributePolicy, KAnonymity, LeftBehind, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import find_source, fingerprint
from tableveil.state import jobs, persons
from tableveil.state.migrate import fingerprint_key, migrate

PEOPLE, REGISTERED = 10_000_000, 1_000_000
MOST_BYTES, MOST_SCANS, MOST_JOBS = 220_000_000, 2, 2
CLASSES = 50_000

_REGISTER = """
CREATE OR REPLACE TABLE register AS
SELECT i AS id, 1930 + hash(i, 2) % 90 AS birth_year, 'a' || hash(i, 3) % 100 AS area, hash(i, 4) % 2 AS sex,
    hash(i, 5) % 3 AS insurance, 1 + hash(i, 6, {month}) % 24 AS month, 'w' || hash(i, 7) % 12 AS ward
FROM range({people}) AS numbers(i) WHERE hash(i, 8) % 50 <> {month}
"""
"""Each month another fiftieth of the people is away."""


def digests(people: int = PEOPLE) -> Section:
    """The bytes that the ledger keeps of people, and the time to recognize them, beside a plain scan of their table."""
    with opened() as (_, session):
        session.execute(_REGISTER.format(people=people, month=0))
        source, *_ = find_source(session, TableReference("", "main", "register"), "", "source")
        assert source is not None
        session.execute("CHECKPOINT")
        before = _bytes(session)
        classes = exp.select("id AS person", f"(hash(id) % {CLASSES} + 1)::INTEGER AS class").from_("register")
        persons.remember(session.ledger, 1, classes.subquery("people"))
        session.execute("CHECKPOINT")
        kept = _bytes(session) - before
        scanned = _seconds(lambda: fingerprint(session, source, fingerprint_key(session.ledger)))
        read = _seconds(lambda: persons.combinations(session.ledger, [1]))
        recognized = _seconds(
            lambda: persons.recognize(session.ledger, [1], "recognized_again", named("register"), "id")
        )
    ratio = read / scanned
    rows = [
        ("kept, MB", f"{kept / 1e6:.0f}", f"{MOST_BYTES / 1e6:.0f}", verdict(kept <= MOST_BYTES)),
        ("read, of a plain scan", times(ratio), times(MOST_SCANS), verdict(ratio <= MOST_SCANS)),
        ("people of the table recognized, of a plain scan", times(recognized / scanned), "", ""),
    ]
    told = (
        f"{people:,} people. The scan ({scanned:.1f} s) hashes every row of the table, as each job does. Recognizing "
        "people takes their SHA-256."
    )
    return Section("Classes of people in the ledger", (told, table(("", "found", "goal", ""), rows)))


def together(people: int = REGISTERED) -> Section:
    """A second release of people, judged alone, together with the first, and together with nobody left behind."""
    found = []
    with opened() as (database, session):
        session.execute(_REGISTER.format(people=people, month=0))
        _released(database, _policy("first"))
        session.execute(_REGISTER.format(people=people, month=1))
        before = time.process_time()
        alone = _seconds(lambda: _released(database, replace(_policy("alone"), repeat_reason="a benchmark")))
        cpu_alone = time.process_time() - before
        for mode in LeftBehind:
            policy = _policy(mode.lower())
            target = replace(policy.release, left_behind=mode, together_with=(1,))
            asked = replace(policy, release=target, repeat_reason="a benchmark")
            before = time.process_time()
            seconds = _seconds(lambda asked=asked: _released(database, asked))  # type: ignore[misc]
            found.append((mode, seconds, time.process_time() - before))
    rows = [
        (
            mode,
            f"{seconds:.1f}",
            f"{cpu:.1f}",
            times(cpu / cpu_alone),
            ""
            if mode is LeftBehind.REQUIRE
            else f"at most {times(MOST_JOBS)}: {verdict(cpu <= MOST_JOBS * cpu_alone)}",
        )
        for mode, seconds, cpu in found
    ]
    told = (
        f"{people:,} people, six quasi-identifiers, a fiftieth of them away. The job alone took {alone:.1f} s and "
        f"{cpu_alone:.1f} CPU seconds."
    )
    columns = ("", "seconds", "CPU s", "CPU of the job alone", "at most")
    return Section("Together with one earlier release", (told, table(columns, rows)))


def fifty(people: int = REGISTERED, releases: int = 50) -> Section:
    """The time and the memory of recognizing people with classes in many earlier releases, beside one."""
    with opened("2GB") as (_, session):
        session.execute(_REGISTER.format(people=people, month=0))
        rows = []
        for release in range(1, releases + 1):
            # Each time a fiftieth of the people have another class than before, or none.
            moved = f"hash(id, 9) % 50 = {release % 50}"
            classes = f"CASE WHEN {moved} THEN hash(id, {release}) ELSE hash(id) END"
            rows_of = exp.select("id AS person", f"({classes} % {CLASSES})::INTEGER - 1 AS class").from_("register")
            persons.remember(session.ledger, release, rows_of.subquery("people"))
        for number in (1, releases):
            earlier = range(1, number + 1)
            found = _seconds(lambda earlier=earlier: persons.combinations(session.ledger, earlier))  # type: ignore[misc]
            recognized = _seconds(
                lambda earlier=earlier: persons.recognize(session.ledger, earlier, "known", named("register"), "id")  # type: ignore[misc]
            )
            combinations = len(persons.combinations(session.ledger, earlier)["people"])
            session.execute("DROP TABLE temp.main.known")
            rows.append((f"{number}", f"{combinations:,}", f"{found:.1f}", f"{recognized:.1f}"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = f"{people:,} people, with DuckDB's memory_limit at 2 GB. The process had {peak:,.0f} MiB at most."
    columns = ("earlier releases", "combinations of classes", "counted, s", "recognized, s")
    return Section("Many earlier releases", (told, table(columns, rows)))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _bytes(session: Session) -> int:
    block, used = session.row("SELECT block_size, used_blocks FROM pragma_database_size()")
    return int(block) * int(used)


@contextmanager
def opened(memory_limit: str | None = None) -> Iterator[tuple[Database, Session]]:
    """A database of the benchmark's own, with a session."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        database = Database(Settings(Path(directory) / "people.duckdb", memory_limit, threads=2))
        with database.session() as session:
            migrate(session.ledger)
            yield database, session
        database.close()


def _released(database: Database, policy: Policy) -> int:
    with database.session() as own:
        own.control = Control()
        number, target = jobs.next_number(own.ledger), policy.release
        request = jobs.Request(number, "", "{}", "", policy.source, target.schema, target.name, jobs.now())
        jobs.insert_request(own.ledger, request)
        job = JobContext(number, "{}", database, own, own.control, policy_of=lambda _: policy)
        return anonymize(job, policy)


def _policy(name: str) -> Policy:
    areas = InlineLevels(tuple((f"a{i}", f"region {i // 10}", f"half {i // 50}", "*") for i in range(100)))
    wards = InlineLevels(tuple((f"w{i}", f"department {i // 3}", "*") for i in range(12)))
    hierarchies: dict[str, HierarchyDefinition] = {
        "birth_year": Intervals("1930", "2019", ("5", "10", "30")),
        "area": areas,
        "sex": SuppressionOnly(),
        "insurance": SuppressionOnly(),
        "month": Intervals("1", "24", ("3", "6", "12")),
        "ward": wards,
    }
    attributes = tuple(AttributePolicy(of, Role.QUASI_IDENTIFIER, each) for of, each in hierarchies.items())
    return Policy(
        source=TableReference("", "main", "register"),
        attributes=(AttributePolicy("id", Role.IDENTIFYING), *attributes),
        person_column="id",
        privacy_models=(KAnonymity(5),),
        release=ReleaseTarget("main", name, label_columns=False),
        suppression_limit=Decimal("0.5"),
    )
