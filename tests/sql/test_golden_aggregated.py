"""The statements that write and verify aggregated columns with hostile names, held against golden/aggregated/*.sql."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Session, drop, table
from tableveil.release import write
from tableveil.release.by_value import SUPPRESSED
from tableveil.verification import verify
from tableveil.verification.aggregated import check_aggregated
from tableveil.verification.written import AGGREGATES, MEMBERS
from tests.sql.test_golden import GOLDEN, Recorded, Recorder, compare
from tests.sql.verification.aggregated_cases import written_case

COLUMNS = ["mean", "median_day", "interval_coded", "common"]

FORMS = {"clusters": (6, COLUMNS), "split_clusters": (9, ["mode"]), "classes": (7, COLUMNS)}
"""Per form the seed, by which suppressed records are kept blank and names are hostile, and what is aggregated.

Records that are alike in all that tells members apart are in several of the split clusters.
"""


@pytest.mark.parametrize("form", FORMS)
def test_statements(session: Session, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed, columns = FORMS[form]
    recorder = Recorder(session._cursor)
    recorded = Recorded(Session(recorder, session._interrupter), recorder)  # type: ignore[arg-type]
    case = written_case(recorded.session, seed, form != "classes", columns, records=40)
    for name in (AGGREGATES, MEMBERS, SUPPRESSED):
        session.execute(drop("TABLE", table(name), if_exists=True))
    recorded.forget()
    case.plan.recoding.stage(recorded.session, case.plan)
    recorded.title("aggregates of classes, and who is in which")
    write.write_rows(recorded.session, case.plan, table("again", "main"))
    recorded.title("released rows")
    write.write_classes(recorded.session, case.plan, table("again", "main"), table("again_classes", "main"))
    recorded.title("released classes")

    def alone(*arguments: Any) -> list[str]:
        recorded.forget()
        problems = check_aggregated(*arguments)
        recorded.title("verification of the aggregates")
        return problems

    monkeypatch.setattr(import_module("tableveil.verification.methods"), "check_aggregated", alone)
    verify(recorded.session, case.policy, case.plan.records, case.written)
    compare(recorded, Path("aggregated") / f"{form}.sql")


def test_golden_files_have_a_form_each() -> None:
    assert {path.stem for path in (GOLDEN / "aggregated").glob("*.sql")} == set(FORMS)
