"""Releases judged together: whom they leave behind, what others see of it, and what is refused."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from importlib import import_module
from typing import Any

import pytest

from tableveil.backend import ALL, Database, Scopes, Session, Visibility, seeing
from tableveil.errors import InfeasibleError, InternalError, InvalidError
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.lifecycle import decide, withdraw
from tableveil.lifecycle.erase import erase
from tableveil.pipelines.anonymize import anonymize
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    KAnonymity,
    LeftBehind,
    Policy,
    Role,
    SearchOptions,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.validate_together import check_together
from tableveil.state import jobs, joint_texts, persons
from tableveil.state.decisions import Decision
from tableveil.state.releases import RELEASES, Release
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import OF_KNOWN_PEOPLE
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
K = 3


@pytest.fixture(autouse=True)
def register(session: Session) -> None:
    """Sixty people of ten ages and two wards."""
    session.execute(
        "CREATE TABLE register AS SELECT i AS id, 20 + i % 10 AS age, (i // 7) % 2 AS ward, "
        "'illness ' || i % 5 AS illness FROM range(60) r(i)"
    )


def policy(name: str, left_behind: LeftBehind | None = None, *together: int, **changes: Any) -> Policy:
    found = replace(
        OF_KNOWN_PEOPLE,
        source=TableReference("", "main", "register"),
        release=plain_target("main", name, together_with=together, left_behind=left_behind),
    )
    return replace(found, **changes)


def chains(session: Session, *releases: int) -> Counter[tuple[int, ...]]:
    """How many people have each combination of classes in the releases; -1 is no row."""
    found = session.rows(
        "SELECT digest, release, class FROM tableveil.release_persons UNION ALL "
        "SELECT member, release, class FROM tableveil.release_erased_persons"
    )
    people: dict[int, dict[int, int]] = {}
    for digest, release, class_ in found:
        people.setdefault(digest, {})[release] = class_
    linked = Counter(tuple(classes.get(release, -1) for release in releases) for classes in people.values())
    return Counter({chain: number for chain, number in linked.items() if set(chain) != {-1}})


def month(session: Session) -> None:
    """Some leave, some come, some grow older."""
    session.execute(
        "DELETE FROM register WHERE id IN (1, 12, 25, 38, 59); "
        "INSERT INTO register SELECT 100 + m + i, 20 + i, i % 2, 'illness 1' "
        "FROM range(8) r(i), (SELECT max(id) AS m FROM register); "
        "UPDATE register SET age = age + 1 WHERE id % 6 = 0"
    )


@pytest.mark.parametrize("months", once([1, 3]))
def test_nobody_is_singled_out(database: Database, session: Session, run: Run, months: int) -> None:
    numbers = [run(database, policy("first", LeftBehind.REQUIRE)).number]
    for i in range(months):
        month(session)
        numbers.append(run(database, policy(f"later_{i}", LeftBehind.REQUIRE)).number)
        assert min(chains(session, *numbers).values()) >= K


def test_reported(database: Database, session: Session, run: Run) -> None:
    """Joint classes have k people, and fewer are left behind: the account says how many."""
    alone = run(database, policy("first"))
    first = alone.number
    month(session)
    release = run(database, policy("second", LeftBehind.REPORT))
    later = "A later release of these people needs left_behind with the same keys in 'id'"
    assert [any(later in text for text in one.warnings) for one in (alone, release)] == [False, True]
    found = chains(session, first, release.number)
    left = sum(number for (_, now), number in found.items() if now == -1 and number < K)
    assert left > 0
    assert min(number for (_, now), number in found.items() if now != -1) >= K
    assert any(f"{left:,} people" in warning for warning in release.warnings), release.warnings


@pytest.mark.long
def test_by_reason_people_are_singled_out(database: Database, session: Session, run: Run) -> None:
    first = run(database, policy("first")).number
    month(session)
    second = run(database, policy("second", repeat_reason="a test")).number
    assert min(chains(session, first, second).values()) < K


@pytest.mark.parametrize("changed", once([60, 15, 0]))
def test_row_numbers_are_no_people(database: Database, session: Session, run: Run, changed: int) -> None:
    """Numbers that start anew each month recognize everybody, though most have other values than their class had."""
    run(database, policy("first"))
    session.execute(
        "UPDATE register SET age = 20 + j % 10, ward = (j // 7) % 2 FROM (SELECT id AS i, "
        f"row_number() OVER (ORDER BY hash(id, 1)) AS j FROM register WHERE id < {changed}) WHERE id = i"
    )
    warnings = run(database, policy("second", LeftBehind.REPORT)).warnings
    assert any("mostly have other values" in warning for warning in warnings) == (changed > 30), warnings


def test_it_is_hinted_at(database: Database, run: Run) -> None:
    first = run(database, policy("first"))
    with pytest.raises(InvalidError, match="left_behind") as refused:
        run(database, policy("second"))
    assert refused.value.code == "REPEATED_RELEASE"
    # Nobody is told apart by equal rows, once more.
    assert run(database, policy("third", LeftBehind.REQUIRE)).suppressed_records == first.suppressed_records


@pytest.mark.parametrize(
    ("first", "second", "change", "hint"),
    once(
        [
            ({}, {}, "", "write left_behind: REPORT below release"),
            ({"no_person_digests": True}, {}, "", "has no class of each person in releases/"),
            # The table's name would say that it was released.
            (
                {},
                {"source": TableReference("", "main", "visits")},
                "CREATE TABLE visits AS FROM register UNION ALL FROM register WHERE id < 5",
                "since people have several records in the source",
            ),
            ({}, {"person_column": None}, "", "first that the policy has rows_are_people"),
            ({}, {"no_person_digests": True}, "", "first that the policy has no_person_digests"),
            (
                {},
                {"privacy_models": (DistinctLDiversity("illness", 2),)},
                "",
                "first that the policy has no k_anonymity",
            ),
            ({}, {"methods": (LocalRecoding(),)}, "", "first that the policy has local_recoding"),
            ({}, {"record_column": "visit"}, "", "some of these releases name a record_column"),
            ({"record_column": "visit"}, {"record_column": "visit"}, "", "write left_behind: REPORT below release"),
        ],
        3,
        several=True,
    ),
)
def test_the_hint_helps(
    database: Database,
    session: Session,
    run: Run,
    first: dict[str, Any],
    second: dict[str, Any],
    change: str,
    hint: str,
) -> None:
    """A second release is told to judge both together only if that is accepted then."""
    session.execute("ALTER TABLE register ADD COLUMN visit INTEGER; UPDATE register SET visit = id + 500")
    visit = AttributePolicy("visit", Role.IDENTIFYING)
    attributes = (visit, *policy("first").attributes)
    run(database, policy("first", attributes=attributes, **first))
    session.execute(change or "SELECT 1")
    asked = policy("second", attributes=attributes, **second)
    with pytest.raises(InvalidError) as refused:
        run(database, asked)
    assert refused.value.code == "REPEATED_RELEASE"
    assert hint in refused.value.faults[0].hint
    judged = replace(asked, release=replace(asked.release, left_behind=LeftBehind.REPORT))
    if "below release" in hint:
        run(database, judged)
    elif not [*check_together(judged)]:
        with pytest.raises(InvalidError):
            run(database, judged)


def test_others_need_a_reason(database: Database, run: Run) -> None:
    first = run(database, policy("first")).number
    second = run(database, policy("second", repeat_reason="a test")).number
    with pytest.raises(InvalidError, match=f"releases/{second} came from"):
        run(database, policy("third", LeftBehind.REPORT, first))
    run(database, policy("third", LeftBehind.REPORT, first, repeat_reason="the second was never given away"))


@pytest.mark.long
def test_after_a_local_recoding(database: Database, session: Session, run: Run) -> None:
    """Its classes have levels of their own, and people have them as any others."""
    ages = replace(policy("first").attributes[1], hierarchy=Intervals("20", "40", ("2", "10")))
    attributes = (policy("first").attributes[0], ages, *policy("first").attributes[2:])
    recoded = policy("first", attributes=attributes, methods=(LocalRecoding(),), suppression_limit=Decimal("0.05"))
    first = run(database, recoded)
    sizes = session.rows('SELECT count(*) FROM main."first" GROUP BY age, ward ORDER BY ALL')
    assert len({*session.rows('SELECT DISTINCT age FROM main."first"')}) > 2
    assert sorted(chains(session, first.number).values()) == [size for (size,) in sizes]
    month(session)
    second = run(database, policy("second", LeftBehind.REQUIRE, attributes=attributes)).number
    assert min(chains(session, first.number, second).values()) >= K


def test_withdrawn_releases_count(database: Database, session: Session, run: Run) -> None:
    """Withdrawing recalls no copy."""
    first = run(database, policy("first", LeftBehind.REQUIRE))
    withdraw(database, first, "a test")
    month(session)
    second = run(database, policy("second", LeftBehind.REQUIRE)).number
    assert persons.judged_together(session.ledger, [second]) == {second: {first.number}}
    assert min(chains(session, first.number, second).values()) >= K


@pytest.mark.parametrize("earlier", once([0, 1]))
def test_releases_that_wait_for_approval_count(database: Database, session: Session, run: Run, earlier: int) -> None:
    """One that is made between a release and its approval is judged together with it: nobody judges it again then.

    If it is rejected, the others go on to hold together.
    """
    first = [run(database, policy("first", LeftBehind.REQUIRE)).number for _ in range(earlier)]
    month(session)
    waiting = policy("waiting", LeftBehind.REQUIRE)
    with database.session() as own:
        number = jobs.next_number(own.ledger)
        jobs.insert_request(
            own.ledger, jobs.Request(number, "", "{}", "", waiting.source, "main", "waiting", jobs.now())
        )
        made = anonymize(replace(context(own, database, number), approval=frozenset({"main"})), waiting)
    month(session)
    third = run(database, policy("third", LeftBehind.REQUIRE)).number
    assert persons.judged_together(session.ledger, [third]) == {third: {*first, made}}
    assert min(chains(session, *first, made, third).values()) >= K
    decide(database, made, waiting.release, Decision(False, "somebody", jobs.now(), "a test"))
    assert min(chains(session, *first, third).values()) >= K
    month(session)
    last = run(database, policy("last", LeftBehind.REQUIRE)).number
    assert persons.judged_together(session.ledger, [last]) == {last: {*first, third}}
    assert min(chains(session, *first, third, last).values()) >= K


def test_after_one_that_declined(database: Database, session: Session, run: Run) -> None:
    """Nobody is split further: people below k have no row, and their combination stays one."""
    first = run(database, policy("first")).number
    month(session)
    second = run(database, policy("second", repeat_reason="a test")).number
    before = chains(session, first, second)
    month(session)
    third = run(database, policy("third", LeftBehind.REQUIRE)).number
    after = chains(session, first, second, third)
    for chain, number in before.items():
        split = [found for (*earlier, _), found in after.items() if tuple(earlier) == chain]
        assert sum(split) == number
        assert len(split) == 1 or min(split) >= K


@pytest.mark.parametrize(
    ("changes", "code"),
    once(
        [({"no_person_digests": True}, "TOGETHER_UNKNOWN"), ({"person_column": None}, "TOGETHER_UNKNOWN")], several=True
    ),
)
def test_releases_without_classes(database: Database, run: Run, changes: dict[str, Any], code: str) -> None:
    first = run(database, policy("first", **changes)).number
    with pytest.raises(InvalidError, match=f"releases/{first}") as refused:
        run(database, policy("second", LeftBehind.REPORT))
    assert refused.value.code == code
    assert "Leave out left_behind" in str(refused.value)
    second = run(database, policy("second", repeat_reason="a test")).number
    with pytest.raises(InvalidError) as refused:
        run(database, policy("third", LeftBehind.REPORT))
    assert f"together_with: [releases/{second}], and say" in str(refused.value)


def test_people_with_several_records(database: Database, session: Session, run: Run) -> None:
    """Nobody knows which of their rows is which: it is refused, as is a later release beside them."""
    session.execute("INSERT INTO register FROM register WHERE id < 5")
    with pytest.raises(InvalidError, match=r"people have several records, without a record_column"):
        run(database, policy("first", LeftBehind.REQUIRE))
    first = run(database, policy("first")).number
    session.execute("CREATE OR REPLACE TABLE register AS SELECT DISTINCT * FROM register")
    with pytest.raises(InvalidError, match=f"releases/{first}, of which the ledger has no class of each person"):
        run(database, policy("second", LeftBehind.REQUIRE))


@pytest.mark.parametrize(
    "change",
    once(
        [
            "UPDATE register SET id = id + 1000",
            # A key that was rotated: nothing re-keys the digests.
            "UPDATE tableveil.secrets SET value = '\\x01'::BLOB WHERE name = 'fingerprint'",
        ]
    ),
)
def test_people_under_other_keys(database: Database, session: Session, run: Run, change: str) -> None:
    """Or all of them would be newcomers, and all earlier ones left behind: k, and a promise of nothing."""
    run(database, policy("first"))
    session.execute(change)
    with pytest.raises(InvalidError) as refused:
        run(database, policy("second", LeftBehind.REQUIRE))
    assert refused.value.code == "TOGETHER_UNRECOGNIZED"


@pytest.mark.long
def test_nothing_meets_it(database: Database, session: Session, run: Run) -> None:
    first = run(database, policy("first")).number
    month(session)
    with pytest.raises(InfeasibleError) as refused:
        run(database, policy("second", LeftBehind.REQUIRE, suppression_limit=Decimal(0)))
    assert f"releases/{first}" in str(refused.value.faults)


@pytest.mark.long
def test_blank_rows(database: Database, session: Session, run: Run) -> None:
    blank: dict[str, Any] = {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "gone"}
    first = run(database, policy("first", **blank)).number
    month(session)
    second = run(database, policy("second", LeftBehind.REQUIRE, **blank)).number
    assert min(chains(session, first, second).values()) >= K


def test_readers_who_lack_a_release(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two leave before a release that declines. A reader of the first and the third alone must not see two leave."""
    first = run(database, policy("first", LeftBehind.REQUIRE)).number
    month(session)
    second = run(database, policy("second", repeat_reason="a test")).number
    module = import_module("tableveil.lifecycle.together")
    with monkeypatch.context() as broken:
        broken.setattr(module, "_sets", lambda *_: ())
        with pytest.raises(InternalError, match="leave fewer than"):
            run(database, policy("third", LeftBehind.REQUIRE))
    third = run(database, policy("third", LeftBehind.REQUIRE)).number
    assert min(chains(session, first, third).values()) >= K
    assert min(chains(session, second, third).values()) >= K


def hold(session: Session, rows: str) -> None:
    """The register of people by their numbers from and below, age and ward."""
    session.execute(
        "CREATE OR REPLACE TABLE register AS SELECT unnest(range(low, high)) AS id, age, ward, 'ill' AS illness "
        f"FROM (VALUES {rows}) v(low, high, age, ward)"
    )


def released_of(database: Database, session: Session, run: Run, rows: str, left: LeftBehind | None) -> int:
    """The release of a register of some rows, for k = 5."""
    hold(session, rows)
    name = f"month_{session.value('SELECT count(*) FROM tableveil.releases')}"
    found = policy(name, left, privacy_models=(KAnonymity(5),), suppression_limit=Decimal(1))
    return run(database, replace(found, search=SearchOptions(levels=(("age", 0), ("ward", 0))))).number


def test_readers_of_releases_after_a_report(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty people, four months: a reader of months 1, 3 and 4 would be left with one row."""
    released = partial(released_of, database, session, run)
    released("(0, 20, 20, 0)", None)
    released("(0, 6, 20, 0), (6, 20, 21, 0)", LeftBehind.REPORT)
    released("(0, 5, 20, 0), (6, 13, 20, 0)", LeftBehind.REPORT)
    with monkeypatch.context() as broken:
        broken.setattr(import_module("tableveil.lifecycle.together"), "_sets", lambda *_: ((0,), (0, 1)))
        with pytest.raises(InternalError, match="leave fewer than"):
            released("(6, 20, 20, 0)", LeftBehind.REQUIRE)
    fourth = released("(6, 20, 20, 0)", LeftBehind.REQUIRE)
    assert min(chains(session, 1, 3, fourth).values()) >= 5


@pytest.mark.long
def test_readers_of_releases_judged_with_each_other(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second release declines, and tells a person of the first apart: no reader without it may see that."""

    def has(rows: str) -> None:
        hold(session, rows)

    def released(name: str, left_behind: LeftBehind | None, reason: str = "") -> int:
        found = policy(name, left_behind, privacy_models=(KAnonymity(2),), repeat_reason=reason)
        return run(database, replace(found, search=SearchOptions(levels=(("age", 0), ("ward", 0))))).number

    has("(0, 9, 20, 0)")
    first = released("first", None)
    has("(0, 1, 21, 0), (10, 12, 21, 0), (1, 4, 22, 0), (4, 9, 23, 0)")
    second = released("second", None, "a test")
    has("(4, 9, 24, 0)")
    third = released("third", LeftBehind.REQUIRE)
    has("(1, 4, 25, 0), (7, 9, 26, 0)")
    module = import_module("tableveil.lifecycle.together")
    with monkeypatch.context() as broken:
        broken.setattr(module, "_sets", lambda *_: ((0,), (1,)))
        with pytest.raises(InternalError, match="leave fewer than"):
            released("fourth", LeftBehind.REQUIRE)
    fourth = released("fourth", LeftBehind.REQUIRE)
    assert min(chains(session, first, second).values()) == 1
    for some in ((first, third, fourth), (second, third, fourth), (first, third), (first, fourth)):
        assert min(chains(session, *some).values()) >= 2, some


@pytest.mark.long
def test_earlier_releases_of_other_columns_and_a_table_that_is_gone(
    database: Database, session: Session, run: Run
) -> None:
    """The ledger keeps classes, whatever they are of: the earlier table is needed no more."""
    session.execute("CREATE TABLE others AS SELECT id, id % 4 AS size, illness FROM register")
    attributes = (
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("size", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE),
    )
    others = policy("of_others", attributes=attributes)
    first = run(database, replace(others, source=TableReference("", "main", "others"))).number
    session.execute("DROP TABLE others")
    second = run(database, policy("second", LeftBehind.REQUIRE, first)).number
    assert min(chains(session, first, second).values()) >= K


def test_releases_of_others_change_nothing(database: Database, session: Session, run: Run) -> None:
    """A stranger's rows make nothing infeasible. A submitter who may see them judges with them."""
    session.execute("CREATE SCHEMA others; CREATE TABLE others.register AS FROM register WHERE id < 40")
    theirs = policy("first", source=TableReference("", "others", "register"), privacy_models=(KAnonymity(5),))
    run(database, replace(theirs, search=SearchOptions(levels=(("age", 1), ("ward", 1)))))
    session.execute("DELETE FROM register WHERE id IN (2, 7)")
    strict = policy("second", LeftBehind.REQUIRE, suppression_limit=Decimal(0))
    with pytest.raises(InfeasibleError, match="releases/1") as refused:
        run(database, strict)
    (hint,) = [fault.hint for fault in refused.value.faults if fault.field == "release.together_with"]
    assert "propose --recurs" in hint
    assert "REPORT" not in hint, "it lasts hardly longer"
    own = Scopes(schemas=frozenset({"main"}))
    with seeing(lambda: Visibility("bob", owned=own, published=own)):
        release = run(database, strict)
    assert release.suppressed_records == 0
    assert not [warning for warning in release.warnings if "ogether" in warning]
    with seeing(lambda: Visibility("bob", owned=own, published=own, admitted=ALL)):
        seen = run(database, policy("third", LeftBehind.REPORT))
    # Admitted by rights that are gone since.
    assert seen.warnings == (joint_texts.LEFT_OUT,)
    whole = RELEASES.find(session.ledger, seen.number)
    assert whole is not None
    (told,) = (warning for warning in whole.warnings if "Judged together with releases/1, releases/2: " in warning)
    assert "all of these people that you could see when you submitted the job" in told


@pytest.mark.parametrize("left_behind", once(LeftBehind))
def test_a_listed_release_of_others_is_as_if_it_were_missing(
    database: Database, session: Session, run: Run, left_behind: LeftBehind
) -> None:
    session.execute(
        "CREATE SCHEMA others; CREATE TABLE others.register AS SELECT * RENAME (id AS ward_id) FROM register"
    )
    attributes = (AttributePolicy("ward_id", Role.IDENTIFYING), *policy("").attributes[1:])
    source = TableReference("", "others", "register")
    run(database, policy("first", source=source, attributes=attributes, person_column="ward_id"))
    session.execute("ALTER TABLE register ADD COLUMN ward_id INTEGER DEFAULT 5")
    changed = replace(policy("").attributes[0], column="ward_id")
    refusals, own = [], Scopes(schemas=frozenset({"main"}))
    for number in (1, 9):
        asked = policy("second", left_behind, number)
        asked = replace(asked, attributes=(*asked.attributes, changed))
        with seeing(lambda: Visibility("bob", owned=own)), pytest.raises(InvalidError) as no:
            run(database, asked)
        refusals.append(str(no.value.faults).replace("releases/9", "releases/1"))
    assert refusals[0] == refusals[1]
    assert "releases/1, of which the ledger has no class" in refusals[0]


def test_an_erasure_makes_no_release_one_to_judge_with(database: Database, session: Session, run: Run) -> None:
    """Somebody had several rows there, and no class. Erased, they left some behind, and the ledger forgot that."""
    session.execute("INSERT INTO register FROM register WHERE id = 3")
    first = run(database, policy("first")).number
    with session.transaction():
        erased = erase(session, TableReference(session.catalog, "main", "register"), "id", ["3"])
    assert (erased.rows, erased.holding) == (2, (first,))
    with pytest.raises(InvalidError, match="has no class of each person"):
        run(database, policy("second"))
    with pytest.raises(InvalidError) as refused:
        run(database, policy("second", LeftBehind.REPORT))
    assert refused.value.code == "TOGETHER_UNKNOWN"
