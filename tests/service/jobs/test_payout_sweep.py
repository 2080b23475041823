"""Jobs for payout sweeps: they find the payouts of releases, write nothing else, and end as others do."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.game.sweep import Among, SweepMethod, SweepPoint
from tableveil.hierarchy import InlineLevels, SafeHarborAge
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lookups import Results
from tableveil.pipelines.payout_sweep import payout_sweep_work
from tableveil.policy import (
    AttributePolicy,
    BreakEven,
    Game,
    IfExists,
    NoAttack,
    NullHandling,
    Policy,
    Population,
    Profitability,
    PublisherPayoutModel,
    Role,
    Success,
    TableReference,
)
from tableveil.requests.payout_sweep import SweptGains
from tableveil.runtime import FailureKind, Job, JobManager
from tableveil.state.jobs import JobKind, JobPhase, JobState
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.managed import open_with
from tests.service.jobs.plain import plain_target

SECONDS = 60.0
"""How long a test waits for what should take a moment."""

LETTERS = tuple((letter, "vowel" if letter in "aeiou" else "other", "*") for letter in "abcdefghijklmnop")

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "63", ("8", "32"))),
        AttributePolicy("letter", Role.QUASI_IDENTIFIER, InlineLevels(LETTERS), nulls=NullHandling.SUPPRESS),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column=None,
    privacy_models=(Profitability(Success.JOURNALIST),),
    # Nothing of it is there, and nothing may come of it.
    release=plain_target("nowhere", ""),
    game=Game(Decimal(100), Decimal(0), Decimal(0), Decimal(4)),
)

SWEPT = SweptGains((Decimal(0), Decimal("12.5"), Decimal(90), Decimal(300)))


@pytest.fixture(autouse=True)
def people(session: Session) -> None:
    """The first 400 of 1,600 people."""
    session.execute(
        "CREATE TABLE everybody AS SELECT i, (hash(i, 1) % 8 * (hash(i, 2) % 8))::INT AS age, "
        "CASE WHEN i % 97 > 0 THEN chr((97 + hash(i, 3) % 4 * (hash(i, 4) % 6))::INT) END AS letter, "
        "i % 2 = 0 AS sex, 'flu' AS illness FROM range(1600) r(i)"
    )
    session.execute("CREATE TABLE people AS SELECT * EXCLUDE i FROM everybody WHERE i < 400")


Open = Callable[..., JobManager]


@pytest.fixture
def open_manager(database: Database) -> Iterator[Open]:
    opened: list[JobManager] = []

    def open_one(**options: Any) -> JobManager:
        opened.append(open_with(database, **options))
        return opened[-1]

    yield open_one
    for found in opened:
        found.close(SECONDS)


@pytest.fixture
def jobs(open_manager: Open) -> JobManager:
    return open_manager()


def ended(jobs: JobManager, number: int) -> Job:
    deadline = time.monotonic() + SECONDS
    *_, last = jobs.watch(number, lambda: time.monotonic() > deadline)
    assert last.state.ended, last
    return last


def computed(jobs: JobManager, database: Database, policy: Policy = POLICY, swept: SweptGains = SWEPT) -> PayoutSweep:
    job = ended(jobs, jobs.submit(payout_sweep_work(policy, swept, "{}")).number)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert job.result is not None
    return Results[PayoutSweep](database, JobKind.PAYOUT_SWEEP).get(job.result)


def with_population(policy: Policy = POLICY) -> Policy:
    return replace(policy, population=Population(table=TableReference("", "main", "everybody")))


def point(sweep: PayoutSweep, method: SweepMethod, among: Among, gain: Decimal) -> SweepPoint:
    (found,) = (p for p in sweep.points if (p.method, p.among, p.gain) == (method, among, gain))
    return found


def wide(session: Session) -> Policy:
    """A policy whose sweep nobody waits for, with many transformations."""
    names = [f"q{j}" for j in range(17)]
    answers = ", ".join(f"(hash(i, {j}) % 100 < {10 + 4 * j})::INT AS {name}" for j, name in enumerate(names))
    session.execute(f"CREATE TABLE wide AS SELECT {answers} FROM range(2000) AS r(i)")
    return replace(
        POLICY,
        source=TableReference("", "main", "wide"),
        attributes=tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in names),
    )


# --- what is found --------------------------------------------------------------------------------------------------


POINTS = [
    (SweepMethod.FULL_DOMAIN, Among.POPULATION, SWEPT.gains[2]),
    (SweepMethod.FULL_DOMAIN_NO_ATTACK, Among.SOURCE, SWEPT.gains[2]),
    (SweepMethod.FULL_DOMAIN, Among.SOURCE, SWEPT.gains[1]),
    (SweepMethod.FULL_DOMAIN_NO_ATTACK, Among.POPULATION, SWEPT.gains[3]),
]


@pytest.mark.parametrize("points", once([POINTS[:2], POINTS[2:]]), ids=["two", "others"])
def test_points_are_what_releases_would_pay(
    jobs: JobManager, database: Database, run: Callable[..., Release], points: list[tuple[SweepMethod, Among, Decimal]]
) -> None:
    sweep = computed(jobs, database, with_population())
    game = POLICY.game
    assert game is not None
    for method, among, gain in points:
        model = Profitability if method is SweepMethod.FULL_DOMAIN else NoAttack
        release = run(
            database,
            replace(
                with_population() if among is Among.POPULATION else POLICY,
                game=replace(game, publisher_loss=gain, adversary_gain=gain),
                privacy_models=(model(Success.JOURNALIST),),
                quality_model=PublisherPayoutModel(Success.JOURNALIST),
                suppression_limit=Decimal(1),
                release=plain_target("main", "out", if_exists=IfExists.REPLACE),
                repeat_reason="a test",
            ),
        )
        found = point(sweep, method, among, gain)
        assert release.score == pytest.approx(400 * 100 - found.payout)
        assert release.suppressed_records == found.suppressed
        assert tuple(attribute.level for attribute in release.attributes) == found.transformation


def test_a_sweep_has_every_gain_by_every_method(jobs: JobManager, database: Database) -> None:
    methods = [method for method in SweepMethod if method is not SweepMethod.SAFE_HARBOR]
    alone, among = computed(jobs, database), computed(jobs, database, with_population())
    for sweep, adversaries in ((alone, [Among.SOURCE]), (among, list(Among))):
        assert [(p.method, p.among, p.gain) for p in sweep.points] == [
            (method, adversary, gain) for method in methods for adversary in adversaries for gain in SWEPT.gains
        ]
    # A person among more people is attacked less.
    for method in methods:
        for gain in SWEPT.gains:
            of_all = point(among, method, Among.POPULATION, gain)
            assert point(among, method, Among.SOURCE, gain) == point(alone, method, Among.SOURCE, gain)
            assert of_all.payout >= point(alone, method, Among.SOURCE, gain).payout
            # Without a gain, nobody attacks; people without a letter are withheld.
            assert of_all.suppressed >= 5
            assert gain or (of_all.payout, of_all.suppressed, of_all.attacked) == (395 * 100.0, 5, 0)


def test_a_sweep_says_where_it_is_from_and_is_all_that_is_written(
    jobs: JobManager, open_manager: Open, database: Database, session: Session
) -> None:
    sweep = computed(jobs, database, with_population())
    assert sweep.source == TableReference("test", "main", "people")
    assert (sweep.records, sweep.population_records) == (400, 1600)
    assert sweep.quasi_identifiers == ("age", "letter", "sex")
    assert (sweep.publisher_benefit, sweep.adversary_cost) == (Decimal(100), Decimal(4))
    assert (sweep.break_even, sweep.if_method_known) == (BreakEven.KEEP, False)
    assert (sweep.lattice_size, sweep.counted) == ("24", 24)
    assert 0 < sweep.sweep_seconds < sweep.seconds
    assert sweep.policy == "{}"
    job = jobs.get(sweep.job)
    assert job.result == sweep.number
    # It is stored: another manager finds it too.
    assert open_manager().get(sweep.job) == job
    tables = session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary")
    assert sorted(tables) == [("everybody",), ("people",)]
    assert session.value("SELECT count(*) FROM tableveil.releases") == 0
    # Hierarchies written out in the policy are kept for releases only.
    assert session.value("SELECT count(*) FROM tableveil.hierarchies") == 0
    session.execute("DELETE FROM everybody WHERE i = 1000")
    again = computed(jobs, database, with_population())
    assert again.source_fingerprint == sweep.source_fingerprint
    assert again.population_fingerprint != sweep.population_fingerprint
    assert computed(jobs, database).population_fingerprint == ""


def test_safe_harbor_is_one_more_curve(jobs: JobManager, database: Database) -> None:
    age, *others = POLICY.attributes
    minimum = replace(others[0], minimum_level=1)
    policy = replace(POLICY, attributes=(replace(age, hierarchy=SafeHarborAge()), minimum, *others[1:]))
    sweep = computed(jobs, database, policy)
    found = [p for p in sweep.points if p.method is SweepMethod.SAFE_HARBOR]
    assert [p.gain for p in found] == list(SWEPT.gains)
    assert {p.transformation for p in found} == {(1, 1, 0)}
    # Only withheld records are ever suppressed.
    assert {p.suppressed for p in found} == {5}
    assert [p.payout for p in found] == sorted((p.payout for p in found), reverse=True)
    assert found[0].attacked == 0 < found[-1].attacked


def test_what_pays_if_the_method_is_known(jobs: JobManager, database: Database) -> None:
    sweep = computed(jobs, database, with_population(), replace(SWEPT, if_method_known=True))
    assert sweep.if_method_known
    for p in sweep.points:
        by_record = p.method in (SweepMethod.RECORD_LEVEL, SweepMethod.RECORD_LEVEL_NO_ATTACK)
        assert (p.payout_if_method_known is not None) is by_record
        assert p.payout_if_method_known is None or p.payout_if_method_known <= p.payout + 1e-6


# --- what is refused ------------------------------------------------------------------------------------------------


def test_a_policy_that_does_not_fit_is_refused(jobs: JobManager) -> None:
    policy = replace(POLICY, attributes=(*POLICY.attributes, AttributePolicy("ilness", Role.SENSITIVE)))
    with pytest.raises(InvalidError) as raised:
        jobs.submit(payout_sweep_work(policy, SWEPT, "{}"))
    assert [fault.field for fault in raised.value.faults] == ["attributes[4].column"]
    assert jobs.page(None, 10) == []


def failed(jobs: JobManager, policy: Policy) -> tuple[str, list[str]]:
    failure = ended(jobs, jobs.submit(payout_sweep_work(policy, SWEPT, "{}")).number).failure
    assert failure is not None
    assert failure.kind is FailureKind.INVALID
    return failure.code, [fault.field for fault in failure.faults]


def test_ranges_that_are_measured_fail_the_job(jobs: JobManager, session: Session) -> None:
    session.execute("ALTER TABLE people ALTER age TYPE DOUBLE")
    assert failed(jobs, POLICY) == ("QUALITY_UNCOUNTABLE", ["attributes[0].hierarchy"])


def test_too_many_transformations_fail_the_job(jobs: JobManager, session: Session) -> None:
    names = [f"q{j}" for j in range(20)]
    session.execute(f"CREATE TABLE wider AS SELECT {', '.join(f'0 AS {name}' for name in names)}")
    attributes = tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in names)
    policy = replace(POLICY, source=TableReference("", "main", "wider"), attributes=attributes)
    assert failed(jobs, policy) == ("TOO_MANY_TRANSFORMATIONS", ["attributes"])


def test_a_population_smaller_than_its_part_fails_the_job(jobs: JobManager, session: Session) -> None:
    session.execute("DELETE FROM everybody WHERE i >= 399")
    assert failed(jobs, with_population()) == ("POLICY_INVALID", ["population.table"])


def test_a_source_that_is_no_part_of_the_population_fails_the_job(jobs: JobManager, session: Session) -> None:
    session.execute("UPDATE everybody SET age = 63 WHERE age >= 20")
    assert failed(jobs, with_population()) == ("POLICY_INVALID", ["population.table"])


def test_unknown_payout_sweep(database: Database, jobs: JobManager) -> None:
    with pytest.raises(NotFoundError) as raised:
        Results[PayoutSweep](database, JobKind.PAYOUT_SWEEP).get(1)
    assert raised.value.code == "PAYOUT_SWEEP_NOT_FOUND"


# --- as other jobs --------------------------------------------------------------------------------------------------


def test_the_same_request_is_the_same_job(jobs: JobManager) -> None:
    first = ended(jobs, jobs.submit(payout_sweep_work(POLICY, SWEPT, "{}"), "r-1").number)
    assert jobs.submit(payout_sweep_work(POLICY, SWEPT, "{}"), "r-1") == first
    others: tuple[tuple[str, SweptGains], ...] = (
        ('{"k": 7}', SWEPT),
        ("{}", replace(SWEPT, gains=SWEPT.gains[1:])),
        ("{}", replace(SWEPT, if_method_known=True)),
    )
    for document, swept in others:
        with pytest.raises(ConflictError) as raised:
            jobs.submit(payout_sweep_work(POLICY, swept, document), "r-1")
        assert raised.value.code == "REQUEST_ID_REUSED"


@pytest.mark.long
def test_cancelled_after_its_progress_shows(jobs: JobManager, session: Session) -> None:
    job = jobs.submit(payout_sweep_work(wide(session), SWEPT, "{}"))
    for seen in jobs.watch(job.number, lambda: False):
        if seen.progress is not None:
            break
    assert seen.phase is JobPhase.SEARCHING
    assert seen.progress is not None
    assert 0 < seen.progress.checked < 2**17
    assert seen.progress.lattice_size == str(2**17)
    jobs.cancel(job.number)
    cancelled = ended(jobs, job.number)
    assert (cancelled.state, cancelled.result) == (JobState.CANCELLED, None)
    assert session.value("SELECT count(*) FROM tableveil.payout_sweeps") == 0


def test_close_interrupts_and_the_request_starts_anew(open_manager: Open, session: Session) -> None:
    dead = open_manager(concurrent_jobs=1)
    policy = wide(session)
    first = dead.submit(payout_sweep_work(policy, SWEPT, "{}"), "r-1")
    dead.close(SECONDS)
    jobs = open_manager()
    interrupted = jobs.get(first.number)
    assert interrupted.state is JobState.INTERRUPTED
    assert interrupted.request.kind is JobKind.PAYOUT_SWEEP
    again = jobs.submit(payout_sweep_work(policy, SWEPT, "{}"), "r-1")
    assert again.number != first.number
    jobs.cancel(again.number)
