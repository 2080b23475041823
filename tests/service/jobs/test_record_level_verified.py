"""The verification of releases at the level of records finds what was changed after they were written."""

from dataclasses import replace
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.counting import read_combinations
from tableveil.errors import InternalError
from tableveil.game import Combinations
from tableveil.hierarchy import InlineLevels
from tableveil.pipelines import record_level as run_record_level
from tableveil.policy import NoAttack, Profitability, Success
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.release import ReleasePlan
from tableveil.release.by_combination import ByCombination
from tests.once import once
from tests.service.jobs import test_record_level
from tests.service.jobs.tampered import problems_after
from tests.service.jobs.test_record_level import EVERYONE, POLICY, Row, Run

database, clean, people = test_record_level.database, test_record_level.clean, test_record_level.people


OTHER_CLASSES = "the classes are not those of the source at the levels that were chosen"


TAMPERED = {
    "UPDATE out SET age = '3' WHERE rowid = (SELECT min(rowid) FROM out WHERE age <> '3')": OTHER_CLASSES,
    "UPDATE out SET letter = 'z' WHERE rowid = (SELECT min(rowid) FROM out)": "label that is not in its hierarchy",
    "UPDATE out SET age = NULL WHERE rowid = (SELECT min(rowid) FROM out)": "label that is not in its hierarchy",
    "INSERT INTO out SELECT * FROM out LIMIT 1": "where the search kept 300",
    "DELETE FROM out WHERE rowid = (SELECT min(rowid) FROM out)": "where the search kept 300",
    "UPDATE out SET letter = 'i', age = '39'": "more records than the source has of their labels",
}


def test_changed_rows_are_found(database: Database, session: Session, run: Run, people: list[Row]) -> None:
    problems = problems_after(TAMPERED, lambda: run(database, POLICY))
    for statement, problem in TAMPERED.items():
        assert problem in problems[statement], statement
    assert session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'out%'") == []


@pytest.mark.parametrize("kind", once([("l0", False), ("l1", True), ("l0", True), ("l1", False)]))
def test_levels_that_are_not_those_that_pay_so_much_are_found(
    database: Database, run: Run, people: list[Row], monkeypatch: pytest.MonkeyPatch, kind: tuple[str, bool]
) -> None:
    column, knows = kind
    stage = ByCombination.stage

    def finer(own: ByCombination, session: Session, plan: ReleasePlan) -> None:
        stage(own, session, plan)
        # The writer and the verification get equal levels; but these do not pay as recorded.
        session.execute(
            f"UPDATE own_levels SET {column} = {column} - 1 WHERE rowid = "
            f"(SELECT min(rowid) FROM own_levels WHERE {column} = (SELECT max({column}) FROM own_levels))"
        )

    monkeypatch.setattr(ByCombination, "stage", finer)
    with pytest.raises(InternalError, match="pay the publisher"):
        run(database, replace(POLICY, methods=(RecordLevel(adversary_knows_method=knows),)))


def test_a_label_of_two_meanings_is_found(
    database: Database, run: Run, people: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_record_level, "check_one_meaning", lambda *arguments: None)
    letter, *others = POLICY.attributes
    rows = tuple((c, "b" if c in "aei" else "a", "*") for c in "abcdefghi")
    with pytest.raises(InternalError, match="stand for different values at different levels"):
        run(database, replace(POLICY, attributes=(replace(letter, hierarchy=InlineLevels(rows)), *others)))


@pytest.mark.parametrize(
    ("model", "problem"),
    once(
        [
            (Profitability(Success.JOURNALIST), "pay the publisher"),
            (NoAttack(Success.JOURNALIST), "classes are not of no attack"),
        ],
        several=True,
    ),
)
def test_people_who_are_not_there_are_found(
    database: Database,
    run: Run,
    people: list[Row],
    monkeypatch: pytest.MonkeyPatch,
    model: Profitability | NoAttack,
    problem: str,
) -> None:
    def crowded(session: Session, base: Any) -> Combinations:
        found = read_combinations(session, base)
        return replace(found, people=found.people * 3)

    monkeypatch.setattr(run_record_level, "read_combinations", crowded)
    with pytest.raises(InternalError, match=problem):
        run(database, replace(POLICY, population=EVERYONE, privacy_models=(model,)))
