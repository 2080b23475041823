"""Rows of people who have several: linking values, values that should agree, and names that may be one person."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import check_facts, resolve_source
from tableveil.source.facts import SourceFacts

Row = tuple[int | None, str, str | None]
"""Age, person and note."""

K = 4

POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("person", Role.IDENTIFYING),
        AttributePolicy("note", Role.SENSITIVE),
    ),
    person_column="person",
    privacy_models=(KAnonymity(K),),
    release=ReleaseTarget("main", "out"),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def facts(session: Session, rows: Sequence[Row], policy: Policy = POLICY) -> SourceFacts:
    session.execute("CREATE OR REPLACE TABLE t (age INTEGER, person VARCHAR, note VARCHAR)")
    names = ["age", "person", "note"]
    with session.relation("rows_", pa.table([list(column) for column in zip(*rows, strict=True)], names=names)):
        session.execute("INSERT INTO t SELECT * FROM rows_")
    source, complete, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    return check_facts(session, source, complete)


def linked(rows: Sequence[Row]) -> int:
    """The people who have several rows with a value that fewer than K people have."""
    people = defaultdict(set)
    for _, person, note in rows:
        people[note].add(person)
    times = Counter((person, note) for _, person, note in rows if note is not None)
    return len({person for (person, note), n in times.items() if n > 1 and len(people[note]) < K})


def drawn(seed: int, notes: int) -> list[Row]:
    random = Random(seed)
    notes_or_null = [*(f"n{i}" for i in range(notes)), None]
    return [(random.randrange(60), f"p{random.randrange(60)}", random.choice(notes_or_null)) for _ in range(200)]


@pytest.mark.parametrize("notes", [3, 60, 90])
def test_values_that_tie_rows_together(session: Session, notes: int) -> None:
    for seed in range(5):
        rows = drawn(seed, notes)
        people = len({person for _, person, _ in rows})
        number = linked(rows)
        found = f"values of fewer than {K} people that tie rows of {number} of {people} people together"
        release = facts(session, rows)
        refused = [("attributes[2].role", f"SENSITIVE for 'note', which has {found}")] * (number > people * 0.05)
        assert [(fault.field, fault.found) for fault in release.faults] == refused
        attributes = (*POLICY.attributes[:2], replace(POLICY.attributes[2], acknowledged=True))
        acknowledged = facts(session, rows, replace(POLICY, attributes=attributes))
        assert acknowledged.faults == ()
        warned = [warning for warning in acknowledged.warnings if "note" in warning]
        assert warned == [f"'note' has {found}: what is promised of one row is not of several."] * bool(number)


def test_a_k_of_more_than_all_people_is_no_fault_of_a_column(session: Session) -> None:
    """The search says that no k will do; a note that everybody has would be told apart by nobody."""
    rows: list[Row] = [(1, f"p{i // 2}", "a") for i in range(20)]
    release = facts(session, rows, replace(POLICY, privacy_models=(KAnonymity(11),)))
    assert (release.faults, release.warnings) == ((), ())
    rows[0] = (1, "p0", "rare")
    assert facts(session, [*rows, rows[0]], replace(POLICY, privacy_models=(KAnonymity(10),))).faults


def test_values_that_should_agree(session: Session) -> None:
    rows: list[Row] = [(i // 3, f"p{i // 3}", "a") for i in range(300)]
    assert facts(session, rows).warnings == ()
    rows[0], rows[3] = (99, "p0", "a"), (None, "p1", "a")
    assert facts(session, rows).warnings == (
        "'age' differs between the rows of 2 of 100 people with several, and is the same for the others: if it cannot "
        "change, some of these rows are wrong.",
    )
    # A column that varies for many people is meant to.
    assert facts(session, [(i, f"p{i // 3}", "a") for i in range(300)]).warnings == ()


def test_people_who_may_be_one(session: Session) -> None:
    rows: list[Row] = [(1, name, "a") for name in ("Ann", "Ann", "ann", "Bob", "Bob ", "Cid")]
    assert facts(session, rows).warnings == (
        "2 values of 'person' differ from others in case, spaces, characters that do not show, or Unicode form only: "
        "each counts as another person.",
    )
