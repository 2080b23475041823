"""Releases at the record level: what is written, what it pays and to whom, and that nothing else gets through."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control, Progress, Stopped
from tableveil.errors import Change, InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels, SafeHarborAge
from tableveil.hierarchy.definition import HierarchyDefinition
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, SuppressionOnly
from tableveil.pipelines import record_level as run_record_level
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.lattice import lattice_of
from tableveil.pipelines.own_levels import plan_of
from tableveil.pipelines.work import JobReport
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
    ReleaseKind,
    Role,
    SafeHarbor,
    Success,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.record_level import RECORD_LEVEL, RecordLevel
from tableveil.state.releases import Release
from tests.engine.search.changes import stricter, with_changes
from tests.inserted import insert
from tests.once import once
from tests.searched import searched
from tests.service.jobs.contexts import context, count
from tests.service.jobs.managed import other_warnings
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]
Row = tuple[Any, ...]

GAME = Game(Decimal(300), Decimal(300), Decimal(300), Decimal(50))
"""Nobody of 6 is attacked."""

LETTERS = InlineLevels(tuple((c, "vowel" if c in "aei" else "other", "*") for c in "abcdefghi"))

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("letter", Role.QUASI_IDENTIFIER, LETTERS),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "39", ("10", "20"))),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column=None,
    privacy_models=(Profitability(Success.JOURNALIST),),
    release=plain_target("main", "out"),
    suppression_limit=Decimal("0.5"),
    quality_model=PublisherPayoutModel(Success.JOURNALIST),
    game=GAME,
    methods=(RecordLevel(),),
)

EVERYONE = Population(TableReference("", "main", "everyone"))


def drawn(random: Random, rows: int) -> list[Row]:
    return [
        (random.choice("aaaabbbcdefghi"), min(int(random.expovariate(0.1)), 39), random.choice(["flu", "cold"]))
        for _ in range(rows)
    ]


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def people(session: Session) -> list[Row]:
    """The rows of the source; everyone has four times as many."""
    random = Random(5)
    rows, others = drawn(random, 300), drawn(random, 900)
    create(session, "people", rows)
    create(session, "everyone", [row[:2] for row in rows + others])
    return rows


def create(session: Session, name: str, rows: Sequence[Row]) -> None:
    columns = dict(zip(("letter", "age", "illness"), zip(*rows, strict=True), strict=False))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    for kind in ("view", "table"):
        for (name,) in session.rows(
            f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE schema_name = 'main' AND NOT internal"
        ):
            session.execute(f"DROP {kind} {quoted(name)}")
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# --- the definition, transcribed ------------------------------------------------------------------------------------


def labels(row: Row, levels: tuple[int, int]) -> Row:
    letter, age = row[:2]
    letters = (letter, "vowel" if letter in "aei" else "other", "*")
    width = (1, 10, 20)[min(levels[1], 2)]
    low = age // width * width
    ages = str(age) if levels[1] == 0 else "*" if levels[1] == 3 else f"[{low}, {low + width - 1}]"
    return (letters[levels[0]], ages)


def lost(row: Row, levels: tuple[int, int]) -> float:
    leaves = [(1, 3 if row[0] in "aei" else 6, 9)[levels[0]], (1, 10, 20, 40)[levels[1]]]
    return math.log(math.prod(leaves)) / math.log(9 * 40)


LATTICE = sorted(itertools.product(range(3), range(4)), key=lambda levels: (sum(levels), levels))


def best_of(rows: Sequence[Row], population: Sequence[Row]) -> dict[Row, tuple[float, tuple[int, int]]]:
    """The best payout of each different row, and its levels."""
    sizes = {levels: Counter(labels(other, levels) for other in population) for levels in LATTICE}

    def payout(row: Row, levels: tuple[int, int]) -> float:
        size = sizes[levels][labels(row, levels)]
        attacked = GAME.adversary_gain > GAME.adversary_cost * size
        return 300 * (1 - lost(row, levels)) - (300 / size if attacked else 0)

    return {
        row: max(((payout(row, levels), levels) for levels in LATTICE), key=lambda found: found[0])
        for row in {row[:2] for row in rows}
    }


# --- what is released -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("population", once([None, EVERYONE]))
def test_every_record_gets_what_pays_most(
    database: Database, session: Session, run: Run, people: list[Row], population: Population | None
) -> None:
    labelled = replace(POLICY.release, label_columns=True)
    release = run(database, replace(POLICY, population=population, release=labelled))
    everyone = people if population is None else session.rows("SELECT letter, age FROM everyone")
    found = best_of(people, everyone)
    expected = Counter((*labels(row, found[row[:2]][1]), row[2]) for row in people)
    rows = session.rows("SELECT letter, age, illness FROM out")
    assert Counter(rows) == expected
    assert rows == session.rows("SELECT letter, age, illness FROM out ORDER BY letter_rank, age_rank, illness")
    paid = sum(found[row[:2]][0] for row in people)
    assert release.score == pytest.approx(300 * 300 - paid, rel=1e-9)
    assert (release.proof.optimal, release.proof.lower_bound) == (True, release.score)
    assert searched(release).checked == 12
    # People see at which levels the records are.
    for j, attribute in enumerate(release.attributes):
        levels = Counter(found[row[:2]][1][j] for row in people)
        assert dict(attribute.levels) == levels
        assert attribute.level == max(levels)
        assert len(levels) > 1
    assert other_warnings(release)[-1].startswith("Levels are mixed: 'letter' (levels 0, 1, 2); 'age' (levels 0, 1")
    reached = {(g.model, g.parameter): (g.before, g.after) for g in release.guarantees}
    before, after = reached["publisher_payout (journalist)", "payout"]
    assert after == pytest.approx(paid, rel=1e-9)
    assert before is not None
    assert before < paid
    _, known = reached["publisher_payout (journalist who knows the method)", "payout"]
    assert known is not None
    assert known <= paid + 1e-6


def test_against_an_adversary_who_knows_the_method_it_pays_too(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    release = run(database, replace(POLICY, methods=(RecordLevel(adversary_knows_method=True),)))
    rows = session.rows("SELECT letter, age, illness FROM out")
    # Labels of this policy tell their levels, so the people who got the same ones are those of the class.
    classes = Counter(row[:2] for row in rows)
    levels_of = {labels(row, at): (row, at) for row in people for at in LATTICE}
    paid = 0.0
    for label, size in classes.items():
        payout = 300 * (1 - lost(*levels_of[label])) - (300 / size if size < 6 else 0)
        assert payout >= -1e-6
        paid += size * payout
    assert release.score == pytest.approx(300 * 300 - paid, rel=1e-9)
    assert not release.proof.optimal
    assert release.proof.lower_bound < release.score
    found = best_of(people, people)
    optimum = sum(found[row[:2]][0] for row in people)
    assert release.proof.lower_bound == pytest.approx(300 * 300 - optimum, rel=1e-9)
    reached = {g.model: g.after for g in release.guarantees}
    assert reached["publisher_payout (journalist who knows the method)"] == pytest.approx(paid, rel=1e-9)
    assert (reached["publisher_payout (journalist)"] or 0) >= paid


@pytest.mark.long
def test_with_people_who_are_not_in_the_source_the_method_is_known_as_well(
    database: Database, run: Run, people: list[Row]
) -> None:
    knows = replace(POLICY, methods=(RecordLevel(adversary_knows_method=True),), population=EVERYONE)
    release = run(database, knows)
    reached = {g.model: g.after for g in release.guarantees}
    known, published = (reached[f"publisher_payout (journalist{who})"] for who in (" who knows the method", ""))
    assert known is not None
    assert published is not None
    assert 0 < known <= published
    assert release.score == pytest.approx(300 * 300 - known, rel=1e-9)


def test_no_attack_leaves_nobody_among_few(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    models = (NoAttack(Success.JOURNALIST),)
    release = run(database, replace(POLICY, privacy_models=models))
    reached = {g.model: g.after for g in release.guarantees}
    assert reached["no_attack (journalist)"] == 0
    for letter, age in session.rows("SELECT DISTINCT letter, age FROM out"):
        sizes = [sum(labels(other, at) == (letter, age) for other in people) for at in LATTICE]
        assert max(sizes) >= 6


def test_every_erased_column_is_named(database: Database, run: Run, people: list[Row]) -> None:
    """Nobody may be found among fewer than half of the people: that leaves no letter and no age."""
    nobody = replace(GAME, adversary_gain=Decimal(300), adversary_cost=Decimal(300) / (len(people) - 1))
    release = run(database, replace(POLICY, privacy_models=(NoAttack(Success.JOURNALIST),), game=nobody))
    erased = [attribute.column for attribute in release.attributes if attribute.distinct_after == 1]
    named = [warning.split("'")[1] for warning in other_warnings(release) if "says nothing" in warning]
    assert named == erased != []


@pytest.mark.long
def test_what_breaks_even_goes_as_the_policy_says(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    # With losses like these nothing pays but what is safe.
    game = replace(GAME, publisher_loss=Decimal(100000), publisher_benefit=Decimal(1), adversary_cost=Decimal("1.5"))
    kept = run(database, replace(POLICY, game=game))
    assert kept.suppressed_records == 0
    at_top = session.value("SELECT count(*) FROM out WHERE letter = '*' AND age = '*'")
    assert at_top
    strict = replace(
        POLICY,
        game=game,
        privacy_models=(Profitability(Success.JOURNALIST, BreakEven.SUPPRESS),),
        suppression_limit=Decimal(1),
        suppressed_records=SuppressedRecords.BLANK,
        marker_column="gone",
        release=plain_target("main", "out", ReleaseKind.VIEW, IfExists.REPLACE, guards=UNGUARDED),
        repeat_reason="a test",
    )
    dropped = run(database, strict)
    assert dropped.suppressed_records == at_top
    assert session.value("SELECT count(*) FROM out WHERE gone AND letter IS NULL AND illness IS NULL") == at_top
    assert dropped.score == kept.score


# --- kinds of columns -----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_hostile_names_nulls_dates_and_floats(database: Database, session: Session, run: Run) -> None:
    target, marker = 'o"ut', "sup'"
    names = ("l0", 'c"0', "select", "class_size", "illness")
    session.execute(
        'CREATE TABLE "it\'s"("l0" DATE, "c""0" VARCHAR, "select" DOUBLE, class_size DECIMAL(4, 1), illness VARCHAR)'
    )
    random = Random(3)
    rows = [
        (
            random.choice([f"2020-{random.choice('123'):0>2}-{random.choice('12345'):0>2}", "2020-02-05", None]),
            random.choice(["it's", '"*"', "\\", None]) if i else None,
            random.choice(["0.0", "-0.0", "1.5", "2.0"]),
            random.choice(["1.0", "2.5", None]),
            "flu",
        )
        for i in range(120)
    ]
    insert(session, '"it\'s"', rows)
    hierarchies: tuple[HierarchyDefinition, ...] = (
        Dates("2020-01-01", "2020-12-31", (DateUnit.MONTH, DateUnit.QUARTER)),
        InlineLevels((("it's", "'\"", "*"), ('"*"', "'\"", "*"), ("\\", "\\", "*"))),
        SuppressionOnly(),
        SuppressionOnly(),
    )
    attributes = [
        AttributePolicy(name, Role.QUASI_IDENTIFIER, hierarchy)
        for name, hierarchy in zip(names, hierarchies, strict=False)
    ]
    attributes[1] = replace(attributes[1], nulls=NullHandling.SUPPRESS)
    policy = replace(
        POLICY,
        source=TableReference("", "main", "it's"),
        attributes=(*attributes, AttributePolicy("illness", Role.SENSITIVE)),
        release=plain_target("main", target, ReleaseKind.VIEW),
        suppressed_records=SuppressedRecords.BLANK,
        marker_column=marker,
    )
    release = run(database, policy)
    withheld = sum(row[1] is None for row in rows)
    assert release.suppressed_records == withheld
    assert all(len(attribute.levels) > 1 for attribute in release.attributes[:3])
    known: dict[str, set[str | None]] = {
        "l0": {None, "*", "2020-Q1", *(d for d, *_ in rows), *(d[:7] for d, *_ in rows if d)},
        'c"0': {"*", "it's", '"*"', "\\", "'\""},
        "select": {"*", "0.0", "1.5", "2.0"},
        "class_size": {"*", None, "1.0", "2.5"},
    }
    for name, possible in known.items():
        shown = session.rows(
            f"SELECT DISTINCT {quoted(name)}::VARCHAR FROM {quoted(target)} WHERE NOT {quoted(marker)}"
        )
        assert {value for (value,) in shown} <= possible
    assert session.value('SELECT sum(class_size_) FROM "o""ut_classes"') == len(rows) - withheld


def test_what_everybody_has_unchanged_has_the_type_of_labels(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    free = replace(GAME, publisher_loss=Decimal(0))
    release = run(database, replace(POLICY, game=free))
    types = dict(row[:2] for row in session.rows("DESCRIBE out"))
    assert (types["age"], [attribute.level for attribute in release.attributes]) == ("VARCHAR", [0, 0])
    assert [text for text in other_warnings(release) if "learns the value" not in text] == []
    assert release.score == 0


@pytest.mark.long
def test_where_nothing_may_be_released_the_release_is_empty(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    create(session, "people", people[:3])
    strict = replace(POLICY, privacy_models=(NoAttack(Success.JOURNALIST),), suppression_limit=Decimal(1))
    release = run(database, strict)
    assert other_warnings(release) == ("All 3 records are suppressed: the release is empty.",)
    assert session.value("SELECT count(*) FROM out") == 0
    assert release.score == 3 * 300


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "knows"),
    once([(NoAttack(Success.JOURNALIST), False), (Profitability(Success.JOURNALIST), True)], several=True),
)
def test_what_is_said_to_be_feasible_is(
    database: Database,
    session: Session,
    run: Run,
    model: NoAttack | Profitability,
    knows: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tableveil.pipelines.relaxing.MOST_SECONDS", 1000.0)
    create(session, "people", drawn(Random(5), 40))
    letter, age, illness = POLICY.attributes
    narrow = replace(
        POLICY,
        attributes=(replace(letter, maximum_level=1), replace(age, maximum_level=1), illness),
        privacy_models=(model,),
        game=replace(GAME, adversary_cost=Decimal(30), publisher_loss=Decimal(2000)),
        suppression_limit=Decimal("0.01"),
        methods=(RecordLevel(adversary_knows_method=knows),),
        repeat_reason="a test",
    )
    with pytest.raises(InfeasibleError, match="no levels of each record") as error:
        run(database, narrow)
    assert {"privacy_models[0]", "suppression_limit"} <= {fault.field for fault in error.value.faults}
    relaxations = {str(relaxation): relaxation for relaxation in error.value.relaxations}
    changed = {change.field for relaxation in relaxations.values() for change in relaxation.changes}
    assert {"game.adversary_gain", "suppression_limit"} <= changed
    assert "suppression_limit = 0.325" in relaxations
    with database.session() as own:
        own.control = Control()
        job = context(own)
        counted = count(job, narrow)
        options = RECORD_LEVEL.options(narrow)

        def feasible(changes: Sequence[Change]) -> bool:
            policy = with_changes(narrow, changes)
            lattice, _ = lattice_of(policy, [dictionary.levels.top for dictionary in counted.dictionaries])
            assert lattice is not None
            relaxed = replace(counted, policy=policy, lattice=lattice)
            plan = plan_of(relaxed, run_record_level._solve(job, relaxed, options).own)
            return plan.suppressed_records <= policy.suppressible(plan.records)

        for relaxation in relaxations.values():
            assert feasible(relaxation.changes)
            assert relaxation.nearest or knows
            for change in relaxation.changes if relaxation.nearest else ():
                others = [other for other in relaxation.changes if other != change]
                smaller = stricter(narrow, change)
                others += [] if smaller is None else [Change(change.field, smaller)]
                assert not feasible(others), (relaxation, change)


def test_labels_that_mean_different_values_at_different_levels_are_refused(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    letter, *others = POLICY.attributes
    rows = tuple((c, "b" if c in "abc" else c, "*") for c in "abcdefghi")
    ambiguous = replace(POLICY, attributes=(replace(letter, hierarchy=InlineLevels(rows)), *others))
    with pytest.raises(InvalidError) as error:
        run(database, ambiguous)
    [fault] = error.value.faults
    assert error.value.code == "LABELS_AMBIGUOUS"
    assert fault.field == "attributes[0].hierarchy"
    assert "at the levels 0 and 1" in fault.found
    # Labels that are equal at both levels, such as d, are not ambiguous, nor columns that use one level only.
    run(database, replace(ambiguous, attributes=(replace(ambiguous.attributes[0], minimum_level=1), *others)))
    assert session.value("SELECT count(*) FROM out WHERE letter = 'd'")


def test_decimals_are_measured_and_cannot_be_counted(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    session.execute("ALTER TABLE people ALTER age TYPE DECIMAL(4, 1)")
    with pytest.raises(InvalidError) as error:
        run(database, POLICY)
    assert error.value.faults[0].field == "attributes[1].hierarchy"


def test_too_many_transformations_are_refused(database: Database, session: Session, run: Run) -> None:
    names = [f"q{j}" for j in range(24)]
    session.execute(f"CREATE TABLE wide AS SELECT {', '.join(f'i % 2 AS {name}' for name in names)} FROM range(9) r(i)")
    wide = tuple(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in names)
    with pytest.raises(InvalidError, match="16,777,216 transformations of 2 combinations"):
        run(database, replace(POLICY, source=TableReference("", "main", "wide"), attributes=wide))


def test_cancelled_it_leaves_nothing(database: Database, session: Session, people: list[Row]) -> None:
    seen = []
    with database.session() as own:
        own.control = control = Control()

        def stop(progress: Progress) -> None:
            seen.append((progress.checked, progress.lattice_size))
            if progress.checked == 5:
                control.cancel()

        with pytest.raises(Stopped):
            anonymize(context(own, database, report=JobReport(on_progress=stop)), POLICY)
    assert seen == [(number, 12) for number in range(1, 6)]
    assert session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'out%'") == []


def test_safe_harbor_is_where_levels_start(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    session.execute("UPDATE people SET age = 2 * age + 20")
    letter, age, illness = POLICY.attributes
    ages = replace(age, hierarchy=SafeHarborAge())
    models = (*POLICY.privacy_models, SafeHarbor())
    release = run(database, replace(POLICY, attributes=(letter, ages, illness), privacy_models=models))
    levels = dict(release.attributes[1].levels)
    assert min(levels) == 1
    assert len(levels) > 1
    assert session.value("SELECT count(*) FROM out WHERE age IN ('90', '92', '98')") == 0
    assert session.value("SELECT count(*) FROM out WHERE age = '22'")


def test_columns_that_give_a_label_away_are_refused_by_the_highest_level(
    database: Database, session: Session, run: Run, people: list[Row]
) -> None:
    session.execute("ALTER TABLE people ADD COLUMN kind VARCHAR")
    session.execute("UPDATE people SET kind = CASE WHEN letter IN ('a', 'e', 'i') THEN 'v' ELSE 'o' END")
    # It tells nothing more than level 1, but some records are at level 2.
    telling = AttributePolicy("kind", Role.INSENSITIVE)
    with pytest.raises(InvalidError, match="'kind', which determines 'letter' more finely than its released level 2"):
        run(database, replace(POLICY, attributes=(*POLICY.attributes, telling)))
    run(database, replace(POLICY, attributes=(*POLICY.attributes, replace(telling, acknowledged=True))))
