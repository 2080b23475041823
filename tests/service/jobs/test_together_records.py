"""Releases of people with several records judged together: records are found by a column, and people are counted."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InfeasibleError, InternalError, InvalidError
from tableveil.lifecycle import joint_figures
from tableveil.lifecycle.erase import erase
from tableveil.policy import (
    AttributePolicy,
    AverageRisk,
    Dominance,
    KAnonymity,
    LeftBehind,
    Policy,
    Role,
    TableReference,
)
from tableveil.state import persons
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.managed import OF_KNOWN_PEOPLE
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
K = 3
Chain = tuple[int, ...]


@pytest.fixture(autouse=True)
def visits(session: Session) -> None:
    """Two hundred visits of seventy people: some come once, some nine times. Visits have the numbers of people, too."""
    session.execute(
        "CREATE TABLE visits AS SELECT i AS visit, (i * i // 3) % 70 AS id, 20 + (i * 7) % 10 AS age, "
        "(i // 7) % 2 AS ward, 'illness ' || i % 5 AS illness FROM range(200) r(i)"
    )


def policy(name: str, left_behind: LeftBehind | None = None, *models: Dominance, **changes: Any) -> Policy:
    found = replace(
        OF_KNOWN_PEOPLE,
        source=TableReference("", "main", "visits"),
        attributes=(AttributePolicy("visit", Role.IDENTIFYING), *OF_KNOWN_PEOPLE.attributes),
        record_column="visit",
        privacy_models=(KAnonymity(K), *models),
        release=plain_target("main", name, left_behind=left_behind),
    )
    return replace(found, **changes)


def owners(session: Session, *releases: int) -> dict[Chain, Counter[int]]:
    """The owners of the records of each combination of classes, and how many each has."""
    found = session.rows(
        "SELECT digest, release, class, person FROM tableveil.release_persons UNION ALL "
        "SELECT member, release, class, person FROM tableveil.release_erased_persons"
    )
    records: dict[int, dict[int, int]] = defaultdict(dict)
    whose = {digest: person for digest, _, _, person in found}
    for digest, release, class_, _ in found:
        records[digest][release] = class_
    chains: dict[Chain, Counter[int]] = defaultdict(Counter)
    for digest, classes in records.items():
        chains[tuple(classes.get(release, -1) for release in releases)][whose[digest]] += 1
    return {chain: counts for chain, counts in chains.items() if set(chain) != {-1}}


def too_few(people: Counter[int], share: float = 1.0) -> bool:
    return len(people) < K or max(people.values()) > share * people.total() + 1e-9


def month(session: Session) -> None:
    """Some visits are gone, with all of some people; some are new, and some patients moved."""
    session.execute(
        "DELETE FROM visits WHERE visit % 13 = 1 OR id IN (12, 48); "
        "INSERT INTO visits SELECT m + 1 + i, i % 20, 20 + i % 10, i % 2, 'illness 1' "
        "FROM range(20) r(i), (SELECT max(visit) AS m FROM visits); "
        "UPDATE visits SET age = age + 1 WHERE visit % 6 = 0"
    )


@pytest.mark.parametrize("models", once([(), (Dominance(Decimal("0.34")),)]))
@pytest.mark.parametrize("months", once([1, 2]))
def test_nobody_is_singled_out(
    database: Database, session: Session, run: Run, models: tuple[Dominance, ...], months: int
) -> None:
    share = 0.34 if models else 1.0
    numbers = [run(database, policy("first", LeftBehind.REQUIRE, *models)).number]
    for i in range(months):
        month(session)
        numbers.append(run(database, policy(f"later_{i}", LeftBehind.REQUIRE, *models)).number)
        assert not any(too_few(people, share) for people in owners(session, *numbers).values())


@pytest.mark.parametrize("models", once([(), (Dominance(Decimal("0.34")),)]))
def test_reported(database: Database, session: Session, run: Run, models: tuple[Dominance, ...]) -> None:
    """Joint classes have k people, and fewer are left behind: the account says how many people."""
    share = 0.34 if models else 1.0
    first = run(database, policy("first", None, *models)).number
    month(session)
    release = run(database, policy("second", LeftBehind.REPORT, *models))
    found = owners(session, first, release.number)
    assert not any(too_few(people, share) for (_, now), people in found.items() if now != -1)
    partly = {before for before, now in found if now != -1}
    left = [people for (before, now), people in found.items() if now == -1 and before in partly]
    few = [people for people in left if too_few(people, share)]
    told = f"Left behind are {len(set().union(*few)):,} people, in {len(few):,} combinations"
    assert few
    assert any(told in warning for warning in release.warnings), release.warnings
    figures = joint_figures(session, [first, release.number])
    assert figures.people == len({person for people in found.values() for person in people})
    assert figures.smallest == min(len(people) for (_, now), people in found.items() if now != -1)
    assert figures.smallest_left_behind == min(len(people) for (_, now), people in found.items() if now == -1)
    left_people = {person for (_, now), people in found.items() if now == -1 for person in people}
    assert figures.left_behind == len(left_people)


@pytest.mark.long
def test_as_many_people_as_records(database: Database, session: Session, run: Run) -> None:
    """Where nobody has several, people's records are what people are: classes and account are the same."""
    session.execute("UPDATE visits SET id = visit + 1000")
    session.execute("CREATE TABLE kept AS FROM visits")
    found = []
    for record in ("visit", ""):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM kept")
        first = run(database, policy(f"first_{record}", repeat_reason="a test", record_column=record)).number
        month(session)
        second = policy(f"second_{record}", LeftBehind.REQUIRE, repeat_reason="a test", record_column=record)
        together = replace(second.release, together_with=(first,))
        release = run(database, replace(second, release=together))
        rows = session.rows(f'SELECT age, ward, count(*) FROM main."second_{record}" GROUP BY ALL ORDER BY ALL')
        found.append((release.score, release.suppressed_records, rows))
    assert found[0] == found[1]


def test_an_erased_person_stays_a_person(database: Database, session: Session, run: Run) -> None:
    """The records of the erased keep their classes, as those of one person whom nobody knows."""
    first = run(database, policy("first", LeftBehind.REQUIRE)).number
    before = sorted(sorted(people.values()) for people in owners(session, first).values())
    with session.transaction():
        erased = erase(session, TableReference(session.catalog, "main", "visits"), "id", ["3", "12"])
    assert erased.holding == (first,)
    assert session.value("SELECT count(DISTINCT person) FROM tableveil.release_erased_persons") == 2
    assert sorted(sorted(people.values()) for people in owners(session, first).values()) == before
    second = run(database, policy("second", LeftBehind.REQUIRE)).number
    assert not any(too_few(people) for people in owners(session, first, second).values())


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("INSERT INTO visits FROM visits WHERE visit = 5", "200 different values of 'visit' in 201 rows"),
        ("UPDATE visits SET visit = NULL WHERE visit < 2", "2 NULLs in 'visit'"),
    ],
)
def test_columns_that_identify_no_record(
    database: Database, session: Session, run: Run, change: str, found: str
) -> None:
    session.execute(change)
    with pytest.raises(InvalidError, match=f"record_column: found {found}"):
        run(database, policy("first"))


def test_one_person_is_not_two_by_the_sign_of_zero(database: Database, session: Session, run: Run) -> None:
    """Both are one person to k, and were two among those left behind."""
    session.execute(
        "CREATE OR REPLACE TABLE visits AS SELECT * REPLACE (id::DOUBLE * (1 - visit % 2 * 2) AS id) FROM visits"
    )
    with pytest.raises(InvalidError, match=r"records with -0\.0 in 'id'"):
        run(database, policy("first"))


def test_records_of_other_people(database: Database, session: Session, run: Run) -> None:
    """Nobody could say any more whose the records are that are left behind."""
    first = run(database, policy("first")).number
    session.execute("UPDATE visits SET id = 69 - id WHERE visit < 10")
    with pytest.raises(InvalidError, match=f"releases/{first}, with 10 records of the source whose 'id' is another"):
        run(database, policy("second", LeftBehind.REQUIRE))


def test_records_and_people_are_not_mixed(database: Database, session: Session, run: Run) -> None:
    first = run(database, policy("first")).number
    session.execute("CREATE OR REPLACE TABLE visits AS FROM visits QUALIFY row_number() OVER (PARTITION BY id) = 1")
    with pytest.raises(InvalidError, match=f"releases/{first}, of which the ledger has the classes of records"):
        run(database, policy("second", LeftBehind.REPORT, record_column=""))
    second = run(database, policy("second", repeat_reason="a test", record_column="")).number
    with pytest.raises(InvalidError, match=f"releases/{second}, of which the ledger has the classes of people"):
        run(database, policy("third", LeftBehind.REPORT))
    with pytest.raises(InvalidError, match=f"releases/{first}, of which"):
        joint_figures(session, [first, second])


@pytest.mark.long
def test_models_that_take_records_for_people(database: Database, run: Run) -> None:
    run(database, policy("first"))
    asked = policy("second", LeftBehind.REPORT)
    asked = replace(asked, privacy_models=(KAnonymity(K), AverageRisk(Decimal("0.5"))))
    with pytest.raises(InvalidError, match="average_risk"):
        run(database, asked)


def test_the_ledger_is_checked_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that gives records to other people writes nothing."""
    digest = persons._digest

    def mistaken(identifier: Any, secret: Any = None) -> Any:
        return digest(identifier, secret) if secret is not None else digest(identifier + 1)

    monkeypatch.setattr(persons, "_digest", mistaken)
    with pytest.raises(InternalError, match="of their labels"):
        run(database, policy("first"))


def test_nothing_meets_it_and_the_way_is_named(database: Database, session: Session, run: Run) -> None:
    first = run(database, policy("first", suppression_limit=Decimal("0.5"))).number
    session.execute("DELETE FROM visits WHERE id = 1")
    with pytest.raises(InfeasibleError) as refused:
        run(database, policy("second", LeftBehind.REQUIRE, suppression_limit=Decimal(0)))
    (fault,) = [fault for fault in refused.value.faults if fault.field == "release.together_with"]
    assert fault.found.startswith(f"releases/{first};")
    assert "propose --recurs" in fault.hint
