"""Releases of tables in which people have several records, against plain Python that counts people."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from random import Random

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.convert.releases import release_to_proto
from tableveil.errors import InfeasibleError, InternalError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.lookups.reports import BesideLedger
from tableveil.pipelines.frontier import run_frontier
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    Dominance,
    KAnonymity,
    LossModel,
    Policy,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.privacy.people import DominanceRule, KPeopleRule
from tableveil.report.facts import public_facts
from tableveil.requests.frontier import FrontierGrid
from tableveil.risk import ClassSizes, prosecutor_risk
from tableveil.state import jobs as store
from tableveil.state import persons
from tableveil.state.frontiers import FRONTIERS
from tableveil.state.releases import Release
from tableveil.state.seen import Audience
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
Row = tuple[str | None, int, int, int | None]

LETTERS = InlineLevels(tuple((c, "vowel" if c in "aei" else "other", "*") for c in "abcdefghi"))

POLICY = Policy(
    source=TableReference("", "main", "visits"),
    attributes=(
        AttributePolicy("letter", Role.QUASI_IDENTIFIER, LETTERS),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "39", ("10", "20"))),
        AttributePolicy("visit", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("person", Role.IDENTIFYING),
    ),
    person_column="person",
    privacy_models=(KAnonymity(4),),
    release=plain_target("main", "out"),
    quality_model=LossModel(Aggregate.ARITHMETIC_MEAN),
    suppression_limit=Decimal("0.2"),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal"):
        session.execute(f'DROP TABLE "{name}"')
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")


def visits(seed: int, people: int = 60, most: int = 8) -> list[Row]:
    """Each person's letter is nearly constant; some people have many visits. A visit's number tells its row."""
    random = Random(seed)
    rows: list[Row] = []
    for person in range(people):
        letter, age = random.choice("aaaabbbcdefghi"), min(int(random.expovariate(0.1)), 39)
        for _ in range(random.choice([1, 1, 2, 3, most])):
            rows.append((letter if random.random() < 0.9 else random.choice("abc"), age, len(rows), person))
    return rows


def create(session: Session, rows: Sequence[Row]) -> None:
    columns = dict(zip(("letter", "age", "visit", "person"), zip(*rows, strict=True), strict=True))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM given")


def classes(session: Session, rows: Sequence[Row]) -> list[Counter[int | None]]:
    """Per released class the records of each person, found by the numbers of visits."""
    person = {row[2]: row[3] for row in rows}
    found: dict[tuple[str, str], Counter[int | None]] = defaultdict(Counter)
    for letter, age, visit in session.rows("SELECT letter, age, visit FROM out"):
        found[letter, age][person[visit]] += 1
    return list(found.values())


LOCAL = replace(POLICY, methods=(LocalRecoding(),))


# --- promises -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [POLICY, LOCAL], ids=["full-domain", "local recoding"])
@pytest.mark.parametrize("seed", once([1, 2]))
def test_every_class_has_k_people(database: Database, session: Session, run: Run, policy: Policy, seed: int) -> None:
    rows = visits(seed)
    create(session, rows)
    release = run(database, policy)
    found = classes(session, rows)
    assert min(map(len, found)) >= 4
    assert sum(people.total() for people in found) == release.records - release.suppressed_records
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees}
    assert reached["k_anonymity"] == min(map(len, found))
    assert reached["dominance"] == max(max(people.values()) / people.total() for people in found)
    assert persons.count_people(session.ledger, release.number) == 60, "which a report tells"
    check_risks(session, release, rows, found)


def check_risks(session: Session, release: Release, rows: Sequence[Row], found: Sequence[Counter[int | None]]) -> None:
    """The owner's risks are the largest shares of one person, everywhere; the public ones follow from the rows."""
    before: dict[tuple[str | None, int], Counter[int | None]] = defaultdict(Counter)
    for letter, age, _, person in rows:
        before[letter, age][person] += 1
    for stage, of in (("before", list(before.values())), ("after", found)):
        risks = [Fraction(max(people.values()), people.total()) for people in of for _ in range(people.total())]
        measures = {
            ("highest_risk", None): float(max(risks)),
            ("average_risk", None): pytest.approx(float(sum(risks) / len(risks))),
            ("lowest_risk", None): float(min(risks)),
            ("unique_records", None): sum(people.total() for people in of if len(people) == 1),
            ("records_above_threshold", "0.2"): sum(risk > Fraction(1, 5) for risk in risks),
        }
        query = "SELECT measure, threshold, value FROM tableveil.release_risks WHERE release = ? AND stage = ?"
        stored = {(name, threshold): value for name, threshold, value in session.rows(query, [release.number, stage])}
        assert {key: stored[key] for key in measures} == measures
    highest = {"highest_risk": 1 / min(people.total() for people in found)}
    assert dict(session.rows("SELECT measure, value FROM out_risk WHERE measure = 'highest_risk'")) == highest
    assert release.risk_by_size.highest == highest["highest_risk"] < release.risk_after.highest
    everybody = release_to_proto(replace(release, audience=Audience.PUBLIC))
    assert everybody.risk_after == everybody.risk_by_size
    assert everybody.risk_after.highest == highest["highest_risk"]
    assert release_to_proto(release).risk_after.highest == release.risk_after.highest


def test_a_wrong_risk_does_not_pass_the_verification(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(session, visits(1))
    monkeypatch.setattr(
        "tableveil.pipelines.full_domain.people_risks",
        lambda policy, facts, before, released, pool, joint: (
            None,
            prosecutor_risk(ClassSizes.of(released.counts), ()),
        ),
    )
    with pytest.raises(InternalError):
        run(database, POLICY)


@pytest.mark.parametrize("policy", once([POLICY, LOCAL]), ids=["full-domain", "local recoding"])
def test_nobody_dominates_a_class(database: Database, session: Session, run: Run, policy: Policy) -> None:
    rows = visits(3)
    create(session, rows)
    run(database, replace(policy, privacy_models=(KAnonymity(3), Dominance(Decimal("0.25")))))
    found = classes(session, rows)
    assert max(Fraction(max(people.values()), people.total()) for people in found) <= Fraction(1, 4)
    assert min(map(len, found)) >= 4


@pytest.mark.parametrize("policy", once([POLICY, LOCAL]), ids=["full-domain", "local recoding"])
def test_shown_suppressed_records_are_of_k_people(
    database: Database, session: Session, run: Run, policy: Policy
) -> None:
    rows = [*visits(4), *(("i", 39, 1000 + i, 1000 + i) for i in range(5))]
    create(session, rows)
    kept = replace(policy, suppressed_records=SuppressedRecords.KEEP, marker_column="gone")
    release = run(database, replace(kept, suppression_limit=Decimal("0.5")))
    found = classes(session, rows)
    assert all(len(people) >= 4 for people in found)
    assert release.risk_after.highest == max(max(people.values()) / people.total() for people in found)


@pytest.mark.parametrize("kind", once([(POLICY, "person"), (LOCAL, None), (POLICY, None), (LOCAL, "person")]))
def test_who_knows_that_somebody_was_suppressed_looks_among_the_suppressed(
    database: Database, session: Session, run: Run, kind: tuple[Policy, str | None]
) -> None:
    """All others are in large classes: the highest risk is that of the suppressed records, which are shown."""
    policy, person = kind
    many = [("a", i % 2, i, i) for i in range(40)]
    few = [(letter, 39, 40 + i, 40 + i // 3 * i) for i, letter in enumerate("bcdefghi")]
    rows = [(*row[:3], row[2] if person is None else row[3]) for row in (*many, *few)]
    create(session, rows)
    attributes = tuple(
        replace(one, minimum_level=0, maximum_level=0) if one.column == "letter" else one for one in policy.attributes
    )
    kept = replace(policy, suppressed_records=SuppressedRecords.KEEP, marker_column="gone", attributes=attributes)
    document = '{"suppressed_records": {"handling": "SUPPRESSED_RECORDS_HANDLING_KEEP"}}'
    release = run(database, replace(kept, person_column=person), document=document)
    found = classes(session, rows)
    assert release.suppressed_records == len(few)
    assert release.risk_after.highest == max(max(people.values()) / people.total() for people in found)
    assert release.risk_after.highest > release.risk_by_size.highest
    facts = public_facts(release_to_proto(release), BesideLedger((), "", ()), name="", state="")
    assert facts.highest_risk == 1 / len(few)


@pytest.mark.parametrize("policy", once([POLICY, LOCAL]), ids=["full-domain", "local recoding"])
def test_a_search_that_counts_records_does_not_pass_the_verification(
    database: Database, session: Session, run: Run, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(session, visits(9, people=40, most=30))
    monkeypatch.setattr(KPeopleRule, "releasable", lambda rule, classes: classes.counts >= rule.model.k)
    with pytest.raises(InternalError, match="fewer than k = 4"):
        run(database, policy)
    monkeypatch.setattr(DominanceRule, "releasable", lambda rule, classes: classes.counts >= 4)
    with pytest.raises(InternalError, match=r"not of dominance 0\.25"):
        run(database, replace(policy, privacy_models=(Dominance(Decimal("0.25")),)))


# --- what the owner is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", once([POLICY, LOCAL]), ids=["full-domain", "local recoding"])
def test_the_owner_is_told_of_people(database: Database, session: Session, run: Run, policy: Policy) -> None:
    rows = visits(1)
    create(session, rows)
    release = run(database, replace(policy, release=replace(policy.release, label_columns=True)))
    found = classes(session, rows)
    largest = max(max(people.values()) / people.total() for people in found)
    above = {person for people in found for person, n in people.items() if n * 4 > people.total()}
    one = "1 person" if len(above) == 1 else f"{len(above)} people"
    told = [warning for warning in release.warnings if "1/4" in warning]
    assert [warning[: warning.index(" more than")] for warning in told] == [
        f"One person has {largest:.1%} of the records of a class, and {one}"
    ]
    kept = sum(found, Counter())
    total = Counter(row[3] for row in rows)
    lost = [sum(person not in kept for person in total), sum(0 < kept[p] < n for p, n in total.items())]
    losing = [warning for warning in release.warnings if "Suppression takes" in warning]
    parts = [f"{how} records of {n}" for how, n in zip(("all", "some"), lost, strict=True) if n]
    assert losing == [f"Suppression takes {', and '.join(parts)} of 60 people."] * any(lost)
    assert session.value("SELECT value FROM out_about WHERE fact = 'people'").startswith("several records each")
    assert not any("counts records, not people" in warning for warning in release.warnings)
    bounded = replace(policy, privacy_models=(KAnonymity(4), Dominance(Decimal("0.25"))), repeat_reason="again")
    again = run(database, replace(bounded, release=plain_target("main", "bounded")))
    assert not any("1/4" in warning for warning in again.warnings)


# --- as many people as records --------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("policy", once([POLICY, LOCAL]), ids=["full-domain", "local recoding"])
def test_one_record_each_is_the_release_of_rows_that_are_people(
    database: Database, session: Session, run: Run, policy: Policy
) -> None:
    rows = [(*row[:3], i) for i, row in enumerate(visits(5))]
    create(session, rows)
    first = run(database, policy)
    same = session.rows("FROM out ORDER BY ALL")
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")
    again = run(database, replace(policy, person_column=None, release=plain_target("main", "again")))
    assert session.rows("FROM again ORDER BY ALL") == same
    assert (first.score, first.guarantees) == (again.score, again.guarantees)


@pytest.mark.long
def test_doubled_records_are_the_release_of_single_ones(database: Database, session: Session, run: Run) -> None:
    """Shuffled, too: the search must find the same transformation with twice the records."""
    rows = [(*row[:3], i) for i, row in enumerate(visits(6))]
    create(session, rows)
    single = run(database, POLICY)
    sizes = session.rows("SELECT letter, age, 2 * class_size FROM out_classes ORDER BY ALL")
    doubled = [(letter, age, visit + 1000 * i, person) for letter, age, visit, person in rows for i in range(2)]
    Random(6).shuffle(doubled)
    create(session, doubled)
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")
    double = run(database, replace(POLICY, release=plain_target("main", "again")))
    assert double.score == pytest.approx(single.score)
    assert session.rows("SELECT letter, age, class_size FROM again_classes ORDER BY ALL") == sizes


# --- bad input ------------------------------------------------------------------------------------------------------


def test_a_row_without_a_person_is_refused(database: Database, session: Session, run: Run) -> None:
    create(session, [*visits(7), ("a", 1, 5000, None)])
    with pytest.raises(InvalidError) as error:
        run(database, POLICY)
    assert [fault.field for fault in error.value.faults] == ["person_column"]


def test_all_records_of_one_person_are_infeasible(database: Database, session: Session, run: Run) -> None:
    create(session, [(*row[:3], 1) for row in visits(8)])
    with pytest.raises(InfeasibleError):
        run(database, POLICY)


@pytest.mark.long
def test_a_million_records_of_one_person(database: Database, session: Session, run: Run) -> None:
    """Somebody else's million records hide nobody: they are one person of their class."""
    create(session, visits(10))
    session.execute("ALTER TABLE visits DROP COLUMN visit")
    session.execute("INSERT INTO visits SELECT 'a', 1, 77 FROM range(1000000)")
    attributes = tuple(attribute for attribute in POLICY.attributes if attribute.column != "visit")
    policy = replace(POLICY, attributes=attributes, suppression_limit=Decimal(0))
    release = run(database, policy)
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees}
    most = session.value("SELECT max(class_size) FROM out_classes")
    assert (reached["k_anonymity"] or 0) >= 4
    assert reached["dominance"] == 1_000_000 / most
    bounded = replace(policy, privacy_models=(Dominance(Decimal("0.25")),), repeat_reason="again")
    with pytest.raises(InfeasibleError) as error:
        run(database, replace(bounded, release=plain_target("main", "bounded")))
    assert "privacy_models[0]" in {fault.field for fault in error.value.faults}


# --- answers beside releases ----------------------------------------------------------------------------------------


def at_levels(rows: Sequence[Row], levels: Sequence[int]) -> list[Counter[int | None]]:
    """Per class at a transformation the records of each person."""
    found: dict[tuple[str, int], Counter[int | None]] = defaultdict(Counter)
    for letter, age, _, person in rows:
        labels = (letter, "vowel" if letter and letter in "aei" else "other", "*")
        found[str(labels[levels[0]]), (age, age // 10, age // 20, 0)[levels[1]]][person] += 1
    return list(found.values())


def test_an_explanation_counts_people(database: Database, session: Session, run: Run) -> None:
    rows = visits(11)
    create(session, rows)
    release = run(database, POLICY)
    explanation, names = release.explanation, ("letter", "age")
    assert explanation is not None
    released = {found.column: found.level for found in release.attributes}
    for step in (explanation.itself, *explanation.neighbours):
        levels = [step.level if name in step.columns else released[name] for name in names]
        of = at_levels(rows, [level or 0 for level in levels])
        refused = [people for people in of if len(people) < 4]
        assert (step.classes, step.rejected_classes) == (len(of), len(refused))
        assert step.suppressed_records == sum(people.total() for people in refused)
    # Else records would have said the same.
    assert any(len(people) < 4 <= people.total() for people in at_levels(rows, (0, 0)))


def test_a_frontier_counts_people(database: Database, session: Session) -> None:
    rows = visits(12)
    create(session, rows)
    limits = (Decimal(0), Decimal("0.2"))
    with database.session() as own:
        own.control = Control()
        job = context(own, database, store.next_number(own.ledger))
        store.insert_request(own.ledger, store.Request(job.number, "", "{}", "", POLICY.source, "", "", store.now()))
        number = run_frontier(job, POLICY, FrontierGrid((2, 4, 8), limits))
        found = FRONTIERS.find(own.ledger, number)
    assert found is not None
    for point in found.points:
        valid: dict[tuple[int, ...], int] = {
            levels: lost
            for levels in product(range(3), range(4))
            if (lost := sum(p.total() for p in at_levels(rows, levels) if len(p) < point.k))
            <= point.suppression_limit * len(rows)
        }
        assert point.found is not None
        assert valid[point.found.levels] == point.found.suppressed_records


def test_an_infeasible_answer_offers_a_k_of_people(database: Database, session: Session, run: Run) -> None:
    rows = visits(13)
    create(session, rows)
    asked = replace(POLICY, privacy_models=(KAnonymity(100),), suppression_limit=Decimal(0))
    with pytest.raises(InfeasibleError) as error:
        run(database, asked)
    offered = next(fault for fault in error.value.faults if fault.field == "privacy_models[0]")
    assert "k = 60" in offered.hint
    assert run(database, replace(asked, privacy_models=(KAnonymity(60),))).suppressed_records == 0


def test_nobody_with_more_than_a_share_is_no_warning(database: Database, session: Session, run: Run) -> None:
    """Six people have two visits each, all of one class: everybody has a sixth of it, and k is 4."""
    create(session, [("b", 5, visit, visit // 2) for visit in range(12)])
    release = run(database, POLICY)
    assert [warning for warning in release.warnings if "more than 1/" in warning] == []
