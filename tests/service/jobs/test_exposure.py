"""How many could be found by released columns, and what follows of them: refusals, warnings and counts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.disclosure.check import Measured
from tableveil.errors import InternalError, InvalidError, Rank
from tableveil.hierarchy import InlineLevels
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    AverageRisk,
    Documentation,
    IfExists,
    KAnonymity,
    Policy,
    ReleaseContext,
    Role,
    Scale,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.state.releases import Release
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]

AGES = InlineLevels(tuple((str(age), f"{age // 10 * 10}s", "*") for age in range(20, 100)))
AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES, minimum_level=1, maximum_level=1)
POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(AGE,),
    person_column=None,
    privacy_models=(KAnonymity(70),),
    release=replace(plain_target("main", "released"), if_exists=IfExists.REPLACE, guards=UNGUARDED),
    default_role=Role.IDENTIFYING,
    repeat_reason="a test",
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


def fill(session: Session, **columns: str) -> None:
    """4,000 people of 20 to 99 years, 50 of each; columns are expressions over their number i and their age."""
    shown = "".join(f", {expression} AS {name}" for name, expression in columns.items())
    session.execute(
        f"CREATE TABLE people AS SELECT age{shown} FROM (SELECT i, 20 + i % 80 AS age FROM range(4000) r(i))"
    )


def asked(*names: str, role: Role = Role.INSENSITIVE, acknowledged: bool = False, **changes: Any) -> Policy:
    columns = (AttributePolicy(name, role, acknowledged=acknowledged) for name in names)
    return replace(POLICY, attributes=(AGE, *columns), **changes)


def refused(run: Run, database: Database, policy: Policy) -> str:
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    assert raised.value.code == "COLUMN_DISCLOSES"
    (fault,) = raised.value.faults
    return fault.found


def following(release: Release) -> dict[tuple[str, ...], tuple[tuple[str, ...], int, int]]:
    return {one.columns: (one.knows, one.few, one.total) for one in release.exposures if one.knows}


def test_what_follows_of_a_column_refuses_it(database: Database, session: Session, run: Run) -> None:
    """Cohorts have 150, 250 and 100 rows of a decade; an ENUM is released as text."""
    members = ", ".join(f"'{cohort}'" for cohort in range(30))
    fill(session, cohort=f"((age + 2) // 5)::VARCHAR::ENUM ({members})", coin="i // 80 % 2")
    assert following(run(database, asked("cohort", privacy_models=(KAnonymity(100),)))) == {}
    assert refused(run, database, asked("coin", "cohort", privacy_models=(KAnonymity(101),))) == (
        "INSENSITIVE for 'cohort', which follows from 'age': who knows it has 800 of 4,000 rows among fewer than 101"
    )
    release = run(database, asked("coin", "cohort", acknowledged=True, privacy_models=(KAnonymity(101),)))
    assert following(release) == {("cohort",): (("age",), 800, 4_000)}
    (warning,) = (one for one in release.warnings if "rules out" in one)
    assert warning.rank is Rank.MUST_BE_DECIDED
    assert warning == (
        "A person's exact 'age' rules out values of 'cohort': who knows it has 800 of 4,000 rows among fewer than "
        "101. Coarser values of 'cohort' end it, or leaving out these 800 (20.0%)."
    )


@pytest.mark.parametrize(("k", "is_refused"), [(120, False), (200, True)])
def test_a_sensitive_column_is_refused_as_a_whole_alone(
    database: Database, session: Session, run: Run, k: int, is_refused: bool
) -> None:
    """Cohorts have 150, 250 and 100 rows of a decade: a fifth, or half of the people are among few."""
    fill(session, cohort="(age + 2) // 5")
    policy = asked("cohort", role=Role.SENSITIVE, privacy_models=(KAnonymity(k),))
    if is_refused:
        assert refused(run, database, policy).startswith("SENSITIVE for 'cohort', which follows from 'age'")
        policy = asked("cohort", role=Role.SENSITIVE, acknowledged=True, privacy_models=policy.privacy_models)
    ranks = {one.rank for one in run(database, policy).warnings if "rules out values of 'cohort'" in one}
    assert ranks == {Rank.MUST_BE_DECIDED}


def test_a_k_that_is_too_large_is_named_first(database: Database, session: Session, run: Run) -> None:
    """A k of 900 leaves four classes of 4,000 rows: columns are at fault then."""
    fill(session, decade="age // 10")
    _, decade = asked("decade").attributes
    policy = replace(POLICY, attributes=(replace(AGE, minimum_level=2, maximum_level=2), decade))
    for k, words in ((2_500, "a single class"), (1_100, "at most 3 classes"), (900, "")):
        with pytest.raises(InvalidError) as raised:
            run(database, replace(policy, privacy_models=(KAnonymity(k),)))
        *of_k, fault = raised.value.faults
        assert fault.field == "attributes[1].role"
        assert [(one.field, one.found) for one in of_k] == (
            [("privacy_models[0].k_anonymity.k", f"{k:,}, of which 4,000 rows make {words}")] if words else []
        )


def test_columns_together(database: Database, session: Session, run: Run) -> None:
    """Each leaves half a decade, and both a fifth; tuples of independent columns cost nothing."""
    fill(session, half="age // 5", odd="age % 2", coin="i // 80 % 2", other_coin="i // 160 % 2")
    policy = asked("half", "odd", "coin", "other_coin", privacy_models=(KAnonymity(100),))
    assert following(run(database, policy)) == {}
    found = refused(run, database, replace(policy, privacy_models=(KAnonymity(101),)))
    assert found == (
        "INSENSITIVE for 'half' beside 'odd', which follows from 'age': who knows it has 1,600 of 4,000 rows among "
        "fewer than 101"
    )


def test_a_rare_value_of_a_few_is_found(database: Database, session: Session, run: Run) -> None:
    session.execute(
        "CREATE TABLE people AS SELECT nation, if(nation = 'nl', 'nl', 'other ' || i % 2) AS language FROM (SELECT i, "
        "CASE WHEN i < 3 THEN 'nl' WHEN i < 30 THEN 'fr' WHEN i < 60 THEN 'it' WHEN i < 80 THEN 'es' ELSE 'de' END "
        "AS nation FROM range(1000) r(i))"
    )
    nations = InlineLevels(tuple((name, "*") for name in ("de", "fr", "it", "es", "nl")))
    language = AttributePolicy("language", Role.INSENSITIVE)
    nation = replace(AGE, column="nation", hierarchy=nations)
    policy = replace(POLICY, attributes=(nation, language), privacy_models=(KAnonymity(5),))
    found = refused(run, database, policy)
    assert "follows from 'nation': who knows it has 3 of 1,000 rows among fewer than 5" in found


def test_without_a_k_it_is_looked_at(database: Database, session: Session) -> None:
    """The check of a policy foresees it where levels are fixed."""
    fill(session, cohort="(age + 2) // 5")
    policy = asked("cohort", privacy_models=(AverageRisk(Decimal("0.5")),), repeat_reason="")
    with database.session() as own:
        (warning,) = check_rows(context(own, database), policy)
    with database.session() as own, pytest.raises(InvalidError) as raised:
        check_rows(context(own, database), replace(policy, privacy_models=(KAnonymity(101),)))
    assert warning.rank is Rank.SHOULD_BE_LOOKED_AT
    assert "rules out values of 'cohort': who knows it has 4,000 of 4,000 rows among fewer than 500." in warning
    assert [fault.field for fault in raised.value.faults] == ["attributes[1].role"]


def test_shown_suppressed_records_have_no_labels(database: Database, session: Session, run: Run) -> None:
    """Among them a column tells what its rows' labels would have said, even at level 0."""
    session.execute(
        "CREATE TABLE people AS SELECT 20 + i // 100 AS age, if(i % 2 = 0, 'f', 'm') AS sex, "
        "if(i % 2 = 0, 'she/her', 'he/him') AS pronoun FROM range(200) r(i) UNION ALL "
        "SELECT 50 + i, if(i = 0, 'f', 'm'), if(i = 0, 'she/her', 'he/him') FROM range(5) r(i)"
    )
    sexes = AttributePolicy("sex", Role.QUASI_IDENTIFIER, InlineLevels((("f", "*"), ("m", "*"))), maximum_level=0)
    pronoun = AttributePolicy("pronoun", Role.INSENSITIVE)
    policy = replace(
        POLICY,
        attributes=(replace(AGE, minimum_level=0, maximum_level=0), sexes, pronoun),
        privacy_models=(KAnonymity(5),),
        suppression_limit=Decimal("0.1"),
        suppressed_records=SuppressedRecords.KEEP,
        marker_column="suppressed",
    )
    assert refused(run, database, policy) == (
        "INSENSITIVE for 'pronoun', which determines 'sex' more finely than its released level 1: 100% of the records "
        "with equal values agree in it"
    )
    release = run(database, replace(policy, attributes=(*policy.attributes[:2], replace(pronoun, acknowledged=True))))
    assert following(release) == {("pronoun",): (("sex",), 5, 205)}
    dropped = replace(policy, suppressed_records=SuppressedRecords.DROP, marker_column="")
    assert following(run(database, dropped)) == {}


def test_clusters_hide_a_birth_year(database: Database, session: Session, run: Run) -> None:
    session.execute(
        "CREATE TABLE people AS SELECT 20 + i AS age, 2006 - i AS birth_year, i % 2 AS coin FROM range(80) r(i)"
    )
    age = AttributePolicy(
        "age", Role.QUASI_IDENTIFIER, aggregation=Aggregation(function=AggregateFunction.MEAN, scale=Scale.NUMERIC)
    )
    columns = (
        AttributePolicy("birth_year", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("coin", Role.INSENSITIVE),
    )
    policy = replace(POLICY, attributes=(age, *columns), privacy_models=(KAnonymity(5),), methods=(Microaggregation(),))
    ((names, (knows, few, total)),) = following(run(database, policy)).items()
    assert (names, knows, few) == (("birth_year",), ("age",), total)


def test_plain_counts_are_those_of_the_rows(database: Database, session: Session, run: Run) -> None:
    """Amounts are nearly names, wards find some: of the public that has to be decided."""
    fill(session, amount="hash(i) % 1000000", ward="if(i < 300, i, 1000 + i % 2)")
    policy = asked("amount", "ward", acknowledged=True, privacy_models=(KAnonymity(5),))
    release = run(database, policy)
    for names in ((), ("amount",), ("ward",), ("amount", "ward")):
        keys = ", ".join(("age", *names))
        sizes = f"SELECT count(*) AS n FROM released GROUP BY {keys}"
        counts = session.row(f"SELECT count_if(n = 1), coalesce(sum(n) FILTER (n < 5), 0)::BIGINT FROM ({sizes})")
        (found,) = (one for one in release.exposures if one.columns == names and not one.knows)
        assert (found.found, found.few) == counts
        assert (found.total, found.least, found.counts_people) == (4_000, 5, False)
    (told,) = (one for one in release.warnings if "by their labels" in one)
    assert told.startswith("A value of 'amount' is nearly a name: somebody who knows a person's finds 3,")
    assert "by their labels; 'ward' finds " in told
    assert told.rank is Rank.SHOULD_BE_LOOKED_AT
    public = replace(policy, documentation=Documentation(context=ReleaseContext.PUBLIC))
    assert next(one for one in run(database, public).warnings if "nearly a name" in one).rank is Rank.MUST_BE_DECIDED


def test_one_warning_tells_of_all_columns_that_find_people(database: Database, session: Session, run: Run) -> None:
    fill(
        session,
        a="hash(i)",
        b="hash(i, 1)",
        c="hash(i, 2)",
        d="hash(i, 3)",
        e="hash(i, 4)",
        ward="if(i < 300, i, 1000 + i % 2)",
    )
    names = ("a", "b", "c", "d", "e")
    release = run(database, asked(*names, acknowledged=True, privacy_models=(KAnonymity(5),)))
    (told,) = (one for one in release.warnings if "by their labels" in one)
    assert told.startswith("Values of 'a', 'b', 'c' and 2 more columns are nearly names: ")
    release = run(database, asked("ward", acknowledged=True, privacy_models=(KAnonymity(5),)))
    (told,) = (one for one in release.warnings if "by their labels" in one)
    assert told.startswith("Somebody who knows a person's 'ward' finds ")


def test_columns_that_find_nobody_get_no_word(database: Database, session: Session, run: Run) -> None:
    fill(session, coin="i // 80 % 2", cohort="(age + 2) // 5")
    release = run(database, asked("coin", "cohort", privacy_models=(KAnonymity(50),)))
    assert release.warnings == ()
    assert [one.found for one in release.exposures] == [0] * 4


def cohorts(session: Session, visits: int = 40) -> Policy:
    """400 people of 22 to 39 years, and one of 20 and 21 with so many visits: a cohort tells these ages."""
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT age, (age + 3) // 5 AS cohort, person FROM ("
        "SELECT 22 + i % 18 AS age, i AS person FROM range(400) r(i) "
        f"UNION ALL SELECT 20 + i % 2, 1000 FROM range({visits}) r(i))"
    )
    person = AttributePolicy("person", Role.IDENTIFYING)
    return replace(
        asked("cohort", privacy_models=(KAnonymity(5),)),
        attributes=(AGE, AttributePolicy("cohort", Role.INSENSITIVE), person),
        person_column="person",
    )


def test_many_rows_of_one_person_are_one_person(database: Database, session: Session, run: Run) -> None:
    """The person's cohort is that of nobody else: it finds the person, whom the rows do not tell."""
    policy = cohorts(session)
    session.execute("UPDATE people SET cohort = 3 WHERE person = 1000")
    acknowledged = replace(policy.attributes[1], acknowledged=True)
    release = run(database, replace(policy, attributes=(AGE, acknowledged, policy.attributes[2])))
    counts = {
        (one.columns, one.counts_people): (one.found, one.few, one.total) for one in release.exposures if not one.knows
    }
    assert counts[("cohort",), True] == (1, 1, 401)
    assert counts[("cohort",), False] == (0, 0, 440)
    assert any("finds 1 of 401 people by their labels" in warning for warning in release.warnings)


def test_the_verification_counts_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check before the release is written, it refuses copies, and what clearly follows."""
    fill(session, copy="md5(age::VARCHAR)", cohort="(age + 2) // 5", coin="i // 80 % 2", number="hash(i)")
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    with pytest.raises(InternalError, match="unchanged columns leave 100 rows of a class, fewer than k = 101"):
        run(database, asked("cohort", privacy_models=(KAnonymity(101),)))
    for role in (Role.INSENSITIVE, Role.SENSITIVE):
        with pytest.raises(InternalError, match="1 columns determine what labels hide"):
            run(database, asked("copy", "coin", role=role, privacy_models=(KAnonymity(5),)))
    with pytest.raises(InternalError, match="1 sensitive columns follow from quasi-identifiers, for most people"):
        run(database, asked("cohort", "coin", role=Role.SENSITIVE, privacy_models=(KAnonymity(251),)))
    run(database, asked("cohort", "coin", role=Role.SENSITIVE, privacy_models=(KAnonymity(150),)))
    run(database, asked("copy", "number", "cohort", acknowledged=True, privacy_models=(KAnonymity(500),)))
    run(database, asked("coin", "cohort", privacy_models=(KAnonymity(100),)))
    policy = cohorts(session, 40)
    session.execute("UPDATE people SET age = 20 WHERE person IN (1, 2) OR person = 1000")
    session.execute("UPDATE people SET cohort = 9 WHERE age = 20")
    with pytest.raises(InternalError, match="fewer than k = 5"):
        run(database, policy)
