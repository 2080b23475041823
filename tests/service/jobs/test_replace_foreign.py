"""REPLACE removes what a release wrote, and never a table that somebody made under a name that became free."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import ConflictError
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, IfExists, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.state.releases import Release

Run = Callable[..., Release]

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "released"),
)
AGAIN = replace(POLICY, release=ReleaseTarget("main", "released", if_exists=IfExists.REPLACE), repeat_reason="a test")


def test_a_table_that_took_the_name_of_a_dropped_release_is_kept(
    database: Database, session: Session, run: Run
) -> None:
    session.execute("CREATE TABLE people AS SELECT range % 3 AS age FROM range(30)")
    run(database, POLICY)
    session.execute("DROP TABLE released")
    session.execute("CREATE TABLE released AS SELECT 'mine' AS whose FROM range(7)")
    with pytest.raises(ConflictError) as raised:
        run(database, AGAIN)
    assert raised.value.code == "TARGET_EXISTS"
    assert session.rows("SELECT whose, count(*) FROM released GROUP BY ALL") == [("mine", 7)]
    session.execute("DROP TABLE released")
    assert run(database, AGAIN).records == 30
