"""Models of diversity where people have several records: of people as well, against plain Python over the rows."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InternalError
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    ProbabilisticLDiversity,
    Role,
    SuppressedRecords,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.privacy.diversity_of_people import DistinctOfPeopleRule, ProbabilisticOfPeopleRule
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs import test_people
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
Row = tuple[str | None, int, int, int | None, str | None]

SHOWN = replace(
    test_people.POLICY,
    attributes=(*test_people.POLICY.attributes, AttributePolicy("illness", Role.SENSITIVE, acknowledged=True)),
    suppression_limit=Decimal("0.5"),
)
DISTINCT = replace(SHOWN, privacy_models=(KAnonymity(2), DistinctLDiversity("illness", 3)))
PROBABILISTIC = replace(SHOWN, privacy_models=(ProbabilisticLDiversity("illness", Decimal("1.5")),))

METHODS: dict[str, tuple[LocalRecoding, ...]] = {"full-domain": (), "local recoding": (LocalRecoding(),)}

database, clean = test_people.database, test_people.clean


def visits(seed: int) -> list[Row]:
    """Each person has few illnesses, of which one is common; a visit's number tells its row."""
    random = Random(seed)
    own: dict[int | None, Sequence[str | None]] = defaultdict(
        lambda: [random.choice(["flu", "Flu ", "gout", "cold", "cough", "angina", "asthma", None]) for _ in range(2)]
    )
    rows = test_people.visits(seed)
    return [(*row, "flu" if random.random() < 0.15 else random.choice(own[row[3]])) for row in rows]


def create(session: Session, rows: Sequence[Row]) -> None:
    columns = dict(zip(("letter", "age", "visit", "person", "illness"), zip(*rows, strict=True), strict=True))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM given")


def having(session: Session, rows: Sequence[Row], where: str = "true") -> Iterator[tuple[int, Counter[str]]]:
    """Per released class its people who have an illness, and per illness those who have it."""
    known = {row[2]: row for row in rows}
    found: dict[tuple[str, str], set[tuple[int | None, str]]] = defaultdict(set)
    for letter, age, visit in session.rows(f"SELECT letter, age, visit FROM out WHERE {where}"):
        of = found[letter, age]
        *_, person, illness = known[visit]
        if illness is not None:
            of.add((person, illness.strip().lower()))
    for pairs in found.values():
        yield len({person for person, _ in pairs}), Counter(illness for _, illness in pairs)


@pytest.mark.parametrize("method", once(METHODS))
def test_few_people_of_a_class_have_a_value(database: Database, session: Session, run: Run, method: str) -> None:
    rows = visits(3)
    create(session, rows)
    release = run(database, replace(PROBABILISTIC, methods=METHODS[method]))
    worst = max(max(of.values()) / people for people, of in having(session, rows))
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees}
    assert reached["probabilistic_l_diversity (people)"] == pytest.approx(1 / worst)
    assert worst <= 1 / 1.5


@pytest.mark.parametrize("method", once(METHODS))
def test_every_value_is_missing_for_some_people(database: Database, session: Session, run: Run, method: str) -> None:
    rows = visits(3)
    create(session, rows)
    release = run(database, replace(DISTINCT, methods=METHODS[method]))
    found = list(having(session, rows))
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees}
    assert reached["distinct_l_diversity (people)"] == min(people - max(of.values()) + 1 for people, of in found)
    assert reached["distinct_l_diversity"] == min(len(of) for _, of in found)
    assert min(min(len(of), people - max(of.values()) + 1) for people, of in found) >= 3


# Both models, and both methods.
LOOKED_AT = [("distinct", "full-domain"), ("probabilistic", "local recoding")]
LOOKED_AT += [("distinct", "local recoding"), ("probabilistic", "full-domain")]


@pytest.mark.parametrize("kind", once(LOOKED_AT))
def test_a_search_that_looks_at_records_does_not_pass_the_verification(
    database: Database, session: Session, run: Run, kind: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody of a class has flu among other things: in less than half of the records."""
    model, method = kind
    policy = DISTINCT if model == "distinct" else PROBABILISTIC
    random = Random(1)
    people = [(i, random.choice("abcdefghi"), random.randrange(40)) for i in range(40)]
    ill = ["flu", "gout", "cold", "cough"]
    rows = [
        (letter, age, 4 * person + n, person, value) for person, letter, age in people for n, value in enumerate(ill)
    ]
    create(session, rows)
    asked = replace(policy, methods=METHODS[method])
    for rule in (DistinctOfPeopleRule, ProbabilisticOfPeopleRule):
        monkeypatch.setattr(rule, "of_people", lambda rule, owners: owners.people > 0)
    with pytest.raises(InternalError, match=r"the people of .* classes are not of"):
        run(database, asked)


@pytest.mark.long
@pytest.mark.parametrize("method", once(METHODS))
def test_shown_suppressed_records_are_of_people_with_several_values(
    database: Database, session: Session, run: Run, method: str
) -> None:
    rows = [*visits(4), *(("i", 39, 1000 + i, 1000 + i // 2, "flu") for i in range(6))]
    create(session, rows)
    kept = replace(PROBABILISTIC, suppressed_records=SuppressedRecords.KEEP, marker_column="gone")
    release = run(database, replace(kept, methods=METHODS[method]))
    assert release.suppressed_records or METHODS[method]
    assert all(max(of.values()) * 1.5 <= people for people, of in having(session, rows))


@pytest.mark.long
def test_the_owner_is_told_which_models_hold_of_records_only(database: Database, session: Session, run: Run) -> None:
    create(session, visits(5))
    models = (KAnonymity(2), DistinctLDiversity("illness", 2), EntropyLDiversity("illness", Decimal("1.2")))
    release = run(database, replace(SHOWN, privacy_models=models, release=plain_target("main", "out")))
    told = [warning for warning in release.warnings if "of records, not of people" in warning]
    (warning,) = told
    assert warning.startswith("These models hold of records, not of people: entropy 1.2-diversity of illness. Ask for")
