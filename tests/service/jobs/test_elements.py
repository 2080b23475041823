"""Releases of columns whose cells are lists, against plain Python that splits the written rows."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InternalError, Rank
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    Elements,
    KAnonymity,
    ProbabilisticLDiversity,
    Role,
    SuppressedRecords,
    TCloseness,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.privacy.closeness_of_elements import TClosenessOfElementsRule
from tableveil.privacy.diversity import WithoutNull
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs import test_people

Run = Callable[..., Release]
Row = tuple[str | None, int, int, int, str | None]

BAR = Elements("|")
LISTED = replace(
    test_people.POLICY,
    attributes=(
        *test_people.POLICY.attributes,
        AttributePolicy("codes", Role.SENSITIVE, acknowledged=True, elements=BAR),
    ),
    suppression_limit=Decimal("0.5"),
)
DIVERSE = replace(LISTED, privacy_models=(KAnonymity(3), ProbabilisticLDiversity("codes", Decimal("1.5"))))
CLOSE = replace(LISTED, privacy_models=(KAnonymity(3), TCloseness("codes", Decimal("0.3"))))
CLUSTERED = replace(
    LISTED,
    attributes=(
        AttributePolicy("letter", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, aggregation=Aggregation()),
        *LISTED.attributes[2:],
    ),
    privacy_models=(KAnonymity(3), ProbabilisticLDiversity("codes", Decimal("1.25"))),
    methods=(Microaggregation(),),
    suppression_limit=Decimal(0),
)

database, clean = test_people.database, test_people.clean


def visits(seed: int, most: int = 4, spelled: Callable[[Sequence[str]], str] = "|".join) -> list[Row]:
    """Each person has some illnesses, one of them common, in cells of up to three; some cells have none."""
    random = Random(seed)
    rows: list[Row] = []
    for letter, age, visit, person in test_people.visits(seed, people=80, most=most):
        cell = random.sample(
            ["flu", "Flu ", "gout", "cold", "cough", "angina", "asthma", ""], random.choice([1, 1, 2, 3])
        )
        codes = None if random.random() < 0.05 else spelled(cell)
        rows.append((letter, age, visit, person or 0, codes))
    return rows


def create(session: Session, rows: Sequence[Row]) -> None:
    columns = dict(zip(("letter", "age", "visit", "person", "codes"), zip(*rows, strict=True), strict=True))
    with session.relation("given", pa.table({name: pa.array(values) for name, values in columns.items()})):
        session.execute("CREATE OR REPLACE TABLE visits AS FROM given")


def elements(cell: str | None) -> set[str]:
    return {part.strip().lower() for part in (cell or "").split("|")} - {""}


def shares(session: Session, rows: Sequence[Row], keys: str = "letter, age") -> Iterator[tuple[float, float]]:
    """Per released class the largest share of an element among its records, and among its people, that have any."""
    person = {row[2]: row[3] for row in rows}
    cells: dict[tuple[str, ...], list[tuple[int, set[str]]]] = defaultdict(list)
    for *key, visit, codes in session.rows(f"SELECT {keys}, visit, codes FROM out"):
        cells[tuple(key)].append((person[visit], elements(codes)))
    for found in cells.values():
        having = [(one, each) for one, each in found if each]
        records = Counter(element for _, each in having for element in each)
        people = Counter(element for _, element in {(one, element) for one, each in having for element in each})
        yield max(records.values()) / len(having), max(people.values()) / len({one for one, _ in having})


METHODS: dict[str, tuple[LocalRecoding, ...]] = {"full-domain": (), "local recoding": (LocalRecoding(),)}


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("method", once(METHODS))
def test_no_element_is_of_too_many(database: Database, session: Session, run: Run, method: str, most: int) -> None:
    rows = visits(3, most) if most > 1 else [(*row[:3], row[2], row[4]) for row in visits(3)]
    create(session, rows)
    release = run(database, replace(DIVERSE, methods=METHODS[method]))
    of_records, of_people = (max(found) for found in zip(*shares(session, rows), strict=True))
    assert max(of_records, of_people) <= 1 / 1.5
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees if guarantee.column == "codes"}
    assert reached["probabilistic_l_diversity"] == pytest.approx(1 / of_records)
    assert most == 1 or reached["probabilistic_l_diversity (people)"] == pytest.approx(1 / of_people)
    assert "distinct_l_diversity" not in reached
    assert not [warning for warning in release.warnings if "lists" in warning]


def test_clusters_are_diverse_by_element(database: Database, session: Session, run: Run) -> None:
    rows = visits(5)
    create(session, rows)
    run(database, CLUSTERED)
    assert max(max(found) for found in shares(session, rows, "age")) <= 1 / 1.25


@pytest.mark.parametrize("method", once(METHODS))
def test_every_elements_share_is_that_of_the_source(
    database: Database, session: Session, run: Run, method: str
) -> None:
    rows = [(*row[:3], row[2], row[4]) for row in visits(4)]
    create(session, rows)
    release = run(database, replace(CLOSE, methods=METHODS[method]))
    known = sorted(set.union(*(elements(row[4]) for row in rows)))

    def spread(cells: Sequence[set[str]]) -> list[float]:
        having = [sum(element in cell for cell in cells) / len(cells) for element in known]
        return [*having, sum(not cell for cell in cells) / len(cells)]

    whole = spread([elements(row[4]) for row in rows])
    classes = defaultdict(list)
    for letter, age, codes in session.rows("SELECT letter, age, codes FROM out"):
        classes[letter, age].append(elements(codes))
    farthest = max(abs(a - b) for cells in classes.values() for a, b in zip(spread(cells), whole, strict=True))
    assert farthest <= 0.3
    reached = {guarantee.model: guarantee.after for guarantee in release.guarantees if guarantee.column == "codes"}
    assert reached["t_closeness (equal)"] == pytest.approx(farthest)
    released = spread([cell for cells in classes.values() for cell in cells])
    measured = max(abs(a - b) for cells in classes.values() for a, b in zip(spread(cells), released, strict=True))
    assert reached["t_closeness (equal, released rows)"] == pytest.approx(measured)


@pytest.mark.parametrize("kind", ["records", "people", "close"])
def test_a_search_that_looks_at_whole_cells_does_not_pass_the_verification(
    database: Database, session: Session, run: Run, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = visits(6)
    if kind == "people":
        # Everybody has HIV in one of three rows, which is one of three records of a class.
        first = {row[3]: row for row in reversed(rows)}.values()
        rows = [(*row[:2], 3 * row[2] + n, row[3], f"x{row[2]}" if n else "HIV") for row in first for n in range(3)]
    else:
        rows = [(*row[:3], row[2], row[4] and f"{row[4]}|HIV") for row in rows]
    create(session, rows)
    if kind == "records":
        original = WithoutNull.__init__
        monkeypatch.setattr(
            WithoutNull, "__init__", lambda self, values, column: original(self, values, replace(column, elements=None))
        )
    elif kind == "people":
        monkeypatch.setattr(
            "tableveil.privacy.diversity_of_people.ProbabilisticOfPeopleRule.of_people",
            lambda self, owners: owners.people > 0,
        )
    else:
        monkeypatch.setattr(TClosenessOfElementsRule, "releasable", lambda self, classes: classes.counts >= 3)
    policy = CLOSE if kind == "close" else DIVERSE
    if kind == "close":
        policy = replace(policy, privacy_models=(KAnonymity(3), TCloseness("codes", Decimal("0.05"))))
    with pytest.raises(InternalError, match="are not of") as error:
        run(database, policy)
    assert error.value.code == "VERIFICATION_FAILED"


def test_json_arrays_are_split_and_shown_suppressed_records_are_one_class(
    database: Database, session: Session, run: Run
) -> None:
    # JSON's null is no element, as NULL is none.
    rows = [(*row[:4], row[4] or "null") for row in visits(8, spelled=json.dumps)]
    create(session, rows)
    attributes = tuple(replace(each, elements=Elements()) if each.elements else each for each in DIVERSE.attributes)
    policy = replace(
        DIVERSE,
        attributes=attributes,
        suppressed_records=SuppressedRecords.KEEP,
        marker_column="suppressed",
        suppression_limit=Decimal("0.3"),
    )
    run(database, policy)
    cells = defaultdict(list)
    for suppressed, letter, age, codes in session.rows("SELECT suppressed, letter, age, codes FROM out"):
        cells[suppressed, letter, age].append({e for part in json.loads(codes or "[]") or () for e in elements(part)})
    for found in cells.values():
        having = [each for each in found if each]
        assert max(Counter(e for each in having for e in each).values()) <= len(having) / 1.5


@pytest.mark.parametrize(("written", "delimiter"), [(str, ", "), (lambda cell: f"{{{','.join(cell)}}}", ",")])
def test_brackets_and_quotes_around_elements_are_none_of_them(
    database: Database, session: Session, run: Run, written: Callable[[Sequence[str]], str], delimiter: str
) -> None:
    """`['HIV', 'flu']` and `['HIV']` have HIV in common."""
    rows = visits(7, spelled=written)
    create(session, rows)
    attributes = tuple(replace(a, elements=Elements(delimiter)) if a.elements else a for a in DIVERSE.attributes)
    run(database, replace(DIVERSE, attributes=attributes))
    cells = defaultdict(list)
    for *key, codes in session.rows("SELECT letter, age, codes FROM out"):
        cells[tuple(key)].append(elements("|".join((codes or "").strip("[]{}").replace("'", "").split(delimiter))))
    for found in cells.values():
        having = [each for each in found if each]
        assert max(Counter(e for each in having for e in each).values()) <= len(having) / 1.5


def test_a_column_that_looks_like_lists_must_be_decided(database: Database, session: Session, run: Run) -> None:
    create(session, visits(3))
    decided = {True: BAR, False: Elements(none=True), None: None}
    for lists, elements_ in decided.items():
        attributes = tuple(
            replace(each, elements=elements_) if each.column == "codes" else each for each in LISTED.attributes
        )
        release = run(database, replace(LISTED, attributes=attributes, repeat_reason="other words"))
        about = [w for w in release.warnings if "split by" in w and w.rank is Rank.MUST_BE_DECIDED]
        assert bool(about) is (lists is None)
        # Without a model, somebody tells what all of a class have.
        in_common = [w for w in release.warnings if "in common" in w]
        assert bool(in_common) is (lists is True)
        session.execute("DROP TABLE out; DROP TABLE out_classes; DROP TABLE out_risk; DROP TABLE out_risk_histogram")
