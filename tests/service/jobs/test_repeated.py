"""Releases that repeat people by a reason: their joint figures are told before they become public."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Scopes, Session, Visibility, seeing
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lifecycle import decide, repeated
from tableveil.pipelines.dry_run import run_dry_run
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import AttributePolicy, IfExists, LeftBehind, Policy, Role, TableReference
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state import jobs, schema_rules
from tableveil.state.decisions import Decision
from tableveil.state.dry_runs import DRY_RUNS, DryRun
from tableveil.state.jobs import now
from tableveil.state.releases import Release, ReleaseState
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import OF_KNOWN_PEOPLE
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
K = 3
LABELS = ("age", "ward")


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def register(session: Session, seed: int, rows: int = 120) -> None:
    """People with ages, wards, and two columns that are released unchanged, of which the charge is nearly unique."""
    session.execute("DELETE FROM tableveil.release_persons; DELETE FROM tableveil.release_sample_values")
    session.execute("DELETE FROM tableveil.releases")
    session.execute(
        f"CREATE OR REPLACE TABLE register AS SELECT i AS id, (20 + hash(i, {seed}) % 40)::INTEGER AS age, "
        f"(hash(i, {seed}, 2) % 4)::INTEGER AS ward, 'illness ' || hash(i, {seed}, 3) % 5 AS illness, "
        f"if(i % 9 = 0, NULL, hash(i, {seed}, 4) % {rows * 20}) AS charge FROM range({rows}) r(i)"
    )


def policy(name: str, **changes: Any) -> Policy:
    attributes = (
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("20", "60", ("2", "4", "8"))),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
        AttributePolicy("charge", Role.INSENSITIVE, acknowledged=True),
    )
    of = replace(OF_KNOWN_PEOPLE, source=TableReference("", "main", "register"), attributes=attributes)
    return replace(of, release=plain_target("main", name), suppression_limit=Decimal("0.2"), **changes)


def by_labels(session: Session, *releases: int) -> Counter[tuple[int, ...]]:
    """How many people have each combination of classes in the releases; -1 is no row."""
    people: dict[int, dict[int, int]] = {}
    for digest, release, class_ in session.rows("SELECT digest, release, class FROM tableveil.release_persons"):
        people.setdefault(digest, {})[release] = class_
    chains = Counter(tuple(classes.get(release, -1) for release in releases) for classes in people.values())
    return Counter({chain: number for chain, number in chains.items() if set(chain) != {-1}})


def by_columns(session: Session, earlier: str, new: str, columns: str) -> list[int]:
    """The sizes of the joint classes of rows whose earlier class follows from the columns."""
    read = f"SELECT {', '.join(LABELS)}, {columns} FROM main."
    then, now = ([(row[:2], row[2:]) for row in session.rows(read + name)] for name in (earlier, new))
    classes = {values: {label for label, other in then if other == values} for _, values in now}
    return [
        sum(label == other and classes[values] <= classes[others] for other, others in now)
        for label, values in now
        if len(classes[values]) == 1
    ]


def figures(release: Release) -> list[tuple[str, float | None]]:
    """The columns, none for labels, and the fewest of joint classes."""
    return [(one.column, one.after) for one in release.guarantees if one.model.startswith("joint_k")]


@pytest.mark.parametrize("seed", once([1, 2, 3]))
def test_a_full_domain_and_a_local_release(database: Database, session: Session, run: Run, seed: int) -> None:
    """Both methods of the same people, public together by a reason."""
    register(session, seed)
    first = run(database, policy(f"first_{seed}")).number
    second = run(database, policy(f"second_{seed}", methods=(LocalRecoding(),), repeat_reason="test of both methods"))
    chains = by_labels(session, first, second.number)
    joint = [number for (_, now), number in chains.items() if now != -1]
    left = sum(number for (_, now), number in chains.items() if now == -1 and number < K)
    below = sum(number for number in joint if number < K)
    labels, (columns, joined) = figures(second)
    assert {"illness", "charge"} <= {*columns.split(", ")}
    sizes = by_columns(session, f"first_{seed}", f"second_{seed}", columns)
    assert (labels, joined) == (("", min(joint)), min(sizes))
    assert below > 0
    told = " ".join(second.warnings)
    assert f"{below:,} people are in joint classes of fewer than k = 3, the smallest of {min(joint)}" in told
    assert (f"{left:,} people have no row in this release" in told) == (left > 0)
    few = sum(size < K for size in sizes)
    said = f"the class of {len(sizes):,} rows there, of which {few:,} are in joint classes of fewer than k = 3 rows"
    assert (said in told) == (few > 0)


def test_equal_releases_tell_nobody_apart(database: Database, session: Session, run: Run) -> None:
    """The rows of the release that is replaced are joined before they go."""
    register(session, 4)
    first = run(database, policy("again"))
    repeated = policy("again", repeat_reason="a correction of the purpose")
    second = run(database, replace(repeated, release=replace(repeated.release, if_exists=IfExists.REPLACE)))
    (_, smallest), (columns, joined) = figures(second)
    assert (smallest, joined) >= (K, K)
    assert "charge" in columns
    assert not any("this release tells people apart" in text for text in second.warnings)
    assert second.suppressed_records == first.suppressed_records


@pytest.mark.parametrize("changes", once([{"no_person_digests": True}, {"person_column": None}]))
def test_classes_that_the_ledger_does_not_have(
    database: Database, session: Session, run: Run, changes: dict[str, Any]
) -> None:
    """Nobody knows whom readers of both tell apart, which is said as loudly; rows that join are counted."""
    register(session, 5)
    name = "without_" + next(iter(changes))
    first = run(database, policy(f"{name}_first")).number
    second = run(database, policy(name, repeat_reason="a test", methods=(LocalRecoding(),), **changes))
    assert f"Joint classes with releases/{first} are not defined" in second.warnings[0]
    undefined, (columns, _) = figures(second)
    assert undefined == ("", None)
    assert "charge" in columns


def test_releases_of_others_are_left_out(database: Database, session: Session, run: Run) -> None:
    register(session, 6)
    run(database, policy("of_others"))
    own = Scopes(schemas=frozenset({"main"}))
    with seeing(lambda: Visibility("bob", owned=own, published=own)):
        second = run(database, policy("own", repeat_reason="a test"))
    assert not figures(second)
    assert "releases/" not in " ".join(second.warnings)


REASONED = {"repeat_reason": "test of both methods"}


@contextmanager
def ruled(session: Session) -> Iterator[None]:
    """The schema has the rule that a reason does not suffice below k."""
    with session.ledger.transaction():
        schema_rules.put(session.ledger, "MAIN", joint_k=True, set_by="ada", at=now())
    try:
        yield
    finally:
        session.execute("DELETE FROM tableveil.schema_rules")


def test_a_rule_lets_no_reason_alone_through(database: Database, session: Session, run: Run) -> None:
    """Below k, it waits for an approver; what tells nobody apart does not."""
    register(session, 7)
    with ruled(session):
        assert run(database, policy("ruled")).state is ReleaseState.APPROVED
        unsafe = run(database, policy("unsafe", methods=(LocalRecoding(),), **REASONED))
        assert unsafe.state is ReleaseState.PENDING
        assert session.value("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'unsafe'") == 0
        assert any("it waits for approval" in text for text in unsafe.warnings)
        assert len(figures(unsafe)) == 2
        decide(database, unsafe.number, plain_target("main", "unsafe"), Decision(False, "bob", now(), "no"))
        assert run(database, policy("equal", **REASONED)).state is ReleaseState.APPROVED


@pytest.mark.long
def test_a_rule_lets_nothing_through_of_which_nobody_knows(database: Database, session: Session, run: Run) -> None:
    """Releases judged together with the others need no approver."""
    register(session, 7)
    with ruled(session):
        run(database, policy("ruled_again"))
        unknown = run(database, policy("unknown", person_column=None, **REASONED))
        assert unknown.state is ReleaseState.PENDING
        decide(database, unknown.number, plain_target("main", "unknown"), Decision(False, "bob", now(), "no"))
        judged = policy("judged")
        judged = replace(judged, release=replace(judged.release, left_behind=LeftBehind.REQUIRE))
        assert run(database, judged).state is ReleaseState.APPROVED


@pytest.mark.parametrize("renamed", once([{"charge": "fee"}, {"charge": "fee", "illness": "sickness"}]))
def test_columns_of_other_names_join_by_their_values(
    database: Database, session: Session, run: Run, renamed: dict[str, str]
) -> None:
    """Readers who have both releases see that a column has the values of another, and join by it."""
    register(session, 9)
    name = f"named_{len(renamed)}"
    first = run(database, policy(name)).number
    for old, new in renamed.items():
        session.execute(f"ALTER TABLE register RENAME COLUMN {old} TO {new}")
    attributes = tuple(replace(one, column=renamed.get(one.column, one.column)) for one in policy("").attributes)
    asked = policy(f"{name}_again", methods=(LocalRecoding(),), repeat_reason="a test")
    second = run(database, replace(asked, attributes=attributes))
    ((columns, smallest),) = [
        (one.column, one.after) for one in second.guarantees if one.model == f"joint_k (releases/{first}, joined)"
    ]
    assert "fee (charge there)" in columns
    session.execute(f"CREATE OR REPLACE TABLE as_before AS FROM {name}_again")
    for old, new in renamed.items():
        session.execute(f"ALTER TABLE as_before RENAME COLUMN {new} TO {old}")
    joining = [re.sub(r"\w+ \((\w+) there\)", r"\1", column) for column in columns.split(", ")]
    assert smallest == min(by_columns(session, name, "as_before", ", ".join(joining)))
    assert any("fee (charge there)" in text for text in second.warnings) == (smallest < K)
    session.execute("DROP TABLE as_before")


def test_a_release_that_nobody_joined_is_told_of(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that tells people apart, it waits for an approver where the rule says so."""
    monkeypatch.setattr(repeated, "MOST_JOINED", 0)
    register(session, 8)
    first = run(database, policy("unjoined_first")).number
    with ruled(session):
        again = run(database, policy("unjoined_again", repeat_reason="a test"))
    (warning,) = (text for text in again.warnings if "Nobody joined" in text)
    assert f"releases/{first}" in warning
    assert again.state is ReleaseState.PENDING


@pytest.mark.long
def test_later_releases_do_not_hide_an_earlier_one(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the most that are joined, nobody knows: that is told, and waits for an approver where the rule says so."""
    monkeypatch.setattr(repeated, "MOST_JOINED", 1)
    register(session, 8)
    first = run(database, policy("hidden_first")).number
    silent = tuple(
        AttributePolicy(one.column, Role.IDENTIFYING) if one.column in ("ward", "illness", "charge") else one
        for one in policy("").attributes
    )
    run(database, policy("hidden_labels", repeat_reason="a test", attributes=silent))
    latest = run(database, policy("hidden_latest", repeat_reason="a test", methods=(LocalRecoding(),)))
    assert f"joint_k (releases/{first}, joined)" in [one.model for one in latest.guarantees]
    with ruled(session):
        again = run(database, policy("hidden_again", repeat_reason="a test"))
        (warning,) = (text for text in again.warnings if "Nobody joined" in text)
        assert f"releases/{first}" in warning
        assert again.state is ReleaseState.PENDING
        decide(database, again.number, plain_target("main", "hidden_again"), Decision(False, "bob", now(), "no"))


def rehearsed(database: Database, wanted: Policy) -> DryRun:
    """The dry run of a policy."""
    with database.session() as own:
        number = jobs.next_number(own.ledger)
        request = jobs.Request(number, "", "{}", "", wanted.source, "", "", now())
        jobs.insert_request(own.ledger, request, [wanted.source])
        dry = DRY_RUNS.find(own.ledger, run_dry_run(context(own, database, number), wanted))
        assert dry is not None
        return dry


@pytest.mark.parametrize("reason", ["", "test of both methods"])
def test_a_dry_run_tells_of_a_reason_where_there_is_one(
    database: Database, session: Session, run: Run, reason: str
) -> None:
    register(session, 1)
    run(database, policy(f"before_dry_{len(reason)}", repeat_reason="another"))
    dry = rehearsed(database, policy("tried", methods=(LocalRecoding(),), repeat_reason=reason))
    (told,) = [text for text in dry.warnings if "this release tells people apart" in text]
    assert ("The reason for it protects nobody." in told) == bool(reason)


def foretold(database: Database, wanted: Policy) -> tuple[list[str], list[str]]:
    """The warnings of a dry run and of a check that a release would or may wait."""
    dry = rehearsed(database, wanted)
    with database.session() as own:
        checked = check_rows(context(own, database), wanted)
    told = ([text for text in texts if "wait for approval" in text] for texts in (dry.warnings, checked))
    dry_told, check_told = told
    return [*map(str, dry_told)], [*map(str, check_told)]


def test_dry_runs_and_checks_say_that_a_release_would_wait(database: Database, session: Session, run: Run) -> None:
    """A dry run has counted it, a check has not."""
    register(session, 7)
    first = run(database, policy("waited_for")).number
    wanted = policy("waiting", methods=(LocalRecoding(),), **REASONED)
    with ruled(session):
        (dry,), (check,) = foretold(database, wanted)
        why = f"its schema has the rule joint_k, and it repeats people of releases/{first}"
        assert f"would wait for approval: {why}." in dry
        assert f"may wait for approval: {why}, unless" in check
        own = Scopes(schemas=frozenset({"main"}))
        with seeing(lambda: Visibility("bob", owned=own, published=own)):
            assert foretold(database, wanted) == ([], []), "nothing of others"


@pytest.mark.long
def test_dry_runs_and_checks_know_of_what_waits(database: Database, session: Session, run: Run) -> None:
    """Neither speaks where a release becomes public at once."""
    register(session, 7)
    run(database, policy("before"))
    wanted = policy("waits", methods=(LocalRecoding(),), **REASONED)
    assert foretold(database, wanted) == ([], [])
    with ruled(session):
        assert run(database, wanted).state is ReleaseState.PENDING
        safe, unsure = foretold(database, policy("alike", **REASONED))
        assert (len(safe), len(unsure)) == (1, 1), "beside the one that waits"


def visits(session: Session, seed: int) -> None:
    """Visits of people of the register, who have one to three of them, each with a number of its own."""
    register(session, seed)
    session.execute(
        "CREATE OR REPLACE TABLE register AS SELECT register.*, 10 * id + n AS visit FROM register, range(3) v(n) "
        f"WHERE n <= hash(id, {seed}, 5) % 3"
    )


def of_visits(name: str, record_column: str, **changes: Any) -> Policy:
    found = policy(name, record_column=record_column, **changes)
    return replace(found, attributes=(AttributePolicy("visit", Role.IDENTIFYING), *found.attributes))


@pytest.mark.long
@pytest.mark.parametrize("tables", once([1, 3]))
def test_local_recoding_of_people_with_several_records(
    database: Database, session: Session, run: Run, tables: int
) -> None:
    """With a number of each record, joint classes are counted to the end: different people of each."""
    unsafe = 0
    for seed in range(20, 20 + tables):
        visits(session, seed)
        first = run(database, of_visits(f"visits_first_{tables}_{seed}", "visit")).number
        recoded = of_visits(f"visits_{tables}_{seed}", "visit", methods=(LocalRecoding(),), repeat_reason="a test")
        second = run(database, recoded)
        chains: dict[int, list[int]] = {}
        whose: dict[int, int] = {}
        rows = session.rows("SELECT digest, release, class, person FROM tableveil.release_persons")
        for digest, release, class_, person in rows:
            chains.setdefault(digest, [-1, -1])[release == second.number] = class_
            whose[digest] = person
        people: dict[tuple[int, ...], set[int]] = {}
        for digest, chain in chains.items():
            people.setdefault(tuple(chain), set()).add(whose[digest])
        joint = [found for chain, found in people.items() if chain[1] != -1]
        below = set().union(*(found for found in joint if len(found) < K))
        smallest = min(map(len, joint))
        assert figures(second)[0] == ("", smallest), first
        said = f"{len(below):,} people are in joint classes of fewer than k = 3, the smallest of {smallest}"
        assert (said in second.warnings[0]) == (smallest < K)
        unsafe += smallest < K
    assert unsafe


@pytest.mark.long
def test_local_recoding_without_numbers_of_records(database: Database, session: Session, run: Run) -> None:
    """Nobody can say which record is which: that is the first warning, as a small joint class would be."""
    visits(session, 9)
    first = run(database, of_visits("unnumbered_first", "")).number
    recoded = of_visits("unnumbered", "", methods=(LocalRecoding(),), repeat_reason="a test")
    second = run(database, recoded)
    assert second.warnings[0].startswith(f"Joint classes with releases/{first} are not defined")
    assert figures(second)[0] == ("", None)
