"""Section: how often people are recognized again, how often others are mistaken for them, and the cost of it."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from benchmarks.datasets import Dataset
from benchmarks.discharges import CACHE
from benchmarks.markdown import table, times
from benchmarks.section import Section
from tableveil.backend import Database, Session, Settings
from tableveil.errors import InvalidError
from tableveil.lifecycle import check_ledger
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import Source, find_source, fingerprint, full_fingerprint
from tableveil.source.fingerprint import Fingerprint
from tableveil.state import sketches
from tableveil.state.migrate import fingerprint_key, migrate

TITLE = "People recognized again"
SEEDS = 5
REGISTERED = 40_000
FEW_ROWS, ROWS = 1_000, 5_000_000
REPEATS = 5
DATASETS = ("adult", "fars", "mach2019")

_REGISTER = """
    SELECT hash(i, 0) % 1000000000000 AS id, 'Person ' || hash(i, 1) % 10000000 AS name,
        (20 + hash(i, 2) % 70)::INT AS age, lpad((hash(i, 3) % 5000)::VARCHAR, 5, '0') AS zip,
        ['F', 'M'][1 + (hash(i, 4) % 2)::INT] AS sex, DATE '1930-01-01' + (hash(i, 5) % 30000)::INT AS born,
        'ward ' || hash(i, 6) % 12 AS ward
    FROM range({rows}) AS numbers(i)
"""

# By a random number from 0 to 999 per row: `released` are those below 500.
_SAME = {
    "one person less": "SELECT * FROM released LIMIT (SELECT count(*) - 1 FROM released)",
    "90 % of them": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw < 450",
    "90 %, all columns cast to text": "SELECT COLUMNS(* EXCLUDE (draw))::VARCHAR FROM drawn WHERE draw < 450",
    "30 % of them": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw < 150",
    "3 % of them": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw < 15",
    "90 % of them, and half as many others": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw BETWEEN 50 AND 749",
    "10 % of them, and nine times as many others": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw BETWEEN 450 AND 949",
    "90 %, without the first column": "SELECT * EXCLUDE (draw, {first}) FROM drawn WHERE draw < 450",
}
_OTHERS = {
    "as many others": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw >= 500",
    "a tenth as many others": "SELECT * EXCLUDE (draw) FROM drawn WHERE draw >= 950",
    "others, without the first column": "SELECT * EXCLUDE (draw, {first}) FROM drawn WHERE draw >= 500",
}

_POLICY = Policy(
    source=TableReference("", "main", "again"),
    attributes=(AttributePolicy("a", Role.SENSITIVE),),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
    default_role=Role.SENSITIVE,
)


def known_again(shared: Path, seeds: int = SEEDS) -> Section:
    """Every case on every table, with as many random draws."""
    cases = {**_SAME, **_OTHERS}
    found: dict[str, list[int]] = {case: [] for case in cases}
    names = ["register", *(name for name in DATASETS if (shared / "data" / name).is_dir())]
    for name in names:
        with opened() as session:
            _load(session, shared, name)
            counts = dict.fromkeys(cases, 0)
            for seed in range(seeds):
                for case, is_known in _tried(session, seed, cases):
                    counts[case] += is_known
        for case, count in counts.items():
            found[case].append(count)
    misses = sum(seeds - count for case in _SAME for count in found[case])
    alarms = sum(count for case in _OTHERS for count in found[case])
    return Section(
        TITLE,
        (
            f"How often a reason was asked for, of {seeds} random draws each. A random half of each table was released "
            f"before; the register is generated, {REGISTERED:,} people of seven columns, the first of them a number of "
            "the person. The others have no such column.",
            table(("again", *names), [(case, *map(str, counts)) for case, counts in found.items()]),
            f"Misses: {misses} of {len(_SAME) * len(names) * seeds}. "
            f"False alarms: {alarms} of {len(_OTHERS) * len(names) * seeds}.",
        ),
    )


def cost(sizes: Sequence[int] = (FEW_ROWS, ROWS)) -> Section:
    """The sketch of a small and of a large table beside a plain scan of all their columns."""
    found = []
    with opened() as session:
        for rows in sizes:
            session.execute(f"CREATE OR REPLACE TABLE again AS {_REGISTER.format(rows=rows)}")
            source, key = _source(session), fingerprint_key(session.ledger)
            taken = []
            for work in (fingerprint, full_fingerprint):
                times_taken = []
                for _ in range(REPEATS):
                    began = time.perf_counter()
                    mark = work(session, source, key)
                    times_taken.append(time.perf_counter() - began)
                taken.append(min(times_taken))
            assert isinstance(mark, Fingerprint)
            assert mark.sketch is not None
            values = sum(len(sample.values) for sample in mark.sketch.samples)
            scan, whole = taken
            size = f"{16 * values / 2**20:.1f} MiB"
            found.append((f"{rows:,}", f"{1000 * scan:.1f}", f"{1000 * whole:.1f}", times(whole / scan), size))
    return Section(
        "The cost of a sketch",
        (
            f"The register, two threads, best of {REPEATS}. The plain scan reads and hashes every row: it is the "
            "fingerprint, which is taken anyway. Kept is what the samples take before compression.",
            table(("rows", "plain scan, ms", "with the sketch, ms", "of the scan", "kept"), found),
        ),
    )


@contextmanager
def opened() -> Iterator[Session]:
    """A session of a new database, with an empty ledger."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        database = Database(Settings(Path(directory) / "people.duckdb", threads=2))
        with database.session() as session:
            migrate(session.ledger)
            yield session
        database.close()


def _load(session: Session, shared: Path, name: str) -> None:
    if name == "register":
        session.execute(f"CREATE TABLE everybody AS {_REGISTER.format(rows=REGISTERED)}")
        return
    with session.relation("loaded", Dataset.open(shared / "data", name).table()):
        session.execute("CREATE TABLE everybody AS SELECT * FROM loaded")


def _tried(session: Session, seed: int, cases: dict[str, str]) -> Iterator[tuple[str, bool]]:
    """Releases one half, and reports for each case whether a reason is demanded."""
    forget(session)
    session.execute(
        "CREATE OR REPLACE TABLE drawn AS SELECT *, (hash(rowid, ?) % 1000)::INTEGER AS draw FROM everybody", [seed]
    )
    remember(session, "SELECT * EXCLUDE (draw) FROM drawn WHERE draw < 500")
    first = _source(session, "released").columns[0].name
    for case, query in cases.items():
        quoted = f'"{first}"'
        yield case, bool(asked(session, query.format(first=quoted)))


def forget(session: Session) -> None:
    """Empties the ledger."""
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute("DELETE FROM tableveil.release_samples")


def remember(session: Session, rows: str | pa.Table, person: str | None = None) -> None:
    """Puts the table `released` with these rows into the ledger."""
    _create(session, "released", rows)
    mark = full_fingerprint(session, _source(session, "released"), fingerprint_key(session.ledger), person)
    assert mark.sketch is not None
    sketches.insert(session.ledger, 1, mark.sketch)


def asked(session: Session, rows: str | pa.Table, person: str | None = None) -> str:
    """The reason that is demanded of the table `again` with these rows; an empty text if none is."""
    _create(session, "again", rows)
    source = _source(session)
    try:
        check_ledger(
            session, _POLICY, source, full_fingerprint(session, source, fingerprint_key(session.ledger), person)
        )
    except InvalidError as error:
        return error.faults[0].found
    return ""


def _create(session: Session, name: str, rows: str | pa.Table) -> None:
    if isinstance(rows, str):
        session.execute(f"CREATE OR REPLACE TABLE {name} AS {rows}")
        return
    with session.relation("created", rows):
        session.execute(f"CREATE OR REPLACE TABLE {name} AS FROM created")


def _source(session: Session, name: str = "again") -> Source:
    source, _, _ = find_source(session, TableReference("", "main", name), "", "source")
    assert source is not None
    return source
