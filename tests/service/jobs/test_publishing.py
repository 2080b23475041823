"""Publishing follows the ledger: what is at a target is public there, and what is not any more is gone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tableveil.errors import InvalidError, NotFoundError, TableveilError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, Policy, ReleaseKind, Role
from tableveil.state.decisions import Decision
from tableveil.state.jobs import now
from tests.once import once
from tests.service.jobs.managed import LABELLED, submit
from tests.service.jobs.published import Lake, Place, Published, Shelf, Warehouse, publishing, same


@pytest.fixture(params=once([Shelf, Lake, Warehouse]))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param is Warehouse:
        return Warehouse(request.getfixturevalue("postgresql").new_database())
    (tmp_path / "shelf").mkdir()
    found: Place = request.param(tmp_path / "shelf")
    return found


@pytest.fixture
def there(path: Path, place: Place) -> Iterator[Published]:
    with publishing(path, place) as found:
        yield found


def published_to(*names: str) -> Policy:
    return replace(LABELLED, release=replace(LABELLED.release, name="other", publish=names))


def test_a_release_is_published_replaced_and_withdrawn(there: Published) -> None:
    first = there.release("other")
    published = there.wait(first, "PUBLISHED")
    assert (published.attempts, published.code, published.published_at is not None) == (0, "", True)
    assert same(there, first, "other")

    second = there.release("other")
    there.wait(first, "REMOVED")
    there.wait(second, "PUBLISHED")
    assert same(there, second, "other")
    assert there.place.read(first, "other") is None

    there.jobs.releases.withdraw(second, "a mistake")
    there.wait(second, "REMOVED")
    assert there.place.read(second, "other") is None
    assert there.place.names() == set()


@pytest.mark.long
def test_estimated_tables_are_published_and_taken_back(there: Published) -> None:
    number = there.release("other", estimates=True)
    there.wait(number, "PUBLISHED")
    assert there.place.read(number, "other_estimated") == there.rows("other_estimated")
    there.jobs.releases.withdraw(number, "a mistake")
    there.wait(number, "REMOVED")
    assert there.place.names() == set()


@pytest.mark.long
@pytest.mark.parametrize("kind", once(ReleaseKind))
def test_both_kinds_of_release_are_published(there: Published, kind: ReleaseKind) -> None:
    number = there.release("other", kind=kind)
    there.wait(number, "PUBLISHED")
    assert same(there, number, "other")


def test_a_release_is_published_on_request_and_taken_back(there: Published) -> None:
    there.publishing.publish(1, "shelf", "")
    there.wait(1, "PUBLISHED")
    assert same(there, 1, "released")
    there.publishing.take_back(1, "shelf")
    there.wait(1, "REMOVED")
    assert there.place.names() == set()
    # Its readers had these people: itself it may come back, another release needs a reason.
    there.publishing.publish(1, "shelf", "")
    there.wait(1, "PUBLISHED")


@pytest.mark.long
def test_a_replaced_release_stays_until_the_later_one_is_there(there: Published) -> None:
    first = there.release("other")
    there.wait(first, "PUBLISHED")
    second = there.release("other", publish=False)
    there.wait(first, "REMOVED")
    assert there.place.names() == set()
    assert there.publication(first).published_at is not None
    there.publishing.publish(second, "shelf", "a test")
    there.wait(second, "PUBLISHED")


def test_only_approved_releases_are_published(path: Path, place: Place) -> None:
    with publishing(path, place, approval=["main"]) as there:
        approved, rejected = there.release("approved"), there.release("rejected")
        there.publishing.look()
        assert there.publication(approved).state == "WAITING"
        there.jobs.releases.decide(rejected, Decision(False, "bob", now(), "too fine"), lambda _: LABELLED)
        there.wait(rejected, "REMOVED")
        assert place.names() == set()
        target = replace(LABELLED.release, name="approved")
        there.jobs.releases.decide(
            approved, Decision(True, "bob", now(), "agreed"), lambda _: replace(LABELLED, release=target)
        )
        there.wait(approved, "PUBLISHED")
        assert same(there, approved, "approved")


def test_readers_who_have_the_same_people_need_a_reason(there: Published) -> None:
    first = there.jobs.check(replace(published_to("shelf"), repeat_reason="a test"))
    assert any("release.publish_repeat_reason since readers of 'shelf'" in text for text in first.warnings)
    there.publishing.publish(1, "shelf", "")
    with pytest.raises(InvalidError) as raised:
        submit(there.jobs, published_to("shelf"))
    (fault,) = raised.value.faults
    assert (raised.value.code, fault.field) == ("REPEATED_PUBLICATION", "release.publish_repeat_reason")
    assert "'shelf' have releases/1" in fault.found

    other = there.release("other", publish=False)
    with pytest.raises(InvalidError, match="have releases/1") as raised:
        there.publishing.publish(other, "shelf", "")
    assert raised.value.code == "REPEATED_PUBLICATION"
    with pytest.raises(InvalidError, match="the reason why readers"):
        there.publishing.publish(other, "shelf", "--")
    there.publishing.publish(other, "shelf", "each for another study")
    assert there.wait(other, "PUBLISHED").repeat_reason == "each for another study"
    # The reason counts when it is asked for once more, unless there is another one.
    for reason, kept in (("", "each for another study"), ("a better reason", "a better reason")):
        there.publishing.publish(other, "shelf", reason)
        assert there.wait(other, "PUBLISHED").repeat_reason == kept


LONG = "a" * 59


@pytest.mark.parametrize(
    ("columns", "release", "field", "found"),
    once(
        [
            ("42::UHUGEINT AS huge", "other", "attributes[3].column", "a column 'huge' of type 'UHUGEINT'"),
            ("1 AS xmin", "other", "attributes[3].column", "a column 'xmin'"),
            (f'1 AS "{"ä" * 32}"', "other", "attributes[3].column", "a column 'äää"),
            # Its rank has a name that is too long.
            (f"age AS {LONG}", "other", "attributes[3].column", "_rank'"),
            ("1 AS fits", "b" * 59, "release.name", "_classes'"),
        ],
        2,
        several=True,
    ),
)
def test_what_a_target_can_never_take_is_a_fault_of_the_policy(
    path: Path, columns: str, release: str, field: str, found: str
) -> None:
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    # Nobody has to answer there.
    with publishing(path, Warehouse("postgresql://nobody@/nowhere?host=/nowhere")) as there:
        with there.database.session() as session:
            session.execute(f"CREATE TABLE added AS SELECT *, {columns} FROM patients")
            ((name,),) = session.rows("SELECT column_name FROM (DESCRIBE added) LIMIT 1 OFFSET 3")
        kind = Role.QUASI_IDENTIFIER if name == LONG else Role.INSENSITIVE
        rule = SuppressionOnly() if name == LONG else None
        attributes = (*LABELLED.attributes, AttributePolicy(name, kind, rule, acknowledged=rule is None))
        policy = replace(
            LABELLED,
            source=replace(LABELLED.source, table="added"),
            attributes=attributes,
            release=replace(LABELLED.release, name=release, publish=("shelf",), publish_repeat_reason="a test"),
        )
        checked = there.jobs.check(policy)
        assert [fault.field for fault in checked.faults if found in fault.found] == [field], checked.faults
        assert there.jobs.check(policy, rows=False).faults == checked.faults
        with pytest.raises(InvalidError) as raised:
            submit(there.jobs, policy)
        assert (raised.value.code, raised.value.faults) == ("POLICY_INVALID", checked.faults)
        unpublished = replace(policy, release=replace(policy.release, publish=()))
        assert there.jobs.check(unpublished).faults == ()


@pytest.mark.long
def test_people_are_known_by_their_rows_in_another_table(there: Published) -> None:
    with there.database.session() as session:
        session.execute("CREATE TABLE copied AS FROM patients")
    there.publishing.publish(1, "shelf", "")
    copied = replace(there.policy, source=replace(there.policy.source, table="copied"))
    there.policy = copied
    other = there.release("other", publish=False)
    with pytest.raises(InvalidError, match="have releases/1"):
        there.publishing.publish(other, "shelf", "")


def test_unknown_targets_are_refused(there: Published) -> None:
    policy = published_to("shelf", "shlf")
    (fault,) = there.jobs.check(policy).faults
    assert (fault.field, fault.found, fault.hint) == ("release.publish[1]", "'shlf'", "Did you mean 'shelf'?")
    with pytest.raises(InvalidError, match="'shlf'"):
        submit(there.jobs, policy)
    with pytest.raises(InvalidError, match="'shlf'"):
        there.publishing.publish(1, "shlf", "")
    with pytest.raises(NotFoundError, match="'shelf'"):
        there.publishing.take_back(1, "shelf")
    for target in ("shelf", "shlf"):
        with pytest.raises(NotFoundError, match="releases/7"):
            there.publishing.publish(7, target, "")


@pytest.mark.parametrize("wrong", once(["withdrawn", "replaced"]))
def test_what_is_gone_is_not_published(there: Published, wrong: str) -> None:
    if wrong == "withdrawn":
        there.jobs.releases.withdraw(1, "a mistake")
    else:
        there.release(publish=False)
    with pytest.raises(TableveilError) as raised:
        there.publishing.publish(1, "shelf", "")
    assert raised.value.code == f"RELEASE_{wrong.upper()}"


def test_changed_rows_are_not_published(there: Published) -> None:
    with there.database.session() as session:
        session.execute("UPDATE released SET illness = 'none'")
    there.publishing.publish(1, "shelf", "")
    failed = there.wait(1, "FAILED")
    assert (failed.code, "'released'" in failed.problem) == ("OBJECTS_CHANGED", True)
    assert there.place.names() == set()


def test_releases_of_a_restored_backup_wait_until_they_are_confirmed(there: Published) -> None:
    with there.database.ledger() as ledger:
        ledger.execute("INSERT INTO tableveil.suspended_releases VALUES (1)")
    there.publishing.publish(1, "shelf", "")
    other = there.release("other")
    there.wait(other, "PUBLISHED")
    assert there.publication(1).state == "WAITING"


def test_a_restart_goes_on_with_what_was_left(path: Path, place: Place) -> None:
    with publishing(path, place) as there:
        there.publishing.close(60)
        there.publishing.publish(1, "shelf", "")
        assert there.publication(1).state == "WAITING"
    with publishing(path, place) as there:
        there.wait(1, "PUBLISHED")
        assert same(there, 1, "released")


@pytest.mark.parametrize("times", once([6, 30]))
def test_a_request_is_not_lost_that_comes_as_an_attempt_ends(there: Published, times: int) -> None:
    """The ledger refuses the later of two changes of one row, so one of them is made again."""
    for _ in range(times):
        there.publishing.publish(1, "shelf", "")
    there.wait(1, "PUBLISHED")
    there.publishing.take_back(1, "shelf")
    there.wait(1, "REMOVED")
