"""A release says of which columns it says nothing, and what would keep some of them; what it promises comes true."""

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import Change, InfeasibleError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines import advice, full_domain
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import (
    NO_LIMIT,
    AttributePolicy,
    Choose,
    DistinctLDiversity,
    KAnonymity,
    NullHandling,
    Policy,
    Role,
    SearchOptions,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state.dry_runs import DryRun
from tableveil.state.releases import Release
from tests.engine.search.changes import with_changes
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import other_warnings
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly(), nulls=NullHandling.SUPPRESS),
        # Ten people's illnesses follow from their ages: this is about other things.
        AttributePolicy("illness", Role.SENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(4),),
    release=plain_target("main", "released"),
)

NOTHING_OF = re.compile(r"'(\w+)' has the same label in all released records")
OFFERED = re.compile(r"(?:Feasible would be |, or )(.*?) \(score ([^)]*)\)")


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


def create(session: Session, rows: list[tuple[int, str | None, str | None]]) -> None:
    session.execute("CREATE OR REPLACE TABLE people (age INTEGER, sex VARCHAR, illness VARCHAR)")
    insert(session, "people", rows)


def people(**of: str) -> list[tuple[int, str | None, str | None]]:
    """By an age's tens, the sexes: an illness for each in turn."""
    return [(int(tens[1:]) + i, sex, f"illness {i % 3}") for tens, sexes in of.items() for i, sex in enumerate(sexes)]


@pytest.fixture
def released(database: Database, run: Run) -> Callable[..., Release]:
    """Releases the people under a policy, in a place of its own."""
    count = iter(range(100))

    def release(policy: Policy) -> Release:
        with database.session() as session:
            session.execute("DROP SCHEMA IF EXISTS given CASCADE")
            session.execute("CREATE SCHEMA given")
        name = f"released_{next(count)}"
        return run(database, replace(policy, release=plain_target("given", name), repeat_reason="compared"))

    return release


def asked(**changes: Any) -> Policy:
    return replace(POLICY, **changes)


def erased(release: Release | DryRun) -> list[str]:
    return [match[1] for text in other_warnings(release) if (match := NOTHING_OF.match(text))]


@pytest.mark.parametrize(
    ("rows", "policy"),
    once(
        [
            # Ages of fifty years would leave one woman or two.
            (people(a10="ffff", a60="mmmmf"), POLICY),
            # All that are left are in one interval of fifty years: a level below the top says as little.
            (people(a10="fm", a20="fm", a30="fm", a40="fm"), asked(privacy_models=(KAnonymity(3),))),
            # Nothing but all of them together is enough.
            (people(a10="fff", a60="mmm"), asked(privacy_models=(KAnonymity(6),))),
            (people(a10="ffffm", a60="mmmm"), asked(suppression_limit=Decimal("0.05"))),
            (people(a10="ffffm", a60="mmmm"), asked(privacy_models=(KAnonymity(4), DistinctLDiversity("illness", 3)))),
            (
                people(a10="ffffm", a60="mmmm"),
                asked(
                    privacy_models=(KAnonymity(4), DistinctLDiversity("illness", 3)),
                    search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY),
                ),
            ),
        ],
        several=True,
    ),
)
def test_every_erased_column_is_named_and_what_is_offered_keeps_it(
    session: Session,
    released: Callable[..., Release],
    tried: Callable[..., DryRun],
    rows: list[tuple[int, str | None, str | None]],
    policy: Policy,
) -> None:
    create(session, rows)
    dry_run, release = tried(policy), released(policy)
    gone = [attribute.column for attribute in release.attributes if attribute.distinct_after == 1]
    assert erased(release) == erased(dry_run) == gone != []
    assert not OFFERED.search(" ".join(release.warnings))
    offers = 0
    for column, warning in zip(gone, [w for w in other_warnings(dry_run) if NOTHING_OF.match(w)], strict=True):
        for changes, score in OFFERED.findall(warning):
            offers += 1
            made = [Change(*change.split(" = ")) for change in changes.split(" and ")]
            other = released(with_changes(policy, made))
            assert column not in erased(other)
            assert float(score) == pytest.approx(other.score, rel=1e-3)
    assert offers > 0


@pytest.fixture
def told(session: Session, tried: Callable[..., DryRun]) -> Callable[..., str]:
    """All warnings of a dry run, as one text."""

    def text(rows: list[tuple[int, str | None, str | None]], policy: Policy) -> str:
        create(session, rows)
        return " ".join(other_warnings(tried(policy)))

    return text


def test_a_column_of_one_value_is_not_erased(told: Callable[..., str]) -> None:
    assert told(people(a10="ffff", a60="ffff"), POLICY) == ""
    # Nor one of a value and of NULLs that are never released.
    rows: list[tuple[int, str | None, str | None]] = [*people(a10="ffff", a60="ffff"), (10, None, "illness")]
    assert told(rows, asked(suppression_limit=Decimal("0.2"))) == ""


def test_a_column_that_is_left_with_one_value_is_erased(told: Callable[..., str]) -> None:
    text = told(people(a10="ffff", a60="ffffm"), asked(suppression_limit=Decimal("0.2")))
    assert NOTHING_OF.findall(text) == ["sex"]
    assert "all other values are suppressed" in text


def test_levels_that_the_policy_asks_for_have_no_remedy(told: Callable[..., str]) -> None:
    levels = SearchOptions(levels=(("age", 1), ("sex", 1)))
    text = told(people(a10="ffff", a60="mmmm"), asked(search=levels))
    assert NOTHING_OF.findall(text) == ["sex"]
    assert "search.levels gives its level" in text


def test_nothing_is_promised_without_checks(told: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "search", None)
    monkeypatch.setattr(full_domain, "checks_for", lambda combinations: 0)
    diverse = (KAnonymity(6), DistinctLDiversity("illness", 2))
    text = told(people(a10="fff", a60="mmm"), asked(privacy_models=diverse))
    assert NOTHING_OF.findall(text) == ["age", "sex"]
    assert "was not found out in 0 checks" in text
    assert "Feasible" not in text


@pytest.mark.long
def test_a_clock_changes_nothing(session: Session, tried: Callable[..., DryRun]) -> None:
    """Advice is limited by checks: it is the same where every look at the time finds an hour gone."""
    create(session, people(a10="ffffm", a60="mmmm"))
    policy = asked(suppression_limit=Decimal("0.05"), search=SearchOptions(time_limit_seconds=NO_LIMIT))
    hours = (3600.0 * hour for hour in itertools.count())
    first = tried(policy).warnings
    assert tried(policy, Control(lambda: next(hours))).warnings == first
    assert OFFERED.search(" ".join(first))


def test_a_release_tells_who_knows_more(session: Session, released: Callable[..., Release]) -> None:
    create(session, people(a10="ffff", a60="mmmmf"))
    (warning,) = [text for text in released(POLICY).warnings if NOTHING_OF.match(text)]
    assert warning.endswith("tableveil show --advice, or a dry run, tells what would keep some of it.")


# --- choosing by quasi-identifiers only -----------------------------------------------------------------------------

ALIKE = InlineLevels((("10", "young", "*"), ("11", "young", "*"), ("60", "old", "*"), ("61", "old", "*")))
BY_AGE = (replace(POLICY.attributes[0], hierarchy=ALIKE), *POLICY.attributes[1:])


@pytest.mark.parametrize("illnesses", once(["abababab", "aabbabab", "aaaabbbb"]))
def test_what_choosing_by_quasi_identifiers_only_costs_is_true(
    session: Session, told: Callable[..., str], released: Callable[..., Release], illnesses: str
) -> None:
    ages = [10, 10, 11, 11, 60, 60, 61, 61]
    rows = [(age, "f", illness) for age, illness in zip(ages, illnesses, strict=True)]
    policy = asked(attributes=BY_AGE, privacy_models=(KAnonymity(2), DistinctLDiversity("illness", 2)))
    text = told(rows, policy)
    session.execute("DELETE FROM tableveil.releases")
    (blind,) = [one for one in check_rows(context(session), policy) if "Choosing by quasi-identifiers" in one]
    assert blind in text
    assert "Sensitive values help to choose the levels and the suppressed records (privacy_models[1])" in text
    blindly = replace(policy, search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY))
    if illnesses == "abababab":
        assert f"would cost a score of {released(blindly).score:.4g} instead of" in text
        return
    with pytest.raises(InfeasibleError, match=r"privacy_models\[1\]"):
        released(blindly)
    assert "is not feasible: the best release would not meet privacy_models[1]" in text


def test_nothing_is_told_where_sensitive_values_choose_nothing(told: Callable[..., str]) -> None:
    assert told(people(a10="ffff", a60="mmmm"), POLICY) == ""


# --- local recoding -------------------------------------------------------------------------------------------------

KEPT_LOCALLY = re.compile(r"would keep (a|\d+) labels? of it, in (\d+)% of the released records at least")


def test_what_local_recoding_would_keep_comes_true(
    session: Session, released: Callable[..., Release], tried: Callable[..., DryRun]
) -> None:
    """The released table has at least so many records with a finer label; a dry run and a release say the same."""
    create(session, people(a10="ffffmmmm", a60="mmmmf"))
    release = released(POLICY)
    (warning,) = [text for text in release.warnings if NOTHING_OF.match(text)]
    (erased,) = NOTHING_OF.findall(warning)
    match = KEPT_LOCALLY.search(warning)
    assert match is not None, warning
    assert any(KEPT_LOCALLY.findall(text) == [match.groups()] for text in tried(POLICY).warnings)
    ((top,),) = session.rows(f"SELECT DISTINCT {erased} FROM given.{release.target_name}")
    local = released(replace(POLICY, methods=(LocalRecoding(),)))
    finer, all_records = session.row(
        f"SELECT count(*) FILTER ({erased} IS DISTINCT FROM '{top}'), count(*) FROM given.{local.target_name}"
    )
    assert int(match[2]) > 0
    assert finer / all_records >= int(match[2]) / 100 - 0.005


@pytest.mark.long
def test_nothing_is_said_of_local_recoding_where_it_would_keep_nothing(
    session: Session, released: Callable[..., Release]
) -> None:
    create(session, people(a10="fm", a60="fm"))
    texts = [text for text in released(POLICY).warnings if NOTHING_OF.match(text)]
    assert texts
    assert not any("ocal recoding" in text for text in texts)
