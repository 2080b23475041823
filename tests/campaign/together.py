"""Sequences of releases of generated registers with churn: how many people an adversary who links all rows singles out.

Released rows carry a number of their record here, so that they link themselves: the joint classes follow from the rows
alone. Records are people's own, or visits of people who have several.
"""

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa

from tableveil.backend import Database, Session
from tableveil.errors import TableveilError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.anonymize import anonymize
from tableveil.policy import AttributePolicy, KAnonymity, LeftBehind, Policy, ReleaseTarget, Role, TableReference
from tableveil.state import jobs
from tableveil.state.releases import RELEASES, Release
from tests.migrated import opened
from tests.service.jobs.contexts import context

AREAS, AGES = 4, (20, 80)
BY_REASON = "by reason"
MODES: dict[str, LeftBehind | None] = {"REQUIRE": LeftBehind.REQUIRE, "REPORT": LeftBehind.REPORT, BY_REASON: None}

Chain = tuple[str | None, ...]
"""Somebody's labels in all releases; None is no row."""


@dataclass(slots=True)
class Tally:
    """The releases of one mode with their records, and how many people with a row are below k in the end."""

    releases: int = 0
    records: int = 0
    suppressed: int = 0
    people: int = 0
    singled_out: int = 0


@dataclass(slots=True)
class Report:
    """The tallies by mode; under REQUIRE nobody may be singled out, under REPORT those whom the accounts named."""

    sequences: int = 0
    modes: dict[str, Tally] = field(default_factory=lambda: {mode: Tally() for mode in MODES})
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.sequences} sequences of two to six releases"
        for mode, tally in self.modes.items():
            yield (
                f"{mode}: {tally.releases} releases, {tally.suppressed / max(tally.records, 1):.1%} of the records "
                f"suppressed; {tally.singled_out:,} of {tally.people:,} people below k in the end"
            )
        yield from self.broken


def judge(seed: int, seconds: float, sequences: int, *, visits: bool = False) -> Report:
    """Releases sequences of registers, or of visits, from the seed on, each under every mode."""
    report, until = Report(), time.monotonic() + seconds
    while report.sequences < sequences and time.monotonic() < until:
        for mode in MODES:
            with tempfile.TemporaryDirectory() as directory:
                for database in opened(Path(directory) / "register.duckdb"):
                    _sequence(database, seed + report.sequences, mode, report, visits=visits)
        report.sequences += 1
    return report


def judge_visits(seed: int, seconds: float, sequences: int) -> Report:
    """Releases sequences of visits, whose records have a column of their own."""
    return judge(seed, seconds, sequences, visits=True)


def _sequence(database: Database, seed: int, mode: str, report: Report, *, visits: bool) -> None:
    random, tally = Random(seed), report.modes[mode]
    k = random.choice((2, 3, 5))
    register = {number: _person(random) for number in range(random.randint(60, 300))}
    churn = random.choice((0.01, 0.03, 0.1))
    months = random.randint(2, 6)
    chains: dict[int, list[str | None]] = {}
    owners: dict[int, int] = {}
    with database.session() as session:
        for month in range(months):
            for number in register:
                owners.setdefault(number, random.randrange(len(register) // 2) if visits else number)
            _write(session, register, owners)
            try:
                release = _release(session, database, _policy(month, k, MODES[mode], visits=visits))
            except TableveilError as error:
                report.broken.append(f"{mode}, seed {seed}: {error}")
                return
            rows = session.rows(f'SELECT linked, age::VARCHAR || area FROM "month_{month}"')
            labels = dict(rows)
            for person in {*chains, *labels}:
                chains.setdefault(person, [None] * month).append(labels.get(person))
            tally.releases, tally.records = tally.releases + 1, tally.records + release.records
            tally.suppressed += release.suppressed_records
            if month and mode != BY_REASON:
                report.broken += _broken(chains, owners, release, k, f"{mode}, seed {seed}, month {month}")
            register = _next(random, register, churn)
    cells = _cells(chains, owners)
    tally.people += len({owners[record] for record in chains})
    tally.singled_out += len(set[int]().union(*(people for people in cells.values() if len(people) < k)))
    if mode == "REQUIRE" and min(map(len, cells.values()), default=k) < k:
        report.broken.append(f"{mode}, seed {seed}: people below k in the end")


def _cells(chains: dict[int, list[str | None]], owners: dict[int, int]) -> dict[Chain, set[int]]:
    """The people with a record of each chain."""
    cells: dict[Chain, set[int]] = {}
    for record, chain in chains.items():
        cells.setdefault(tuple(chain), set()).add(owners[record])
    return cells


def _broken(
    chains: dict[int, list[str | None]], owners: dict[int, int], release: Release, k: int, where: str
) -> Iterator[str]:
    """The differences between the rows and what the mode promises and the account of the release says."""
    cells = _cells(chains, owners)
    small = sum(len(people) for chain, people in cells.items() if chain[-1] is not None and len(people) < k)
    if small:
        yield f"{where}: {small} people in joint classes below k"
    partly = {chain[:-1] for chain in cells if chain[-1] is not None}
    few = [
        people
        for chain, people in cells.items()
        if chain[-1] is None and set(chain) != {None} and len(people) < k and chain[:-1] in partly
    ]
    left = len(set[int]().union(*few))
    named = re.search(r"Left behind are ([\d,]+) people", " ".join(release.warnings))
    told = int(named[1].replace(",", "")) if named else 0
    if told != left:
        yield f"{where}: {left} people are left behind by fewer than k, and the account says {told}"


def _person(random: Random) -> tuple[int, str]:
    return random.randrange(*AGES), f"area {random.randrange(AREAS)}"


def _next(random: Random, register: dict[int, tuple[int, str]], churn: float) -> dict[int, tuple[int, str]]:
    """The next month: some left, some grew older, some moved, and as many came."""
    stayed = {number: person for number, person in register.items() if random.random() >= churn}
    for number, (age, area) in stayed.items():
        if random.random() < churn:
            stayed[number] = (min(age + 1, AGES[1] - 1), area)
        elif random.random() < churn / 3:
            stayed[number] = (age, f"area {random.randrange(AREAS)}")
    first = max(register) + 1
    return stayed | {first + i: _person(random) for i in range(len(register) - len(stayed))}


def _write(session: Session, register: dict[int, tuple[int, str]], owners: dict[int, int]) -> None:
    people: Sequence[tuple[int, tuple[int, str]]] = sorted(register.items())
    data = pa.table(
        {
            "id": [number for number, _ in people],
            "linked": [number for number, _ in people],
            "owner": [owners[number] for number, _ in people],
            "age": [age for _, (age, _) in people],
            "area": [area for _, (_, area) in people],
        }
    )
    with session.relation("generated", data):
        session.execute("CREATE OR REPLACE TABLE register AS FROM generated")


def _policy(month: int, k: int, left_behind: LeftBehind | None, *, visits: bool) -> Policy:
    return Policy(
        source=TableReference("", "main", "register"),
        attributes=(
            AttributePolicy("id", Role.IDENTIFYING),
            AttributePolicy("owner", Role.IDENTIFYING),
            AttributePolicy("linked", Role.INSENSITIVE, acknowledged=True),
            AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals(str(AGES[0]), str(AGES[1]), ("10", "30"))),
            AttributePolicy("area", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        ),
        person_column="owner" if visits else "id",
        record_column="id" if visits else "",
        privacy_models=(KAnonymity(k),),
        release=ReleaseTarget("main", f"month_{month}", label_columns=False, left_behind=left_behind),
        suppression_limit=Decimal(1),
        repeat_reason="" if left_behind else "a campaign",
    )


def _release(session: Session, database: Database, policy: Policy) -> Release:
    with database.session() as own:
        number = jobs.next_number(own.ledger)
        source, target = policy.source, policy.release
        request = jobs.Request(number, "", "{}", "", source, target.schema, target.name, jobs.now())
        jobs.insert_request(own.ledger, request)
        released = anonymize(context(own, database, number), policy)
    found = RELEASES.find(session.ledger, released)
    assert found is not None
    return found
