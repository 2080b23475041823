"""The effective k where people have several records: it counts people, against plain Python that does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib import import_module
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.disclosure.determined import Measured
from tableveil.errors import InternalError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import (
    Aggregate,
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    Dominance,
    IfExists,
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
from tableveil.state.releases import Release
from tests.campaign.attacker.fitting import fitting
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]

AGES = InlineLevels(tuple((str(age), f"{age // 10}0s", "*") for age in range(20, 60)))
AREAS = InlineLevels(tuple((area, "north" if area < "c" else "south", "any") for area in "abcd"))
LEVELS = {"age": AGES.rows, "area": AREAS.rows}

POLICY = Policy(
    source=TableReference("", "main", "visits"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES, minimum_level=1, maximum_level=1),
        AttributePolicy("area", Role.QUASI_IDENTIFIER, AREAS, minimum_level=0, maximum_level=1),
        AttributePolicy("tells", Role.INSENSITIVE),
        AttributePolicy("leans", Role.INSENSITIVE),
        AttributePolicy("illness", Role.SENSITIVE),
        AttributePolicy("visit", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("person", Role.IDENTIFYING),
    ),
    person_column="person",
    privacy_models=(Dominance(Decimal("0.2")),),
    release=plain_target("main", "out"),
    quality_model=LossModel(Aggregate.ARITHMETIC_MEAN),
    suppression_limit=Decimal(1),
)
SHOWN = {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "gone"}
ANY_LEVEL = tuple(replace(a, minimum_level=0, maximum_level=2) for a in POLICY.attributes[:2])
LOCAL = {"methods": (LocalRecoding(),), "attributes": (*ANY_LEVEL, *POLICY.attributes[2:])}
AGAIN = replace(POLICY.release, if_exists=IfExists.REPLACE, guards=UNGUARDED)
KINDS: dict[str, dict[str, Any]] = {"dropped": {}, "shown": SHOWN, "local": LOCAL, "local, shown": LOCAL | SHOWN}

FEW = (1, 4)


def by_cost(first: str) -> list[Any]:
    """One kind on few tables; under the mark `long`, every kind on more."""
    more = (pytest.param(kind, range(6), id=f"{kind}, more tables", marks=pytest.mark.long) for kind in KINDS)
    return [pytest.param(first, FEW, id=first), *more]


"""The first two make each choice once, on tables that show all that is asserted; all, with more of them, are long."""


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal"):
        session.execute(f'DROP TABLE "{name}"')
    session.execute("DELETE FROM tableveil.releases; DELETE FROM tableveil.release_sample_values")


@dataclass(frozen=True, slots=True)
class Visit:
    """A record of a table that is drawn: `visit` is its number."""

    age: int
    area: str
    tells: int
    leans: int
    illness: int
    visit: int
    person: int


def drawn(seed: int, people: int = 90) -> list[Visit]:
    """Some people come once, some up to 25 times; ages and columns vary over visits for some of them."""
    chance = Random(seed)
    divisor, ages = chance.choice((4, 6)), chance.choices(range(20, 60), k=14)
    visits: list[Visit] = []
    for person in range(people):
        age, area = chance.choice(ages), chance.choice("abcd")
        for _ in range(chance.choice((1, 1, 2, 4, 25 if person % 10 == 0 else 3))):
            own = age if chance.random() < 0.8 else chance.choice(ages)
            visits.append(
                Visit(
                    own, area, own % divisor, (own // divisor + chance.randrange(2)) % 4, own % 3, len(visits), person
                )
            )
    return visits


def create(session: Session, visits: Sequence[Visit]) -> None:
    names = list(Visit.__slots__)
    frame = pa.table({name: [getattr(visit, name) for visit in visits] for name in names})
    with session.relation("given", frame):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM given")


def reached(release: Release) -> dict[str, float]:
    """By column; the empty name is that of all together."""
    return {one.column: one.after or 0 for one in release.guarantees if one.model.startswith("effective_k")}


# --- the definition -------------------------------------------------------------------------------------------------


def classes_of(session: Session, visits: Sequence[Visit], *, shown: bool) -> dict[tuple[str, ...], list[Visit]]:
    """The visits of each class by its labels; the suppressed ones that are shown have none."""
    found: dict[tuple[str, ...], list[Visit]] = defaultdict(list)
    for age, area, gone, visit in session.rows(f"SELECT age, area, {'gone' if shown else 'FALSE'}, visit FROM out"):
        found[() if gone else (age, area)].append(visits[visit])
    return dict(found)


def brute_force(visits: Sequence[Visit], classes: Mapping[tuple[str, ...], list[Visit]]) -> dict[str, int]:
    """The effective k of the columns, and of the two that are not acknowledged together, by the definition."""
    columns = {"tells": ("tells",), "leans": ("leans",), "illness": ("illness",), "": ("tells", "leans")}
    least: dict[str, int] = dict.fromkeys(columns, len(visits))
    for (j, quasi), (name, parts) in product(enumerate(LEVELS), columns.items()):
        rows = LEVELS[quasi]
        # A label is that of the highest level that a record is released with.
        level = max(at for labels in classes if labels for at in range(3) if labels[j] in {r[at] for r in rows})
        label = {row[0]: () in classes or row[level] for row in rows}
        own = [str(getattr(visit, quasi)) for visit in visits]
        fits = [fitting([label[o] for o in own], own, [getattr(v, part) for v in visits]) for part in parts]
        for labels, members in classes.items():
            if labels and not level:
                continue
            for mine in {str(getattr(member, quasi)) for member in members}:
                people = {
                    other.person
                    for other in members
                    if all((mine, getattr(other, part)) in fit for part, fit in zip(parts, fits, strict=True))
                }
                least[name] = min(least[name], max(1, len(people)))
    return least


@pytest.mark.parametrize(("kind", "seeds"), by_cost("local, shown"))
def test_random_tables(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str, seeds: Sequence[int]
) -> None:
    """However few own values are counted first."""
    fewer, together, pools = 0, 0, 0
    for seed in seeds:
        monkeypatch.setattr(import_module("tableveil.privacy.exposure.rows"), "FIRST", (1 << 15, 2)[seed % 2])
        visits = drawn(seed)
        create(session, visits)
        release = run(database, replace(POLICY, **KINDS[kind], release=AGAIN, repeat_reason="a test"))
        classes = classes_of(session, visits, shown="shown" in kind)
        found = reached(release)
        del found["visit"]
        assert found == brute_force(visits, classes)
        alone = [replace(visit, person=visit.visit) for visit in visits]
        of_rows = {labels: [alone[member.visit] for member in members] for labels, members in classes.items()}
        fewer += found != brute_force(alone, of_rows)
        together += found[""] < min(found["tells"], found["leans"])
        pools += () in classes
    # Else records would have said the same, or single columns; or nothing would have been shown.
    assert fewer
    assert together or pools
    assert bool(pools) == ("shown" in kind)


@pytest.mark.parametrize("seeds", once([FEW, range(6)]))
def test_clusters(database: Database, session: Session, run: Run, seeds: Sequence[int]) -> None:
    """All ages within half of a cluster's width stand for a person's own."""
    aggregation = Aggregation(function=AggregateFunction.MEAN, scale=Scale.NUMERIC)
    quasi = AttributePolicy("age", Role.QUASI_IDENTIFIER, aggregation=aggregation)
    others = [replace(a, acknowledged=a.role is Role.INSENSITIVE) for a in POLICY.attributes[2:]]
    policy = replace(
        POLICY,
        attributes=(quasi, AttributePolicy("area", Role.IDENTIFYING), *others),
        privacy_models=(KAnonymity(8),),
        suppression_limit=Decimal(0),
        methods=(Microaggregation(),),
        release=AGAIN,
        repeat_reason="a test",
    )
    fewer = 0
    for seed in seeds:
        visits = drawn(seed)
        create(session, visits)
        found = reached(run(database, policy))
        clusters: dict[float, list[Visit]] = defaultdict(list)
        for age, visit in session.rows("SELECT age, visit FROM out"):
            clusters[age].append(visits[visit])
        for name in ("tells", "leans", "illness"):
            counts = [_left(visits, members, name) for members in clusters.values()]
            assert found[name] == min(len({member.person for member in left}) for of in counts for left in of)
            fewer += found[name] != min(len(left) for of in counts for left in of)
    assert fewer


def _left(visits: Sequence[Visit], members: Sequence[Visit], name: str) -> list[list[Visit]]:
    """The members of a cluster that are left for each of its ages."""
    ages = {member.age for member in members}
    half, totals = (max(ages) - min(ages)) / 2, Counter(getattr(visit, name) for visit in visits)
    found = []
    for mine in ages:
        near = Counter(getattr(visit, name) for visit in visits if abs(visit.age - mine) <= half)
        fits = {
            value
            for value, n in near.items()
            if 100 * n >= near.total() or 10 * n * len(visits) >= near.total() * totals[value]
        }
        found.append([member for member in members if getattr(member, name) in fits])
    return found


# --- people and records ---------------------------------------------------------------------------------------------

REGULAR = tuple(replace(a, acknowledged=a.role is Role.INSENSITIVE) for a in POLICY.attributes)


@pytest.mark.long
@pytest.mark.parametrize("kind", once(KINDS))
def test_people_of_one_record_each_are_their_records(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Where they are counted all the same: the figures are those of rows."""
    create(session, [replace(visit, person=visit.visit) for visit in drawn(3)])
    policy = replace(POLICY, **KINDS[kind], privacy_models=(KAnonymity(5),), release=AGAIN, repeat_reason="a test")
    attributes = [replace(a, acknowledged=a.role is Role.INSENSITIVE) for a in policy.attributes]
    policy = replace(policy, attributes=tuple(attributes))
    of_rows = run(database, policy).guarantees
    module = import_module("tableveil.pipelines.read")
    check = module.check_facts
    monkeypatch.setattr(module, "check_facts", lambda *given: replace(facts := check(*given), people=facts.records))
    of_people = run(database, policy).guarantees
    assert [one for one in of_people if one.model.startswith("effective")] == [
        one for one in of_rows if one.model.startswith("effective")
    ]
    # It is what says that people are counted.
    assert any(one.model == "dominance" for one in of_people)


COHORTS = replace(
    POLICY,
    attributes=(
        replace(POLICY.attributes[0], maximum_level=1),
        AttributePolicy("cohort", Role.INSENSITIVE),
        AttributePolicy("illness", Role.SENSITIVE),
        AttributePolicy("person", Role.IDENTIFYING),
    ),
    privacy_models=(KAnonymity(5),),
    suppression_limit=Decimal(0),
    release=AGAIN,
    repeat_reason="a test",
)


def create_cohorts(session: Session, visits: int = 40) -> None:
    """400 people of 22 to 39 years, and one of 20 and 21 with so many visits: cohorts and illnesses tell these ages."""
    session.execute(
        "CREATE OR REPLACE TABLE visits AS SELECT age, (age + 3) // 5 AS cohort, cohort AS illness, person FROM ("
        "SELECT 22 + i % 18 AS age, i AS person FROM range(400) r(i) "
        f"UNION ALL SELECT 20 + i % 2, 1000 FROM range({visits}) r(i))"
    )


def test_many_rows_of_one_person_are_one_person(database: Database, session: Session, run: Run) -> None:
    create_cohorts(session)
    with pytest.raises(InvalidError) as raised:
        run(database, COHORTS)
    (fault,) = raised.value.faults
    assert fault.field == "attributes[1].role"
    assert fault.found == "INSENSITIVE for 'cohort', whose effective k is below 5: it leaves rows of 1 person by 'age'"
    assert fault.expected == "columns that leave everybody rows of as many people of their class as the policy's k"
    cohort = replace(COHORTS.attributes[1], acknowledged=True)
    release = run(database, replace(COHORTS, attributes=(COHORTS.attributes[0], cohort, *COHORTS.attributes[2:])))
    assert reached(release) == {"cohort": 1, "illness": 1}
    assert any("whose 'illness' does not fit it. Then rows of 1 person can be left" in w for w in release.warnings)
    # By its rows alone, the cohort passes.
    assert reached(run(database, replace(COHORTS, person_column=None)))["cohort"] == 40


@pytest.mark.long
def test_without_a_k_columns_must_leave_the_people_of_the_smallest_class(
    database: Database, session: Session, run: Run
) -> None:
    """Not its rows."""
    create_cohorts(session)
    policy = replace(COHORTS, privacy_models=(Dominance(Decimal("0.5")),))
    told = [warning for warning in run(database, policy).warnings if "effective k" in warning]
    least = session.value("SELECT min(n) FROM (SELECT count(DISTINCT person) AS n FROM visits GROUP BY age // 10)")
    for name in ("cohort", "illness"):
        (warning,) = (one for one in told if f"whose '{name}' does not fit it" in one)
        assert f"Then rows of 1 person can be left, fewer than {least}" in warning
    session.execute("UPDATE visits SET cohort = hash(rowid) % 2, illness = hash(rowid, 1) % 3")
    again = run(database, policy)
    assert reached(again) == {"cohort": least, "illness": least}
    assert not any("effective k" in warning for warning in again.warnings)


def test_the_check_of_a_policy_counts_people(database: Database, session: Session) -> None:
    create_cohorts(session)
    with database.session() as own, pytest.raises(InvalidError) as raised:
        check_rows(context(own, database), COHORTS)
    assert [fault.field for fault in raised.value.faults] == ["attributes[1].role"]


@pytest.mark.parametrize(("kind", "seeds"), by_cost("dropped"))
def test_the_verification_counts_people_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str, seeds: Sequence[int]
) -> None:
    """Without the check before the release is written, the verification refuses what that check would refuse."""
    attributes = [
        replace(attribute, role=Role.IDENTIFYING) if attribute.column == "illness" else attribute
        for attribute in KINDS[kind].get("attributes", POLICY.attributes)
    ]

    def refused_ones() -> list[int]:
        found = []
        for seed in seeds:
            visits, chance = drawn(seed, people=120), Random(seed)
            if seed < 2:
                visits = [replace(v, tells=chance.randrange(2), leans=chance.randrange(2)) for v in visits]
            create(session, visits)
            own = [
                replace(a, acknowledged=a.acknowledged or (a.column == "tells" and seed % 2 == 0)) for a in attributes
            ]
            models = (KAnonymity(3 + seed),)
            changes = KINDS[kind] | {"attributes": tuple(own), "privacy_models": models, "release": AGAIN}
            try:
                run(database, replace(POLICY, **changes, repeat_reason="a test"))
            except (InvalidError, InternalError) as error:
                found += [seed] if "rows of" in str(error) else [-1]
        return found

    refused_before = refused_ones()
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    assert refused_ones() == refused_before
    assert 0 < len(refused_before) < len(seeds)
    assert -1 not in refused_before


@pytest.mark.parametrize("visits", once([3, 40]))
def test_the_verification_says_how_many_people_are_left(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, visits: int
) -> None:
    """Also where the rows that are left are fewer than k themselves."""
    create_cohorts(session, visits)
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    with pytest.raises(InternalError) as raised:
        run(database, COHORTS)
    (fault,) = raised.value.faults
    assert fault.found == "unchanged columns leave rows of 1 people of a class, fewer than k = 5"
