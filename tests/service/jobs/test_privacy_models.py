"""Jobs under models of sensitive values and of a population: what they release, refuse, and say about it."""

import math
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.dictionary import sensitive
from tableveil.errors import ConflictError, InfeasibleError, InternalError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.work import JobReport
from tableveil.policy import (
    AttributePolicy,
    BetaLikeness,
    Choose,
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyLDiversity,
    EstimatedKMap,
    IfExists,
    KAnonymity,
    KMap,
    NullPosition,
    Policy,
    Population,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    Role,
    SearchOptions,
    SuppressedRecords,
    TableReference,
    TCloseness,
    ValueOrder,
)
from tableveil.state.jobs import JobPhase
from tableveil.state.releases import Release
from tests.engine.search.changes import with_changes
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

ILLNESSES = InlineLevels(
    (("flu", "lungs", "*"), ("asthma", "lungs", "*"), ("ulcer", "stomach", "*"), ("gastritis", "stomach", "*"))
)

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE, ILLNESSES),
        AttributePolicy("salary", Role.SENSITIVE, order=ValueOrder(nulls=NullPosition.FIRST)),
    ),
    person_column="id",
    privacy_models=(KAnonymity(2),),
    release=plain_target("main", "released"),
    suppression_limit=Decimal("0.2"),
)
EVERYBODY = Population(TableReference("", "main", "people"))


@pytest.fixture(autouse=True)
def patients(session: Session) -> None:
    """Sixty people; ages from 30 to 39 all have the flu. Everybody is twice as many."""
    draw = random.Random(5)
    session.execute("CREATE TABLE patients (id INTEGER, age INTEGER, sex VARCHAR, illness VARCHAR, salary INTEGER)")
    session.execute("CREATE TABLE people (age INTEGER, sex VARCHAR)")
    rows = []
    for number in range(60):
        age, sex = 20 + number % 4 * 10 + number % 3, draw.choice("fm")
        illness = "flu" if 30 <= age < 40 else draw.choice(["flu", "asthma", "ulcer", "gastritis"])
        salary = None if number == 7 else 1000 * draw.randint(1, 9)
        rows.append((number, age, sex, illness, salary))
    insert(session, "patients", rows)
    insert(session, "people", ((age, sex) for _, age, sex, *_ in rows for _ in range(2)))


def asking(*models: PrivacyModel, **changes: Any) -> Policy:
    return replace(POLICY, privacy_models=models, **changes)


def released(session: Session, column: str) -> dict[tuple[str, str], Counter[Any]]:
    """Per class of the released table, how often each value of a sensitive column occurs."""
    classes: dict[tuple[str, str], Counter[Any]] = defaultdict(Counter)
    for age, sex, value in session.rows(f"SELECT age, sex, {column} FROM released"):
        classes[age, sex][value] += 1
    return classes


# --- what is released -----------------------------------------------------------------------------------------------


def test_every_class_meets_models_of_two_columns_and_of_the_population(
    database: Database, session: Session, run: Run
) -> None:
    models = (
        KAnonymity(3),
        DistinctLDiversity("illness", 3),
        TCloseness("salary", Decimal("0.25"), Distance.ORDERED),
        KMap(8),
    )
    release = run(database, asking(*models, population=EVERYBODY))
    assert all(len(values) >= 3 for values in released(session, "illness").values())
    people = 2 * release.records
    assert people == session.value("SELECT count(*) FROM people")
    achieved = {(one.model, one.column, one.parameter): one.after for one in release.guarantees}
    sizes = [values.total() for values in released(session, "salary").values()]
    assert achieved["k_anonymity", "", "k"] == min(sizes) >= 4
    least = achieved["k_map", "", "k"]
    assert least is not None
    assert least >= 8
    t = achieved["t_closeness (ordered)", "salary", "t"]
    assert t is not None
    assert t <= 0.25
    # Nobody asked for these.
    assert ("beta_likeness", "salary", "beta") in achieved
    assert ("t_closeness (hierarchical)", "illness", "t") in achieved
    assert ("t_closeness (hierarchical)", "salary", "t") not in achieved


SPELLINGS = ("flu", "Flu", " flu", "f\u200blu", "asthma\u0301", "asthm\u0061\u0301", "ASTHM\u00c1")
"""Two values, one with a decomposed letter."""


def folded(value: str) -> str:
    """How Python tells spellings of them apart."""
    return unicodedata.normalize("NFC", value.replace("\u200b", "").replace(" ", "").casefold())


@pytest.fixture
def respelled(session: Session) -> Policy:
    """A source with spellings of two illnesses, and a policy with models of diversity."""
    names = ", ".join(f"'{value}'" for value in SPELLINGS)
    session.execute(f"UPDATE patients SET illness = ([{names}])[1 + (id * 7 + age) % {len(SPELLINGS)}]")
    session.execute("UPDATE patients SET illness = ([' flu', 'FLU'])[1 + id % 2] WHERE age BETWEEN 30 AND 39")
    attributes = tuple(replace(one, hierarchy=None) if one.column == "illness" else one for one in POLICY.attributes)
    models = (
        DistinctLDiversity("illness", 2),
        ProbabilisticLDiversity("illness", Decimal("1.25")),
        EntropyLDiversity("illness", Decimal("1.5")),
        RecursiveCLDiversity("illness", Decimal(4), 2),
    )
    return asking(KAnonymity(2), *models, attributes=attributes)


def test_spellings_of_a_value_are_one_value_of_a_class(
    database: Database, session: Session, run: Run, respelled: Policy
) -> None:
    release = run(database, respelled)
    classes = {key: Counter(map(folded, values.elements())) for key, values in released(session, "illness").items()}
    assert all(len(values) == 2 and max(values.values()) <= values.total() / 1.25 for values in classes.values())
    told = session.rows("SELECT age, sex, distinct_l_illness, entropy_l_illness FROM released_classes")
    assert {(age, sex): different for age, sex, different, _ in told} == dict.fromkeys(classes, 2)
    for age, sex, _, achieved in told:
        shares = [count / classes[age, sex].total() for count in classes[age, sex].values()]
        assert achieved == pytest.approx(math.exp(-sum(share * math.log(share) for share in shares)))
    [warning] = [warning for warning in release.warnings if "illness" in warning and "Unicode" in warning]
    spellings = session.value("SELECT count(DISTINCT illness) FROM patients")
    assert warning.startswith(f"{spellings - 2} values of 'illness' differ")
    assert "flu" not in warning


def test_spellings_that_a_search_told_apart_do_not_pass_the_verification(
    database: Database, run: Run, respelled: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitive, "spellings_of", lambda *_: None)
    with pytest.raises(InternalError, match="2-diversity of illness"):
        run(database, respelled)


@pytest.mark.long
def test_classes_tell_their_own_diversity(database: Database, session: Session, run: Run) -> None:
    run(database, asking(KAnonymity(3)))
    found = session.rows("SELECT age, sex, distinct_l_illness, entropy_l_illness FROM released_classes")
    classes = released(session, "illness")
    assert len(found) == len(classes)
    for age, sex, distinct, entropy in found:
        shares = [count / classes[age, sex].total() for count in classes[age, sex].values()]
        assert distinct == len(shares)
        product = 1.0
        for share in shares:
            product *= share**-share
        assert entropy == pytest.approx(product, abs=1e-8)


@pytest.mark.long
def test_the_distribution_that_was_judged_is_kept_for_the_owner(database: Database, session: Session, run: Run) -> None:
    release = run(database, asking(KAnonymity(2), TCloseness("salary", Decimal("0.5"), Distance.ORDERED)))
    kept = session.rows(
        "SELECT value, records FROM tableveil.sensitive_distributions WHERE release = ? ORDER BY position",
        [release.number],
    )
    source = dict(session.rows("SELECT salary::VARCHAR, count(*) FROM patients GROUP BY 1"))
    assert dict(kept) == source
    assert [value for value, _ in kept] == sorted(source, key=lambda value: -1 if value is None else int(value))


# --- populations ----------------------------------------------------------------------------------------------------


def test_a_subset_is_anonymized_against_its_table(database: Database, session: Session, run: Run) -> None:
    session.execute("ALTER TABLE patients ADD COLUMN studied BOOLEAN")
    session.execute("UPDATE patients SET studied = id % 5 = 0")
    release = run(database, asking(KMap(6), population=Population(subset_column="studied")))
    assert release.records == 12
    assert "studied" not in [row[0] for row in session.rows("DESCRIBE released")]
    for age, sex in released(session, "illness"):
        low, _, high = age.partition("-") if "-" in age else ("0", "", "99")
        numbers = [int(number) for number in re.findall(r"\d+", age)] or [int(low), int(high)]
        of_sex = "" if sex == "*" else f"AND sex = '{sex}'"
        people = session.value(
            f"SELECT count(*) FROM patients WHERE age BETWEEN {numbers[0]} AND {numbers[-1]} {of_sex}"
        )
        assert people >= 6


def test_a_population_that_lacks_the_source_s_people_refuses(database: Database, session: Session, run: Run) -> None:
    session.execute("UPDATE people SET age = 99, sex = 'x'")
    low = tuple(replace(a, maximum_level=1) if a.column == "age" else a for a in POLICY.attributes)
    with pytest.raises(InfeasibleError, match=r"privacy_models\[0\]") as raised:
        run(database, asking(KMap(3), population=EVERYBODY, attributes=low))
    assert raised.value.faults[-1].found.startswith("3-map, which refuses 60 of 60 records")


@pytest.mark.long
def test_an_absent_class_of_the_population_is_a_veto(database: Database, session: Session, run: Run) -> None:
    insert(session, "people", ((age, "x") for age in (60, 61, 95)))
    attributes = tuple(replace(a, maximum_level=0) if a.column == "sex" else a for a in POLICY.attributes)
    policy = asking(
        KAnonymity(2), DeltaPresence(Decimal("0.1"), Decimal(1)), population=EVERYBODY, attributes=attributes
    )
    with pytest.raises(InfeasibleError) as raised:
        run(database, policy)
    faults = {fault.field: fault for fault in raised.value.faults}
    assert set(faults) == {"attributes[2].maximum_level", "privacy_models[1]"}
    assert "cannot hold whatever is suppressed" in faults["privacy_models[1]"].found
    assert "minimum = 0" in faults["privacy_models[1]"].hint
    run(database, replace(policy, attributes=POLICY.attributes))


def test_a_population_smaller_than_the_source_is_a_fault(database: Database, run: Run) -> None:
    with pytest.raises(InvalidError, match=r"population\.size.*59.*at least the 60 records"):
        run(database, asking(KAnonymity(2), population=Population(size=59)))


@pytest.mark.parametrize("left", once([0, 59]))
def test_so_are_fewer_rows(database: Database, session: Session, run: Run, left: int) -> None:
    session.execute("DELETE FROM people WHERE rowid >= ?", [left])
    with pytest.raises(InvalidError, match=rf"population\.table.*{left}.*at least the 60 records"):
        run(database, asking(EstimatedKMap(3, Decimal("0.05")), population=EVERYBODY))


def test_the_population_is_never_replaced(database: Database, run: Run) -> None:
    target = plain_target("main", "PEOPLE", if_exists=IfExists.REPLACE)
    with pytest.raises(InvalidError, match=r"release\.name.*'PEOPLE', which is the population"):
        run(database, asking(KMap(2), population=EVERYBODY, release=target))


@pytest.mark.long
def test_what_only_the_population_has_is_no_value_of_the_source(database: Database, session: Session, run: Run) -> None:
    alone = run(database, asking(KAnonymity(2)))
    session.execute("INSERT INTO people SELECT 20, 's' || i FROM range(9) AS numbers(i)")
    with_others = asking(
        KAnonymity(2), population=EVERYBODY, release=plain_target("main", "r2"), repeat_reason="compared"
    )
    found = run(database, with_others)
    assert found.score == alone.score
    assert [a.distinct_before for a in found.attributes] == [a.distinct_before for a in alone.attributes]


def test_a_population_that_changes_meanwhile(database: Database, session: Session, run: Run) -> None:
    def add_somebody(phase: JobPhase) -> None:
        if phase is JobPhase.WRITING:
            session.execute("INSERT INTO people VALUES (20, 'f')")

    with pytest.raises(ConflictError, match=r"population: found rows that changed") as raised:
        run(database, asking(KMap(3), population=EVERYBODY), JobReport(on_phase=add_somebody))
    assert raised.value.code == "SOURCE_CHANGED"
    assert not session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'")


@pytest.mark.long
def test_the_ledger_knows_the_source_whatever_its_population(database: Database, session: Session, run: Run) -> None:
    run(database, asking(KMap(3), population=EVERYBODY))
    session.execute("CREATE TABLE renamed AS FROM patients")
    session.execute("INSERT INTO people VALUES (20, 'f')")
    again = asking(
        KMap(3), population=EVERYBODY, source=TableReference("", "main", "renamed"), release=plain_target("main", "r2")
    )
    with pytest.raises(InvalidError) as raised:
        run(database, again)
    assert raised.value.code == "REPEATED_RELEASE"


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    once(
        [
            TCloseness("illness", Decimal("0.01")),
            ProbabilisticLDiversity("illness", Decimal(4)),
            DistinctLDiversity("illness", 4),
            BetaLikeness("illness", Decimal("0.01")),
        ]
    ),
    ids=str,
)
def test_the_nearest_parameter_is_named_and_holds(database: Database, run: Run, model: Any) -> None:
    low = tuple(replace(a, maximum_level=1) if a.column == "age" else a for a in POLICY.attributes)
    policy = asking(KAnonymity(2), model, attributes=low, suppression_limit=Decimal("0.1"))
    with pytest.raises(InfeasibleError, match=r"privacy_models\[1\]") as raised:
        run(database, policy)
    fault = next(fault for fault in raised.value.faults if fault.field == "privacy_models[1]")
    assert fault.found.startswith(f"{model}, which refuses")
    # The flu is all there is at 30 to 39, and nothing has four values of which none is more frequent.
    assert raised.value.relaxations or isinstance(model, ProbabilisticLDiversity)
    for relaxation in raised.value.relaxations[:1]:
        assert relaxation.nearest
        run(database, with_changes(policy, relaxation.changes))


# --- choosing without looking at values -----------------------------------------------------------------------------

BLINDLY = SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY)


@pytest.mark.long
def test_what_is_chosen_by_quasi_identifiers_is_what_k_anonymity_alone_would_choose(
    database: Database, run: Run
) -> None:
    alone = run(database, asking(KAnonymity(4)))
    blind = asking(
        KAnonymity(4),
        TCloseness("salary", Decimal("0.9")),
        search=BLINDLY,
        release=plain_target("main", "blind"),
        repeat_reason="compared",
    )
    found = run(database, blind)
    assert [a.level for a in found.attributes] == [a.level for a in alone.attributes]
    assert (found.suppressed_records, found.score) == (alone.suppressed_records, alone.score)
    assert found.explanation is not None
    assert [rejection.privacy_model for rejection in found.explanation.itself.rejections] == ["4-anonymity"]


@pytest.mark.long
def test_values_that_are_not_protected_then_refuse_the_release(database: Database, session: Session, run: Run) -> None:
    policy = asking(KAnonymity(4), DistinctLDiversity("illness", 2), search=BLINDLY)
    with pytest.raises(InfeasibleError, match="chosen by quasi-identifiers only") as raised:
        run(database, policy)
    assert raised.value.code == "VALUES_UNPROTECTED"
    assert raised.value.faults[0].field == "privacy_models[1]"
    assert not session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'")
    run(database, replace(policy, search=SearchOptions()))


# --- suppressed records that are kept -------------------------------------------------------------------------------

KEEPING: dict[str, Any] = {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "gone"}


def test_suppressed_records_keep_their_values_if_they_meet_the_models_together(
    database: Database, session: Session, run: Run
) -> None:
    release = run(database, asking(KAnonymity(6), DistinctLDiversity("illness", 2), **KEEPING))
    gone = session.rows("SELECT age, sex, illness FROM released WHERE gone")
    assert len(gone) == release.suppressed_records
    assert len(gone) == 0 or len(gone) >= 6
    assert all((age, sex) == (None, None) for age, sex, _ in gone)
    assert len({illness for _, _, illness in gone}) >= 2 or not gone
    assert session.value("SELECT count(*) FROM released") == release.records


@pytest.mark.long
def test_kept_values_count_in_what_is_reached(database: Database, session: Session, run: Run) -> None:
    """A hundred people at one age, and two more who have the same and are suppressed."""
    session.execute("DELETE FROM patients")
    session.execute("INSERT INTO patients SELECT i, 20, 'f', ['flu', 'ulcer'][1 + i % 2], 1000 FROM range(100) t(i)")
    session.execute("INSERT INTO patients VALUES (100, 60, 'm', 'flu', 1000), (101, 70, 'f', 'flu', 1000)")
    low = tuple(replace(a, maximum_level=0) if a.column == "age" else a for a in POLICY.attributes)
    release = run(database, asking(KAnonymity(2), attributes=low, **KEEPING))
    assert release.suppressed_records == 2
    achieved = {(one.model, one.column): one.after for one in release.guarantees}
    assert achieved["k_anonymity", ""] == 2
    assert achieved["distinct_l_diversity", "illness"] == 1
