"""Releases of people and their events, against plain Python that joins the written tables; names are hostile."""

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError, InfeasibleError, InvalidError, Rank, listed, rank_of, undecided
from tableveil.hierarchy.rules import Dates, Intervals, SuppressionOnly
from tableveil.hierarchy.rules.dates import DateUnit
from tableveil.pipelines.anonymize import release_work
from tableveil.policy import (
    Anchor,
    AttributePolicy,
    Choose,
    EventTable,
    IfExists,
    KAnonymity,
    KnownFacts,
    Orphans,
    Policy,
    RelatedTables,
    RelativeTime,
    ReleaseTarget,
    Role,
    SearchOptions,
    SensitiveShare,
    TableReference,
)
from tableveil.state.releases import RELEASES, Release
from tests.engine.search.changes import with_changes
from tests.service.jobs.managed import Open, ended

Run = Callable[..., Release]
Label = tuple[object, ...]

KEY = 'the "key"'
DAYS = Intervals("-400", "400", ("25", "100", "400"))
DATED = (("visits", "the day", "ward's"), ("labs", "taken", "code"))
"""The event tables, with their columns of days and of what happened."""


def _policy(m: int, anchor: Anchor, **options: Any) -> Policy:
    events = tuple(
        EventTable(
            name,
            TableReference("", "main", name),
            "whose",
            Orphans.DROP,
            (
                AttributePolicy(day, Role.QUASI_IDENTIFIER, DAYS),
                AttributePolicy(what, Role.QUASI_IDENTIFIER, SuppressionOnly()),
                AttributePolicy("ill", Role.SENSITIVE),
            ),
        )
        for name, day, what in DATED
    )
    related = RelatedTables(events, Decimal(1), relative_time=RelativeTime(anchor), **options)
    return Policy(
        source=TableReference("", "main", "patients"),
        attributes=(
            AttributePolicy(KEY, Role.IDENTIFYING),
            AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "100", ("10", "50"))),
        ),
        person_column=KEY,
        privacy_models=(KAnonymity(3), KnownFacts(m)),
        release=ReleaseTarget("main", "r", events=("visits", "labs")),
        default_role=Role.IDENTIFYING,
        suppression_limit=Decimal("0.2"),
        methods=(related,),
    )


@pytest.fixture
def clinic(session: Session) -> None:
    """Sixty people: five of them without events, one row in ten without a day, and rows of nobody known."""
    chance = Random(7)
    people = pa.table({KEY: [f"p{i}" for i in range(60)], "age": [chance.randint(0, 99) for _ in range(60)]})
    with session.relation("made", people):
        session.execute("CREATE TABLE main.patients AS SELECT * FROM made")
    for name, day, what in DATED:
        rows = [(f"p{min(chance.randint(0, 54), chance.randint(0, 70))}", chance.randint(0, 300)) for _ in range(150)]
        columns = {
            "whose": [person for person, _ in rows] + ["nobody"],
            "at": [None if chance.random() < 0.1 else at for _, at in rows] + [1],
            what: [chance.choice("abc") for _ in rows] + ["a"],
            "ill": [chance.choice(["flu", "hiv", None]) for _ in rows] + ["flu"],
        }
        with session.relation("made", pa.table(columns)):
            session.execute(
                f'CREATE TABLE main.{name} AS SELECT whose, DATE \'2024-01-01\' + "at"::INTEGER AS "{day}", '
                f'"{what}", ill FROM made'
            )


def _written(session: Session) -> tuple[dict[Any, object], dict[Any, Counter[Label]], dict[Any, set[object]]]:
    """By key the class, the labels of the rows, and whether one is at the anchor."""
    classes = dict(session.rows(f'SELECT "{KEY.replace(chr(34), chr(34) * 2)}", age FROM main.r'))
    labels, days = defaultdict[Any, Counter[Label]](Counter), defaultdict[Any, set[object]](set)
    for name, day, what in DATED:
        columns = f'"{KEY.replace(chr(34), chr(34) * 2)}", r."{day}", r."{what}", r."{day}_from", r."{day}_to"'
        for key, at, happened, low, high in session.rows(f"SELECT {columns} FROM main.r_{name} AS r"):
            labels[key][name, at, happened] += 1
            days[key].add("*" if at == "*" else None if at is None else low <= 0 <= high)
    return classes, labels, days


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize(
    ("anchor", "options"), [(Anchor.FIRST_EVENT, {}), (Anchor.PREVIOUS_EVENT, {"most_rows_of_a_person": 4})]
)
def test_whoever_knows_rows_finds_nobody_or_k_people(
    database: Database, session: Session, run: Run, m: int, anchor: Anchor, options: dict[str, Any]
) -> None:
    release = run(database, _policy(m, anchor, **options))
    classes, labels, days = _written(session)
    assert set(labels) <= set(classes)
    assert not any(str(key).startswith("p") for key in classes)
    there = (True, "*") if anchor is Anchor.FIRST_EVENT else (None, "*")
    for of in set(classes.values()):
        keys = [key for key, own in classes.items() if own == of]
        without = [key for key in keys if days[key] and not days[key].intersection(there)]
        assert len(keys) >= 3
        assert len(without) == 0 or len(without) >= 3
        known = sorted({label for key in keys for label in labels[key]}, key=repr)
        for size in range(1, m + 1):
            for rows in itertools.combinations_with_replacement(known, size):
                fits = sum(all(labels[key][row] >= rows.count(row) for row in rows) for key in keys)
                assert fits == 0 or fits >= 3
    if options:
        assert max(sum(of.values()) for of in labels.values()) <= 4
    facts = dict(session.rows("SELECT fact, value FROM main.r_about"))
    assert facts["known_facts"] == str(m)
    assert facts["suppressed_people"] == str(60 - len(classes))
    for name, *_ in DATED:
        (number,) = (item.row_count for item in release.objects if item.name == f"r_{name}")
        orphans = session.value(
            f'SELECT count(*) FROM main.{name} WHERE whose NOT IN (SELECT "the ""key""" FROM patients)'
        )
        assert facts[f"removed_rows {name}"] in (str(151 - orphans - number), "of fewer than 3 people")
    assert session.value("SELECT sum(below_k) FROM main.r_known_rows WHERE known_rows <= ?", [m]) == 0


@pytest.mark.usefixtures("clinic")
def test_shares_of_sensitive_values_choose_levels_or_judge_them(database: Database, run: Run) -> None:
    policy = _policy(1, Anchor.FIRST_EVENT)
    share = SensitiveShare("ill", Decimal("1.05"), "visits", ("hiv",))
    asked = replace(policy, privacy_models=(*policy.privacy_models, share))
    # The verification counts the shares of what is written.
    run(database, asked)
    strict = replace(asked, privacy_models=(*policy.privacy_models, replace(share, l=Decimal(50))))
    again = replace(strict, release=replace(policy.release, name="s"), repeat_reason="another")
    with pytest.raises(InfeasibleError) as refused:
        run(database, again)
    assert "privacy_models[2]" in {fault.field for fault in refused.value.faults}
    judged = replace(again, search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY))
    with pytest.raises(InfeasibleError) as unprotected:
        run(database, judged)
    assert unprotected.value.code == "VALUES_UNPROTECTED"


@pytest.mark.usefixtures("clinic")
def test_a_release_without_label_columns_tells_no_facts(database: Database, session: Session, run: Run) -> None:
    policy = _policy(1, Anchor.PREVIOUS_EVENT)
    session.execute('UPDATE main.visits SET "the day" = NULL')
    release = run(database, replace(policy, release=replace(policy.release, label_columns=False)))
    assert "r_about" not in {item.name for item in release.objects}
    (told,) = (each for each in release.warnings if each.startswith("Rows of 'labs' per person"))
    assert told.endswith("which labels would tell.")


@pytest.mark.usefixtures("clinic")
def test_rows_without_a_day_are_within_no_days(database: Database, session: Session, run: Run) -> None:
    for name, day, _ in DATED:
        session.execute(
            f"DELETE FROM main.{name}; INSERT INTO main.{name} SELECT 'p' || i, NULL, 'a', NULL FROM range(30) r(i)"
        )
        assert session.value(f'SELECT count("{day}") FROM main.{name}') == 0
    release = run(database, _policy(1, Anchor.PREVIOUS_EVENT))
    assert sum("of the event before are 0.0 % of them" in each for each in release.warnings) == 2


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("name", "old", "new", "field"),
    [
        ("visits", "ward's", "THE DAY_rank", "attributes[0].column"),
        ("labs", "code", "taken_to", "attributes[0].column"),
    ],
)
def test_names_of_columns_beside_labels_of_events_are_refused(
    database: Database, session: Session, run: Run, name: str, old: str, new: str, field: str
) -> None:
    session.execute(f'ALTER TABLE main.{name} RENAME "{old}" TO "{new}"')
    policy = _policy(1, Anchor.FIRST_EVENT)
    (related,) = policy.methods
    assert isinstance(related, RelatedTables)
    events = [
        replace(event, attributes=tuple(replace(a, column=new) if a.column == old else a for a in event.attributes))
        for event in related.events
    ]
    with pytest.raises(InvalidError) as refused:
        run(database, replace(policy, methods=(replace(related, events=tuple(events)),)))
    assert [fault.field for fault in refused.value.faults] == [field]


@pytest.mark.usefixtures("clinic")
def test_a_trial_names_the_tables_that_changed(session: Session, open_manager: Open) -> None:
    policy = _policy(1, Anchor.FIRST_EVENT)
    jobs = open_manager(policy_of=lambda _: policy)
    job = ended(jobs, jobs.submit(release_work(policy, "{}", is_trial=True)).number)
    assert job.result is not None, job.failure
    session.execute("DELETE FROM main.labs WHERE whose = 'p7'")
    with pytest.raises(ConflictError) as refused:
        jobs.releases.promote(job.result, policy, "{}")
    assert "the rows of event tables, changed since the trial was made" in str(refused.value.faults[0])


@pytest.mark.usefixtures("clinic")
def test_a_fresh_key_has_a_name_of_its_own(database: Database, session: Session, run: Run) -> None:
    session.execute(f'ALTER TABLE main.patients RENAME "{KEY.replace(chr(34), chr(34) * 2)}" TO age_rank')
    policy = _policy(1, Anchor.FIRST_EVENT)
    attributes = (replace(policy.attributes[0], column="age_rank"), policy.attributes[1])
    with pytest.raises(InvalidError) as refused:
        run(database, replace(policy, attributes=attributes, person_column="age_rank"))
    assert [fault.field for fault in refused.value.faults] == ["attributes[1].column"]


@pytest.mark.usefixtures("clinic")
def test_a_key_of_another_type_is_refused(database: Database, session: Session, run: Run) -> None:
    key = KEY.replace(chr(34), chr(34) * 2)
    session.execute(f'CREATE OR REPLACE TABLE main.patients AS SELECT * REPLACE (uuid() AS "{key}") FROM main.patients')
    session.execute("CREATE OR REPLACE TABLE main.visits AS SELECT * REPLACE (encode(whose) AS whose) FROM main.visits")
    session.execute("CREATE OR REPLACE TABLE main.labs AS SELECT * REPLACE (uuid() AS whose) FROM main.labs")
    with pytest.raises(InvalidError) as refused:
        run(database, _policy(1, Anchor.FIRST_EVENT))
    assert [fault.field for fault in refused.value.faults] == ["tables.events[0].person"]


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("type_", "values", "named", "misfit", "absent"),
    [
        ("DOUBLE", "['1', '2', 'NaN']", ("1", "nan"), "abc", "7"),
        ("BOOLEAN", "[true, NULL]", ("TRUE",), "perhaps", "no"),
        ("INTEGER", "[1, 2]", ("1.0",), "1.5", "3"),
        ("DECIMAL(9, 2)", "[0.5, 2]", (".5",), "0.501", "3"),
        ("VARCHAR", "['HIV', 'flu']", ("hiv ",), "", "hvi"),
    ],
)
def test_named_values_are_of_the_columns_type_and_occur(
    database: Database,
    session: Session,
    run: Run,
    type_: str,
    values: str,
    named: tuple[str, ...],
    misfit: str,
    absent: str,
) -> None:
    session.execute(f"ALTER TABLE main.visits ADD COLUMN x {type_}")
    session.execute(f"UPDATE main.visits SET x = ({values}::{type_}[])[1 + rowid * 7 // 3 % len({values})]")
    policy = _policy(1, Anchor.FIRST_EVENT)
    (related,) = policy.methods
    assert isinstance(related, RelatedTables)
    visits, labs = (replace(each, attributes=each.attributes[:2]) for each in related.events)
    visits = replace(visits, attributes=(*visits.attributes, AttributePolicy("x", Role.SENSITIVE)))
    policy = replace(policy, methods=(replace(related, events=(visits, labs)),))

    def asked(reciprocal: str, *names: str) -> Policy:
        share = SensitiveShare("x", Decimal(reciprocal), "visits", names)
        return replace(policy, privacy_models=(*policy.privacy_models, share), repeat_reason="another")

    for one in named:
        with pytest.raises(InfeasibleError):
            run(database, asked("50", one))
    if misfit:
        with pytest.raises(InvalidError) as refused:
            run(database, asked("1.01", *named, misfit))
        assert [fault.field for fault in refused.value.faults] == [
            f"privacy_models[2].sensitive_share.values[{len(named)}]"
        ]
    release = run(database, asked("1.01", *named, absent))
    (told,) = [text for text in undecided(release.warnings) if "names" in text]
    assert f"values[{len(named)}]" in told
    assert absent not in told.split()


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("fewer", range(4))
def test_rows_that_may_not_be_removed_are_told_by_a_limit_that_suffices(
    database: Database, session: Session, run: Run, fewer: int
) -> None:
    session.execute(f"DELETE FROM main.visits WHERE rowid < {fewer}")
    policy = _policy(2, Anchor.FIRST_EVENT)
    (related,) = policy.methods
    fixed = SearchOptions(
        levels=(("age", 3), ("visits.the day", 3), ("visits.ward's", 0), ("labs.taken", 3), ("labs.code", 0))
    )
    strict = (replace(related, rows_limit=Decimal(0)),)
    refused_policy = replace(policy, suppression_limit=Decimal(1), methods=strict, search=fixed)
    with pytest.raises(InfeasibleError) as refused:
        run(database, refused_policy)
    changes = {one.changes[0].field: one.changes for one in refused.value.relaxations if len(one.changes) == 1}
    asked = with_changes(refused_policy, changes["tables.rows_limit"])
    assert asked.related is not None
    assert 0 < asked.related.rows_limit < 1, "some rows have to go, and not all"
    # No levels are left that nobody repaired.
    assert not [text for text in run(database, asked).warnings if text.startswith("Other levels may")]


@pytest.mark.usefixtures("clinic")
def test_more_people_than_there_are_is_answered_by_a_k_that_would_do(database: Database, run: Run) -> None:
    policy = _policy(2, Anchor.FIRST_EVENT)
    with pytest.raises(InfeasibleError) as refused:
        run(database, replace(policy, privacy_models=(KAnonymity(500), KnownFacts(2))))
    assert refused.value.code == "TOO_FEW_RECORDS"
    (fault,) = refused.value.faults
    assert (fault.field, fault.hint) == ("privacy_models[0]", "Feasible would be k = 60.")
    (relaxation,) = refused.value.relaxations
    assert relaxation.nearest
    assert run(database, with_changes(policy, relaxation.changes)).suppressed_records == 0


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("m", [1, 2])
def test_each_change_that_is_said_to_be_feasible_is(database: Database, run: Run, m: int) -> None:
    policy = _policy(m, Anchor.FIRST_EVENT)
    (related,) = policy.methods
    assert isinstance(related, RelatedTables)
    visits, labs = related.events
    day, *others = visits.attributes
    finer = replace(visits, attributes=(replace(day, maximum_level=1), *others), first=3)
    strict = replace(related, rows_limit=Decimal("0.05"), events=(finer, replace(labs, first=6)))
    share = SensitiveShare("ill", Decimal("1.2"), "visits", ("hiv",))
    asked = replace(policy, methods=(strict,), privacy_models=(KAnonymity(20), KnownFacts(m), share))
    with pytest.raises(InfeasibleError) as refused:
        run(database, asked)
    assert refused.value.relaxations
    for i, relaxation in enumerate(refused.value.relaxations):
        own = replace(policy.release, name=f"of_{i}")
        run(database, replace(with_changes(asked, relaxation.changes), release=own, repeat_reason="another"))


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("anchor", "means", "null_means"),
    [
        (Anchor.FIRST_EVENT, "the person's first event", "no dated event of the person, or no date"),
        (
            Anchor.PREVIOUS_EVENT,
            "the person's event before (of an earlier day)",
            "no earlier event of the person, or no date",
        ),
        (Anchor.COLUMN, "the person's born", "no born of the person, or no date"),
    ],
)
def test_days_are_told_by_what_they_count_from(
    database: Database, session: Session, run: Run, anchor: Anchor, means: str, null_means: str
) -> None:
    session.execute("ALTER TABLE main.patients ADD COLUMN born DATE DEFAULT DATE '2023-12-31'")
    policy = _policy(1, anchor)
    (related,) = policy.methods
    assert isinstance(related, RelatedTables)
    time = RelativeTime(anchor, "born" if anchor is Anchor.COLUMN else "")
    levels = (("age", 3), ("visits.the day", 3), ("visits.ward's", 0), ("labs.taken", 4), ("labs.code", 1))
    asked = replace(policy, methods=(replace(related, relative_time=time),), search=SearchOptions(levels=levels))
    run(database, asked)
    told = session.rows(
        "SELECT description, null_means, unit, comment FROM main.r_visits_columns JOIN duckdb_columns() "
        "USING (column_name) WHERE table_name = 'r_visits' AND starts_with(column_name, 'the day') ORDER BY position"
    )
    days, *_ = told
    assert days[:3] == (
        f"Quasi-identifier: days since {means}, in labels of level 3; level 0 is their number. Text: sort by the "
        "day_rank, compare and compute by the day_from and the day_to.",
        null_means,
        "days",
    )
    assert [unit for _, _, unit, _ in told] == ["days", "days", "days", None]
    assert all(description == comment for description, _, _, comment in told)


@pytest.mark.usefixtures("clinic")
def test_a_lost_group_of_people_is_told_without_what_tables_refuse(
    database: Database, session: Session, run: Run
) -> None:
    age = "CASE WHEN rowid < 3 THEN 40 WHEN rowid < 10 THEN 80 ELSE 30 END"
    session.execute(f"UPDATE main.patients SET age = {age}")
    levels = (("age", 2), ("visits.the day", 4), ("visits.ward's", 1), ("labs.taken", 4), ("labs.code", 1))
    release = run(database, replace(_policy(1, Anchor.FIRST_EVENT), search=SearchOptions(levels=levels)))
    (told,) = [text for text in release.warnings if "are lost but for" in text]
    assert told.endswith("Other levels or another suppression limit may keep it.")


@pytest.mark.usefixtures("clinic")
def test_columns_of_people_and_events_with_one_label_are_told(database: Database, run: Run) -> None:
    levels = (("age", 3), ("visits.the day", 4), ("visits.ward's", 0), ("labs.taken", 4), ("labs.code", 1))
    release = run(database, replace(_policy(1, Anchor.FIRST_EVENT), search=SearchOptions(levels=levels)))
    erased = [text for text in release.warnings if "says nothing of it" in text]
    assert [text.split("'")[1] for text in erased] == ["age", "visits.the day", "labs.taken", "labs.code"]


@pytest.mark.usefixtures("clinic")
def test_only_people_who_lost_rows_are_told(database: Database, session: Session, run: Run) -> None:
    """All patients have one row, and two of them another one, of a label that nobody else has."""
    key = KEY.replace(chr(34), chr(34) * 2)
    for name, _, _ in DATED:
        session.execute(f"DELETE FROM main.{name}")
    everybody = f'SELECT "{key}", DATE \'2024-01-01\', $value$, NULL FROM main.patients ORDER BY "{key}"'
    session.execute("INSERT INTO main.visits " + everybody.replace("$value$", "'a'"))
    session.execute("INSERT INTO main.visits " + everybody.replace("$value$", "'b'") + " LIMIT 2")
    levels = (("age", 3), ("visits.the day", 4), ("visits.ward's", 0), ("labs.taken", 4), ("labs.code", 1))
    release = run(database, replace(_policy(2, Anchor.FIRST_EVENT), search=SearchOptions(levels=levels)))
    (told,) = [text for text in release.warnings if "Rows are missing" in text]
    assert told.endswith("Rows are missing of 2 of the 2 people with 2 to 3 rows.")
    assert not [text for text in release.warnings if "odds ratios" in text or "keys fit" in text]


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("told", [True, False])
def test_rows_that_tell_an_unbounded_value_are_told_with_their_people(
    database: Database, session: Session, run: Run, told: bool
) -> None:
    session.execute("UPDATE main.labs SET ill = NULL")
    value = """CASE WHEN "ward's" = 'a' THEN 'hiv' ELSE NULL END""" if told else "NULL"
    session.execute(f"UPDATE main.visits SET ill = {value}")
    key = KEY.replace(chr(34), chr(34) * 2)
    levels = SearchOptions(
        levels=(("age", 3), ("visits.the day", 4), ("visits.ward's", 0), ("labs.taken", 4), ("labs.code", 1))
    )
    policy = replace(_policy(1, Anchor.FIRST_EVENT), search=levels)
    warned = [text for text in undecided(run(database, policy).warnings) if "knows one row" in text]
    people = session.value(f'SELECT count(DISTINCT "{key}") FROM main.r_visits WHERE ill IS NOT NULL')
    assert (people > 0) == told
    assert [f"for {people} people" in text and "visits.ill" in text for text in warned] == [True] * told


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("day", "ward", "told", "soon"),
    [
        (0, 0, "70.0 % in the release", "38.8 % in the release"),
        (4, 0, "which the release cannot tell", "which the release cannot tell"),
        (0, 1, "", "38.8 % in the release"),
    ],
    ids=["days", "one label of days", "one label of wards"],
)
def test_what_follows_a_first_event_is_told_of_source_and_release(
    database: Database, session: Session, run: Run, day: int, ward: int, told: str, soon: str
) -> None:
    """After a first "a", 28 of 40 people have a "b" a day later, and two have it on a day that nobody else has."""
    key = KEY.replace(chr(34), chr(34) * 2)
    for name, _, _ in DATED:
        session.execute(f"DELETE FROM main.{name}")
    numbered = f'SELECT "{key}" AS p, row_number() OVER () AS n FROM main.patients'
    first = "SELECT p, DATE '2024-01-01', CASE WHEN n <= 40 THEN 'a' ELSE 'b' END, NULL"
    later = "SELECT p, DATE '2024-01-02' + CASE WHEN n <= 2 THEN 3 ELSE 0 END, 'b', CASE WHEN n > 50 THEN 'flu' END"
    session.execute(f"INSERT INTO main.visits {first} FROM ({numbered})")
    session.execute(f"INSERT INTO main.visits {later} FROM ({numbered}) WHERE n <= 30 OR n > 50")
    levels = (("age", 3), ("visits.the day", day), ("visits.ward's", ward), ("labs.taken", 4), ("labs.code", 1))
    release = run(database, replace(_policy(1, Anchor.PREVIOUS_EVENT), search=SearchOptions(levels=levels)))
    # Twenty people whose first one is a "b" are too few, and no first event has a value that is sensitive.
    assert [text for text in release.warnings if text.startswith("After first events")] == [
        "After first events with the commonest label of 'visits.ward's', 75.0 % of the people have the commonest later "
        f"one in the source, {told}."
    ] * bool(told)
    assert any("Within 30 days" in text and text.endswith(f" % of them, {soon}.") for text in release.warnings)


FIRST, PREVIOUS, BORN = (
    RelativeTime(Anchor.FIRST_EVENT),
    RelativeTime(Anchor.PREVIOUS_EVENT),
    RelativeTime(Anchor.COLUMN, "born"),
)


@pytest.mark.parametrize(
    ("earlier", "later", "level"),
    [
        (FIRST, BORN, 0),
        (BORN, PREVIOUS, 0),
        (PREVIOUS, FIRST, 0),
        (None, PREVIOUS, 0),
        (FIRST, None, 0),
        (FIRST, BORN, 2),
    ],
)
def test_keys_are_relinked_by_days_that_count_from_elsewhere(
    session: Session, open_manager: Open, earlier: RelativeTime | None, later: RelativeTime | None, level: int
) -> None:
    """Nobody has visits on all days of another. Exact days are as far apart; in bands numbers of visits are alike."""
    key = KEY.replace(chr(34), chr(34) * 2)
    session.execute(
        f"""CREATE TABLE main.patients AS
            SELECT i AS "{key}", 40 AS age, DATE '2023-12-31' - (i % 3)::INTEGER AS born FROM range(1, 64) r(i);
            CREATE TABLE main.visits AS
            SELECT i AS whose, DATE '2024-01-01' + (10 * j)::INTEGER AS "the day", 'a' AS "ward's"
            FROM range(1, 64) r(i), range(6) s(j) WHERE i & (1 << j) > 0"""
    )
    policy = _policy(1, Anchor.FIRST_EVENT)
    (related,) = policy.methods
    assert isinstance(related, RelatedTables)
    day, ward, _ = related.events[0].attributes
    documents = dict[str, Policy]()
    for name, time in (('{"tables": 1}', earlier), ('{"tables": 2}', later)):
        of_day = day if time else replace(day, hierarchy=Dates("2024-01-01", "2024-12-31", (DateUnit.YEAR,)))
        visits = replace(related.events[0], attributes=(of_day, ward))
        documents[name] = replace(
            policy,
            methods=(replace(related, events=(visits,), relative_time=time),),
            release=replace(policy.release, events=("visits",), if_exists=IfExists.REPLACE),
            repeat_reason="other days",
            search=SearchOptions(levels=(("age", 3), ("visits.the day", level), ("visits.ward's", 0))),
        )
    jobs = open_manager(policy_of=documents.__getitem__)
    for name, each in documents.items():
        job = ended(jobs, jobs.submit(release_work(each, name)).number)
        assert job.result is not None, job.failure
    found = RELEASES.find(session.ledger, job.result or 0)
    assert found is not None
    gaps = [tuple(sorted(b - a for a, b in itertools.pairwise(_places(i)))) for i in range(1, 64)]
    having = Counter(gap for each in gaps for gap in {*each})
    # Gaps that fewer than k people have are removed where they are shown, and nobody's are alike then.
    shown = gaps if PREVIOUS not in (earlier, later) else [of for of in gaps if all(having[gap] >= 3 for gap in of)]
    alike = Counter(len(_places(i)) for i in range(1, 64)) if level else Counter(shown)
    number = sum(people == 1 for people in alike.values())
    assert number > 0
    told = next(each for each in found.warnings if "keys are re-linked to" in each)
    assert told.startswith(f"{number} of 63 keys")
    uncounted = [each for each in found.warnings if "Nobody counted how many keys" in each]
    assert ["'visits.the day', which have another level, anchor" in each for each in uncounted] == [True] * bool(level)


def _places(bits: int) -> list[int]:
    return [place for place in range(6) if bits & (1 << place)]


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("named", [("FLU",), ("flu", "hiv")])
def test_values_that_a_share_does_not_name_are_told_with_their_rows(
    database: Database, session: Session, run: Run, named: tuple[str, ...]
) -> None:
    share = SensitiveShare("ill", Decimal("1.01"), "visits", named)
    policy = _policy(1, Anchor.FIRST_EVENT)
    release = run(database, replace(policy, privacy_models=(*policy.privacy_models, share)))
    told = [text for text in release.warnings if text.startswith("sensitive_share bounds")]
    some, rows = session.row("SELECT count(*) FILTER (ill = 'flu'), count(ill) FROM main.visits")
    assert told == [
        f"sensitive_share bounds 1 of the 2 values of 'ill', which {some} of {rows} rows with a value have. Others "
        "are not bounded: name no values to bound all."
    ] * (len(named) == 1)


@pytest.mark.usefixtures("clinic")
def test_whom_few_keys_fit_is_told_as_the_table_of_known_rows_counts_it(
    database: Database, session: Session, run: Run
) -> None:
    release = run(database, _policy(1, Anchor.FIRST_EVENT))
    few = session.rows("FROM main.r_known_rows WHERE below_k > 0 ORDER BY known_rows")
    assert len(few) > 1
    (told,) = [text for text in release.warnings if "keys fit" in text]
    known, people, below, alone, sample = zip(*few, strict=True)
    assert all(of <= had for of, had in zip(sample, people, strict=True))
    assert f"knows {listed([*map(str, known)])} of a person's events, fewer than 3 keys fit for " in told
    for each in (below, alone):
        assert ", ".join(f"{100 * some / of:.1f}" for some, of in zip(each, sample, strict=True)) + " %" in told
    assert told.endswith(f"by a sample: one draw of events for each of {listed([*map(str, sample)])} people.")
    assert any(alone)
    assert rank_of(told) is Rank.SHOULD_BE_LOOKED_AT


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize("key", ["whose", "'q' || whose", "hash(whose, 7)"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_table_with_the_columns_of_released_events_is_asked_about(
    session: Session, open_manager: Open, key: str, alone: bool
) -> None:
    """Nobody compares rows of events: not with a copy under any keys, released alone or with other people."""
    first = _policy(1, Anchor.FIRST_EVENT)
    visits = TableReference("", "main", "copied")
    (related,) = first.methods
    assert isinstance(related, RelatedTables)
    document = {
        "tables": {"events": [{"table": "visits"}]},
        "attributes": [
            {"table": "visits", "column": each.column, "role": f"ROLE_{each.role}"}
            for each in (AttributePolicy("whose", Role.IDENTIFYING), *related.events[0].attributes)
        ],
    }
    session.execute(
        f"""CREATE TABLE main.copied AS SELECT ({key})::VARCHAR AS who, * EXCLUDE (whose) FROM main.visits;
            CREATE TABLE main.others AS SELECT who AS "{KEY.replace('"', '""')}", min(hash(who, 3) % 90) AS age
            FROM main.copied GROUP BY who"""
    )
    target = replace(first.release, name="later", events=() if alone else ("copied",))
    copied = replace(related.events[0], name="copied", table=visits, person="who")
    second = replace(
        first,
        source=visits if alone else TableReference("", "main", "others"),
        attributes=(replace(copied.attributes[1], hierarchy=SuppressionOnly()),) if alone else first.attributes,
        person_column="who" if alone else KEY,
        privacy_models=(KAnonymity(3),) if alone else first.privacy_models,
        methods=() if alone else (replace(related, events=(copied,)),),
        suppression_limit=Decimal(1),
        release=target,
    )
    jobs = open_manager(policy_of=lambda _: first)
    made = ended(jobs, jobs.submit(release_work(first, json.dumps(document))).number).result
    assert made is not None
    with pytest.raises(InvalidError) as refused:
        jobs.submit(release_work(second, "{}"))
    (fault,) = refused.value.faults
    assert "main.copied' has the columns 'the day', 'ward's' and 'ill' of" in fault.found
    assert f"the events 'visits' in releases/{made}, and nobody compared the rows" in fault.found
    assert fault.hint == f"If they are of other people, say so: other_people: [releases/{made}]."
    stated = replace(second, other_people=(made,))
    assert ended(jobs, jobs.submit(release_work(stated, "{}")).number).result is not None
