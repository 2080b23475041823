"""Releases in which households count as people do, against plain Python over the rows."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InternalError
from tableveil.policy import AttributePolicy, Dominance, KAnonymity, Role, SuppressedRecords
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.privacy.units import KUnitsRule, ShareOfUnitsRule
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs import test_people

Run = Callable[..., Release]
Row = tuple[str | None, int, int, int, str | None]

POLICY = replace(
    test_people.POLICY,
    attributes=(*test_people.POLICY.attributes, AttributePolicy("house", Role.IDENTIFYING)),
    privacy_models=(KAnonymity(4), Dominance(Decimal("0.5"))),
    also_count=("house",),
    suppression_limit=Decimal("0.4"),
)
METHODS: dict[str, tuple[LocalRecoding, ...]] = {"full-domain": (), "local recoding": (LocalRecoding(),)}

database, clean = test_people.database, test_people.clean


def visits(seed: int, most: int = 4) -> list[Row]:
    """People of few households, whose letter and age are alike; some have none."""
    random = Random(seed)
    houses: list[str | None] = [None, *(f"H{i}" for i in range(14))]
    house = [random.choice(houses) for _ in range(80)]
    like = {one: (random.choice("abcdefghi"), random.randrange(40)) for one in house}
    rows: list[Row] = []
    for letter, age, visit, person in test_people.visits(seed, people=80, most=most):
        of = house[person or 0]
        near = like[of] if of is not None and random.random() < 0.7 else (letter, age)
        rows.append((*near, visit, person or 0, of))
    return rows


def create(session: Session, rows: Sequence[Row]) -> None:
    columns = dict(zip(("letter", "age", "visit", "person", "house"), zip(*rows, strict=True), strict=True))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM given")


def classes(session: Session, rows: Sequence[Row], keys: str = "letter, age") -> list[Counter[object]]:
    """Per released class the records of each household; somebody without one is a household."""
    known = {row[2]: row for row in rows}
    found: dict[tuple[object, ...], Counter[object]] = defaultdict(Counter)
    for *key, visit in session.rows(f"SELECT {keys}, visit FROM out"):
        *_, person, house = known[visit]
        found[tuple(key)][person if house is None else house] += 1
    return list(found.values())


@pytest.mark.parametrize("repeating", [True, False])
@pytest.mark.parametrize("method", once(METHODS))
def test_classes_have_records_of_k_households(
    database: Database, session: Session, run: Run, method: str, repeating: bool
) -> None:
    rows = visits(3) if repeating else [(*row[:3], row[2], row[4]) for row in visits(3)]
    create(session, rows)
    release = run(database, replace(POLICY, methods=METHODS[method]))
    found = classes(session, rows)
    shares = [max(of.values()) / of.total() for of in found]
    assert min(map(len, found)) >= 4
    assert max(shares) <= 0.5
    reached = {(one.model, one.column): one.after for one in release.guarantees}
    assert reached["k_anonymity (also_count)", "house"] == min(map(len, found))
    assert reached["dominance (also_count)", "house"] == pytest.approx(max(shares))


def test_shown_suppressed_records_are_a_class_of_households(database: Database, session: Session, run: Run) -> None:
    rows = visits(4)
    create(session, rows)
    shown = replace(POLICY, suppressed_records=SuppressedRecords.KEEP, marker_column="suppressed")
    run(database, replace(shown, suppression_limit=Decimal("0.6")))
    found = classes(session, rows, "suppressed, letter, age")
    assert min(map(len, found)) >= 4
    assert max(max(of.values()) / of.total() for of in found) <= 0.5


@pytest.mark.parametrize("repeating", [True, False])
@pytest.mark.parametrize("rule", [KUnitsRule, ShareOfUnitsRule])
@pytest.mark.parametrize("method", once(METHODS))
def test_a_search_that_counts_people_alone_does_not_pass_the_verification(
    database: Database,
    session: Session,
    run: Run,
    rule: type[KUnitsRule] | type[ShareOfUnitsRule],
    method: str,
    repeating: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = visits(5) if repeating else [(*row[:3], row[2], row[4]) for row in visits(5)]
    rows = [(*row[:4], f"H{row[3] % 2}" if rule is KUnitsRule else row[4] and "H0") for row in rows]
    create(session, rows)
    if rule is KUnitsRule:
        monkeypatch.setattr(rule, "releasable", lambda self, classes: self.of_people.releasable(classes))
    else:
        monkeypatch.setattr(rule, "_beyond", lambda self, classes: np.zeros(len(classes.counts), np.int64))
    policy = replace(POLICY, methods=METHODS[method], suppression_limit=Decimal(0))
    models = (KAnonymity(3),) if rule is KUnitsRule else (Dominance(Decimal("0.4")),)
    with pytest.raises(InternalError, match="a column that also counts") as error:
        run(database, replace(policy, privacy_models=models))
    assert error.value.code == "VERIFICATION_FAILED"
