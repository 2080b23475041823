"""How many rows a column leaves of a class: the owner's figure, and what is refused and warned of because of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.disclosure.determined import Measured
from tableveil.errors import InternalError, InvalidError, Rank, rank_of
from tableveil.hierarchy import InlineLevels
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import (
    Aggregate,
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    AverageRisk,
    DistinctLDiversity,
    KAnonymity,
    LossModel,
    Policy,
    Role,
    Scale,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.source import recurring
from tableveil.state.releases import Release
from tests.campaign.attacker.fitting import fitting
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

AGES = InlineLevels(tuple((str(age), f"{age // 10 * 10}s", "*") for age in range(20, 100)))
SEXES = InlineLevels((("f", "*"), ("m", "*")))

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES, minimum_level=1, maximum_level=1)
POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(AGE,),
    person_column=None,
    privacy_models=(KAnonymity(70),),
    release=plain_target("main", "released"),
    default_role=Role.IDENTIFYING,
)

COIN, COHORT, BIRTH_YEAR = "i // 80 % 2", "(age + 2) // 5", "2026 - age - i // 80 % 2"


def fill(session: Session, **columns: str) -> None:
    """4,000 people of 20 to 99 years, 50 of each; columns are expressions over their number i and their age."""
    shown = "".join(f", {expression} AS {name}" for name, expression in columns.items())
    session.execute(
        f"CREATE TABLE people AS SELECT age{shown} FROM (SELECT i, 20 + i % 80 AS age FROM range(4000) r(i))"
    )


def insensitive(*names: str, acknowledged: bool = False) -> tuple[AttributePolicy, ...]:
    return tuple(AttributePolicy(name, Role.INSENSITIVE, acknowledged=acknowledged) for name in names)


def reached(release: Release) -> dict[str, float | None]:
    return {one.column: one.after for one in release.guarantees if one.model.startswith("effective_k")}


def refused(run: Run, database: Database, policy: Policy) -> list[str]:
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    assert raised.value.code == "COLUMN_DISCLOSES"
    return [fault.found for fault in raised.value.faults]


def test_a_column_of_another_type_than_it_is_released_with_is_counted_alike(
    database: Database, session: Session, run: Run
) -> None:
    """The verification compares the source's ENUM with the released text."""
    members = ", ".join(f"'{cohort}'" for cohort in range(30))
    fill(session, cohort=f"({COHORT})::VARCHAR::ENUM ({members})")
    assert reached(run(database, replace(POLICY, attributes=(AGE, *insensitive("cohort")))))["cohort"] == 100


@pytest.mark.parametrize("most", once([2_000, 12_000, 20_000_000]))
def test_a_coin_costs_nothing_and_a_birth_year_nearly_everything(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """However small the part is that is looked at: all decades are alike, and have 500 rows each."""
    for module in (
        "tableveil.disclosure.exposure",
        "tableveil.disclosure.arrays",
        "tableveil.privacy.exposure.rows",
    ):
        monkeypatch.setattr(import_module(module), "MOST_CELLS", most)
    # All columns are made of the age, which so seems to number people.
    monkeypatch.setattr(recurring, "FEWEST_VALUES", 10_000)
    fill(session, coin=COIN, cohort=COHORT, birth_year=BIRTH_YEAR)
    coin, *telling = insensitive("coin", "cohort", "birth_year")
    for column, least in zip(telling, (100, 75), strict=True):
        policy = replace(POLICY, attributes=(AGE, column), privacy_models=(KAnonymity(least + 1),))
        found = f"INSENSITIVE for '{column.column}', whose effective k is below {least + 1}"
        assert refused(run, database, policy) == [f"{found}: it leaves {least} rows by 'age'"]
    columns = (coin, *insensitive("cohort", "birth_year", acknowledged=True))
    release = run(database, replace(POLICY, attributes=(AGE, *columns), privacy_models=(KAnonymity(200),)))
    assert reached(release) == {"coin": 500, "cohort": 100, "birth_year": 75}
    assert release.warnings == ()


def test_the_check_of_a_policy_foresees_it_where_levels_are_fixed(database: Database, session: Session) -> None:
    def checked(policy: Policy) -> tuple[str, ...]:
        with database.session() as own:
            return check_rows(context(own, database), policy)

    fill(session, cohort=COHORT, birth_year=BIRTH_YEAR)
    policy = replace(POLICY, attributes=(AGE, *insensitive("birth_year")), privacy_models=(KAnonymity(76),))
    with pytest.raises(InvalidError) as raised:
        checked(policy)
    (fault,) = raised.value.faults
    assert "effective k is below 76: it leaves 75 rows by 'age'" in fault.found
    diverse = replace(policy, attributes=(AGE, *insensitive("cohort")), privacy_models=(AverageRisk(Decimal("0.5")),))
    (warning,) = checked(diverse)
    assert rank_of(warning) is Rank.SHOULD_BE_LOOKED_AT
    assert "knows a person's exact 'age'" in warning
    assert "100 rows can be left, fewer than 500: an effective k. attributes[1].role: QUASI_IDENTIFIER" in warning
    searched = replace(diverse, attributes=(replace(AGE, minimum_level=0), *insensitive("birth_year")))
    assert checked(searched) == ()


def test_columns_together(database: Database, session: Session, run: Run) -> None:
    """Each leaves half a decade, and both a fifth; tuples of independent columns cost nothing."""
    fill(session, half="age // 5", odd="age % 2", coin=COIN, other_coin="i // 160 % 2")
    policy = replace(POLICY, attributes=(AGE, *insensitive("half", "odd", "coin", "other_coin")))
    release = run(database, replace(policy, privacy_models=(KAnonymity(100),)))
    assert reached(release) == {"half": 250, "odd": 250, "coin": 500, "other_coin": 500, "": 100}
    names = "'half', 'odd', 'coin', 'other_coin'"
    found = f"INSENSITIVE for {names}, whose effective k is below 101: they together leave 100 rows by 'age'"
    again = replace(POLICY.release, name="again")
    policy = replace(policy, privacy_models=(KAnonymity(101),), release=again, repeat_reason="a test")
    assert refused(run, database, policy) == [found]


@pytest.mark.long
def test_accidents_do_not_count_and_rare_values_do(database: Database, session: Session, run: Run) -> None:
    """A few wrong cohorts change nothing; a column whose every value is rare tells nothing of ages."""
    fill(
        session,
        cohort="CASE WHEN i < 80 THEN hash(i) % 20 ELSE age // 5 END",
        ward="i // 80 % 50",
    )
    session.execute("INSERT INTO people SELECT p.* FROM people p, range(99)")
    columns = insensitive("cohort", "ward", acknowledged=True)
    release = run(database, replace(POLICY, attributes=(AGE, *columns)))
    found = reached(release)
    assert found["ward"] == 50_000
    assert found["cohort"] is not None
    assert 20_000 < found["cohort"] < 26_000


def test_an_independent_column_costs_nothing_where_classes_are_small_and_values_rare(
    database: Database, session: Session, run: Run
) -> None:
    """Some ages are those of one person: the only ward or cohort of that age says nothing of others, or everything."""
    chance = Random(5)
    ages = chance.choices(range(20, 100), weights=[1 / (1 + i % 10) for i in range(80)], k=400)
    rows = [(age, chance.randrange(12), chance.randrange(8), (age + 2) // 5) for age in ages]
    assert min(Counter(ages).values()) == 1
    frame = pa.table([list(values) for values in zip(*rows, strict=True)], names=["age", "zip", "ward", "cohort"])
    with session.relation("rows_", frame):
        session.execute("CREATE TABLE people AS FROM rows_")
    zips = AttributePolicy("zip", Role.QUASI_IDENTIFIER, InlineLevels(tuple((str(i), "*") for i in range(12))))
    policy = replace(
        POLICY,
        attributes=(AGE, replace(zips, maximum_level=0), *insensitive("ward")),
        privacy_models=(KAnonymity(3),),
        suppression_limit=Decimal(1),
    )
    release = run(database, policy)
    assert reached(release) == {"ward": 3}
    assert release.risk_after.highest == pytest.approx(1 / 3)
    telling = replace(policy, attributes=(*policy.attributes[:2], *insensitive("cohort")), repeat_reason="a test")
    telling = replace(telling, release=replace(policy.release, name="telling"))
    assert "leaves 1 row by 'age'" in refused(run, database, telling)[0]


def test_a_column_that_tells_of_rare_values_alone_is_not_independent(
    database: Database, session: Session, run: Run
) -> None:
    """Most people have one value, which others have as well; that they lack the rare value shows whose it is."""
    session.execute(
        "CREATE TABLE people AS SELECT nation, if(nation = 'nl', 'nl', 'other ' || i % 2) AS language FROM (SELECT i, "
        "CASE WHEN i < 3 THEN 'nl' WHEN i < 30 THEN 'fr' WHEN i < 60 THEN 'it' WHEN i < 80 THEN 'es' ELSE 'de' END "
        "AS nation FROM range(1000) r(i))"
    )
    nations = InlineLevels(tuple((nation, "*") for nation in ("de", "fr", "it", "es", "nl")))
    nation = replace(AGE, column="nation", hierarchy=nations)
    policy = replace(POLICY, attributes=(nation, *insensitive("language")), privacy_models=(KAnonymity(5),))
    assert "leaves 3 rows by 'nation'" in refused(run, database, policy)[0]


def test_what_is_warned_of(database: Database, session: Session, run: Run) -> None:
    """Sensitive columns, and any column if the policy has no k."""
    fill(session, cohort=COHORT, illness="(age + 2) // 5")
    columns = (*insensitive("cohort"), AttributePolicy("illness", Role.SENSITIVE))
    models = (DistinctLDiversity("illness", 2),)
    release = run(database, replace(POLICY, attributes=(AGE, *columns), privacy_models=models))
    told = {name: w for name in ("cohort", "illness") for w in release.warnings if f"whose '{name}' does not" in w}
    assert all("100 rows can be left, fewer than 500" in warning for warning in told.values())
    # A model answers for the illness: its effective k begins no account.
    assert {name: warning.rank for name, warning in told.items()} == {
        "cohort": Rank.SHOULD_BE_LOOKED_AT,
        "illness": Rank.NOTE,
    }


def test_a_check_says_a_missing_reason_and_a_column_that_discloses_at_once(
    database: Database, session: Session, run: Run
) -> None:
    fill(session, coin=COIN)
    run(database, replace(POLICY, attributes=(AGE, *insensitive("coin"))))
    session.execute("DROP TABLE people")
    fill(session, birth_year=BIRTH_YEAR)
    policy = replace(POLICY, attributes=(AGE, *insensitive("birth_year")), privacy_models=(KAnonymity(76),))
    policy = replace(policy, release=plain_target("main", "other"))
    with database.session() as own, pytest.raises(InvalidError) as raised:
        check_rows(context(own, database), policy)
    assert [fault.field for fault in raised.value.faults] == ["repeat_reason", "attributes[1].role"]


def test_shown_suppressed_records_have_no_labels(database: Database, session: Session, run: Run) -> None:
    """Among them a column tells what its rows' labels would have said, even at level 0."""
    session.execute(
        "CREATE TABLE people AS SELECT 20 + i // 100 AS age, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
        "CASE WHEN i % 2 = 0 THEN 'she/her' ELSE 'he/him' END AS pronoun FROM range(200) r(i) UNION ALL "
        "SELECT 50 + i, if(i = 0, 'f', 'm'), if(i = 0, 'she/her', 'he/him') FROM range(5) r(i)"
    )
    attributes = (
        AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES, maximum_level=0),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SEXES, maximum_level=0),
        *insensitive("pronoun"),
    )
    policy = replace(
        POLICY,
        attributes=attributes,
        privacy_models=(KAnonymity(5),),
        suppression_limit=Decimal("0.1"),
        suppressed_records=SuppressedRecords.KEEP,
        marker_column="suppressed",
    )
    determined, left = refused_by_both(run, database, policy)
    assert determined == (
        "INSENSITIVE for 'pronoun', which determines 'sex' more finely than its released level 1: 100% of the "
        "records with equal values agree in it"
    )
    assert left == [1]
    dropped = replace(policy, suppressed_records=SuppressedRecords.DROP, marker_column="")
    dropped = replace(dropped, repeat_reason="again", release=replace(policy.release, name="dropped"))
    assert reached(run(database, dropped)) == {}


def refused_by_both(run: Run, database: Database, policy: Policy) -> tuple[str, list[float | None]]:
    """The determined column, and its effective k if it is acknowledged."""
    (determined,) = refused(run, database, policy)
    attributes = (*policy.attributes[:-1], replace(policy.attributes[-1], acknowledged=True))
    release = run(
        database,
        replace(policy, attributes=attributes, release=replace(policy.release, name="kept"), repeat_reason="again"),
    )
    return determined, list(reached(release).values())


def test_clusters_have_a_width(database: Database, session: Session, run: Run) -> None:
    """A birth year tells more of an age than its cluster of k does, a coin as good as nothing."""
    session.execute(
        "CREATE TABLE people AS SELECT 20 + i AS age, 2006 - i AS birth_year, i % 2 AS coin FROM range(80) r(i)"
    )
    attributes = (
        AttributePolicy(
            "age", Role.QUASI_IDENTIFIER, aggregation=Aggregation(function=AggregateFunction.MEAN, scale=Scale.NUMERIC)
        ),
        *insensitive("birth_year", acknowledged=True),
        *insensitive("coin"),
    )
    policy = replace(POLICY, attributes=attributes, privacy_models=(KAnonymity(5),), methods=(Microaggregation(),))
    release = run(database, policy)
    # At the ends of a cluster of the ages 20 to 24, two years around 20 are those of three of its members.
    assert reached(release) == {"birth_year": 3, "coin": 5}


def brute_force(rows: list[tuple[int, str, int, int]], k: int) -> list[int]:
    """The effective k of the columns 2 and 3 of rows of age and sex, by the definition, of classes by decade alone."""
    sizes = Counter(row[0] // 10 for row in rows)
    found = []
    for v in (2, 3):
        labels, own, values = zip(*((row[0] // 10, row[0], row[v]) for row in rows), strict=True)
        fits = fitting(labels, own, values)
        counts = [
            sum(other[0] // 10 == row[0] // 10 and (row[0], other[v]) in fits for other in rows)
            for row in rows
            if sizes[row[0] // 10] >= k
        ]
        found.append(min(counts))
    return found


@pytest.mark.parametrize("seed", once(range(5)))
def test_random_tables(database: Database, session: Session, run: Run, seed: int) -> None:
    chance = Random(seed)
    ages = chance.choices(range(20, 100), k=20)
    rows = [
        (age := chance.choice(ages), chance.choice("fm"), age // chance.choice((3, 7)), chance.randrange(6))
        for _ in range(400)
    ]
    frame = pa.table([list(values) for values in zip(*rows, strict=True)], names=["age", "sex", "telling", "dice"])
    with session.relation("rows_", frame):
        session.execute("CREATE TABLE people AS FROM rows_")
    k = 30
    policy = replace(
        POLICY,
        attributes=(AGE, *insensitive("telling", "dice", acknowledged=True)),
        privacy_models=(KAnonymity(k),),
        suppression_limit=Decimal(1),
    )
    assert list(reached(run(database, policy)).values()) == brute_force(rows, k)


AS_GENERALIZED: dict[str, dict[str, Any]] = {
    "dropped": {},
    "shown": {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "suppressed"},
    "own levels": {"methods": (LocalRecoding(),), "quality_model": LossModel(Aggregate.ARITHMETIC_MEAN)},
}


@pytest.mark.parametrize("tables", once([2, 4]))
@pytest.mark.parametrize("kind", once(AS_GENERALIZED))
def test_the_verification_counts_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str, tables: int
) -> None:
    """Without the check before the release is written, the verification refuses what that check would refuse."""

    def refused_ones(name: str) -> list[int]:
        found = []
        for seed in range(tables):
            policy = _drawn(session, seed, f"{name}_{seed}")
            try:
                run(database, replace(policy, **AS_GENERALIZED[kind]))
            except (InvalidError, InternalError) as error:
                found += [seed] if "leave" in str(error) else [-1]
        return found

    refused_before = refused_ones("checked")
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    assert refused_ones("unchecked") == refused_before
    assert 0 < len(refused_before) < tables
    assert -1 not in refused_before


def _drawn(session: Session, seed: int, name: str) -> Policy:
    """A random table, and a policy with one or two columns, one of which may tell of ages."""
    chance = Random(seed)
    ages = chance.choices(range(20, 100), k=25)
    rows = [(age := chance.choice(ages), age // chance.choice((3, 7, 50)), chance.randrange(5)) for _ in range(300)]
    frame = pa.table([list(values) for values in zip(*rows, strict=True)], names=["age", "tells", "dice"])
    session.execute("DROP TABLE IF EXISTS people")
    with session.relation("rows_", frame):
        session.execute("CREATE TABLE people AS FROM rows_")
    return replace(
        POLICY,
        attributes=(replace(AGE, minimum_level=0), *insensitive("dice", *(["tells"] if seed % 2 else []))),
        privacy_models=(KAnonymity((3, 20, 6, 9)[seed]),),
        suppression_limit=Decimal(1),
        release=replace(POLICY.release, name=name),
        repeat_reason="a test",
    )
