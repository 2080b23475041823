"""Records paired with what is released of them: as the written table has it, and for suppressed ones, as it would."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.backend import Database, Session
from tableveil.classification.model import FeatureValues
from tableveil.control import Control
from tableveil.convert import canonical_json, stored_policy
from tableveil.features.columns import SAMPLE, draw_sample
from tableveil.features.paired import Paired, pair
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, SuppressionOnly
from tableveil.pipelines.assessed_release import Assessed, check_unchanged, count_again, rebuilt_plan, resolve_assessed
from tableveil.pipelines.levels_inside_folds import ChosenInside
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    Role,
    SearchOptions,
    TableReference,
)
from tableveil.release.clusters import Members, clusters_of
from tableveil.requests.classification import ClassificationRequest
from tableveil.source import Column, Source, columns_of
from tableveil.state.releases import Release
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

K = 6
PARITY = tuple((str(i), "odd" if i % 2 else "even", "*") for i in range(10))
DECADES = tuple((str(i), f"[{i // 5 * 5}, {i // 5 * 5 + 5}[", "*") for i in range(10))

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "20"), top_coding="60")),
        AttributePolicy("born", Role.QUASI_IDENTIFIER, Dates("2000-01-01", "2003-12-31", (DateUnit.YEAR,))),
        AttributePolicy("parity", Role.QUASI_IDENTIFIER, InlineLevels(PARITY)),
        AttributePolicy("decade", Role.QUASI_IDENTIFIER, InlineLevels(DECADES)),
        AttributePolicy("place", Role.QUASI_IDENTIFIER, SuppressionOnly(), nulls=NullHandling.SUPPRESS),
        AttributePolicy("ill", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("weight", Role.INSENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(K),),
    release=plain_target("main", "published"),
    suppression_limit=Decimal(1),
    search=SearchOptions(levels=(("age", 1), ("born", 1), ("parity", 1), ("decade", 1), ("place", 0))),
)


@pytest.fixture
def people(session: Session) -> None:
    session.execute(
        "CREATE TABLE people AS SELECT (hash(i, 1) % 70)::INT AS age, DATE '2000-01-01' + (hash(i, 2) % 700)::INT AS "
        "born, (hash(i, 3) % 10)::INT AS parity, (hash(i, 4) % 10)::INT AS decade, "
        "CASE WHEN hash(i, 5) % 9 > 0 THEN 'p' || hash(i, 5) % 2 END AS place, hash(i, 6) % 2 = 0 AS ill, "
        "CASE WHEN i % 7 > 0 THEN i % 3 + 0.5::DOUBLE END AS weight FROM range(900) r(i)"
    )


def paired(
    run: Callable[..., Release], database: Database, session: Session, policy: Policy, most: int = 10_000
) -> tuple[Release, Assessed, Paired]:
    release = run(database, policy, document=canonical_json(policy_to_proto(policy)))
    session.control = Control()
    request = ClassificationRequest(release.number, ("ill",))
    with session.transaction():
        assessed = resolve_assessed(session, request, stored_policy)
        check_unchanged(session, assessed)
        sample = draw_sample(session, assessed.source, most, 1)
        counted = count_again(session, assessed, assessed.source, assessed.as_released)
    plan = rebuilt_plan(context(session), assessed, counted)
    names = [a.column for a in policy.attributes if a.column != "ill"]
    return release, assessed, pair(session, plan, sample, names)


def originals(session: Session, expression: str) -> NDArray[np.object_]:
    return np.array([x for (x,) in session.rows(f"SELECT {expression} FROM {SAMPLE} ORDER BY record")], np.object_)


def missing(values: NDArray[np.object_]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values])


def numbers(values: FeatureValues) -> NDArray[np.float64]:
    assert values.numbers is not None
    return values.numbers[values.codes]


def test_labels_are_those_of_the_hierarchies(
    run: Callable[..., Release], database: Database, session: Session, people: None
) -> None:
    release, _, found = paired(run, database, session, POLICY)
    ages = originals(session, "age").astype(float)
    age = found.feature("age")
    assert np.array_equal(numbers(age.original), ages)
    # `>= 60` counts as 60.
    assert np.array_equal(numbers(age.released), np.where(ages >= 60, 60, ages // 10 * 10 + 4.5))
    days = originals(session, "born - DATE '1970-01-01'").astype(float)
    years = originals(session, "year(born)").astype(int)
    born = found.feature("born")
    assert np.array_equal(numbers(born.original), days)
    first = np.array([f"{year}-01-01" for year in years], "datetime64[D]").astype(float)
    last = np.array([f"{year}-12-31" for year in years], "datetime64[D]").astype(float)
    assert np.array_equal(numbers(born.released), (first + last) / 2)
    # Odd and even numbers do not follow one another: they are categories.
    parity = found.feature("parity").released
    odd = originals(session, "parity % 2 = 1").astype(bool)
    assert parity.numbers is None
    assert [len(set(parity.codes[odd])), len(set(parity.codes[~odd])), len(set(parity.codes))] == [1, 1, 2]
    decades = originals(session, "decade").astype(int)
    assert np.array_equal(numbers(found.feature("decade").released), decades // 5 * 5 + 2.5)
    places = originals(session, "place")
    place = found.feature("place").released
    assert np.array_equal(place.codes == place.unknown, missing(places))
    assert len(set(zip(places, place.codes, strict=True))) == len(set(places)) == 3
    weights = originals(session, "weight")
    assert np.array_equal(np.isnan(numbers(found.feature("weight").released)), missing(weights))
    # Which records are kept: those of classes of K, none without a place.
    labels = list(zip(ages // 10, years, odd, decades // 5, places, strict=True))
    labels = [(min(age, 6.0), *rest) for age, *rest in labels]
    sizes = Counter(label for label in labels if label[-1] is not None)
    kept = [label[-1] is not None and sizes[label] >= K for label in labels]
    assert np.array_equal(found.kept, kept)
    assert 0 < found.kept.sum() == 900 - release.suppressed_records < 900
    written = session.rows("SELECT age, born, parity, decade, place, ill FROM published")
    ill = originals(session, "ill")
    rows = [
        (">= 60" if a == 6 else f"[{a * 10:.0f}, {a * 10 + 9:.0f}]", str(y), "odd" if o else "even",
         f"[{d * 5}, {d * 5 + 5}[", p, i)
        for (a, y, o, d, p), i, k in zip(labels, ill, found.kept, strict=True) if k
    ]  # fmt: skip
    assert Counter(rows) == Counter(written)


def test_aggregates_are_those_of_the_classes(
    run: Callable[..., Release], database: Database, session: Session, people: None
) -> None:
    """For suppressed records, too; those that were set aside have none."""
    weight = AttributePolicy(
        "weight", Role.QUASI_IDENTIFIER, nulls=NullHandling.SUPPRESS, aggregation=Aggregation(AggregateFunction.MEAN)
    )
    place = replace(POLICY.attributes[4], nulls=NullHandling.VALUE)
    hidden = [AttributePolicy(c, Role.IDENTIFYING) for c in ("age", "born", "parity", "decade")]
    search = SearchOptions(levels=(("place", 0),))
    policy = replace(POLICY, attributes=(*hidden, place, POLICY.attributes[5], weight), search=search)
    release, _, found = paired(run, database, session, policy)
    assert release.suppressed_records == session.value("SELECT count(*) FROM people WHERE weight IS NULL")
    feature = found.feature("weight")
    weights = originals(session, "weight")
    known = ~missing(weights)
    assert np.array_equal(found.kept, known)
    assert np.array_equal(numbers(feature.original)[known], weights[known].astype(float))
    assert np.isnan(numbers(feature.original)[~known]).all()
    means = dict(session.rows("SELECT place, avg(weight) FROM people GROUP BY place"))
    expected = [means[place] for place in originals(session, "place")]
    assert numbers(feature.released) == pytest.approx(expected)


@pytest.mark.long
def test_what_is_chosen_inside_a_fold(
    run: Callable[..., Release], database: Database, session: Session, people: None
) -> None:
    """Kept are training records alone, in classes of K of them; labels are those of one transformation."""
    free = replace(POLICY, suppression_limit=Decimal("0.2"), search=SearchOptions())
    _, assessed, found = paired(run, database, session, free, most=500)
    training = np.arange(500) % 3 > 0
    chosen, kept = ChosenInside(context(session, database), assessed, found, 500, 1)(training)
    assert not (kept & ~training).any()
    assert kept.sum() >= 0.8 * training.sum()
    labels = list(zip(*(values.codes.tolist() for values in chosen), strict=True))
    places = originals(session, "place")
    sizes = Counter(label for label, t, p in zip(labels, training, places, strict=True) if t and p is not None)
    expected = [
        bool(t) and p is not None and sizes[label] >= K for label, t, p in zip(labels, training, places, strict=True)
    ]
    assert np.array_equal(kept, expected)


def test_a_sample_depends_on_rows_and_seed_alone(session: Session, people: None) -> None:
    catalog = session.value("SELECT current_database()")

    def drawn(name: str, seed: int) -> list[tuple[object, ...]]:
        session.execute(f"DROP TABLE IF EXISTS {SAMPLE}")
        reference = TableReference(catalog, "main", name)
        columns = tuple(found for found in columns_of(session, reference) if isinstance(found, Column))
        sample = draw_sample(session, Source(reference, columns), 100, seed)
        assert (sample.records, sample.of) == (100, 900)
        return session.rows(f"SELECT * FROM {SAMPLE} ORDER BY {sample.position}")

    session.execute("CREATE TABLE turned AS SELECT * FROM people ORDER BY hash(born, age, weight)")
    assert drawn("people", 1) == drawn("turned", 1) != drawn("people", 2)
    # Equal rows are drawn one by one.
    session.execute("CREATE TABLE alike AS SELECT i % 2 AS record FROM range(900) r(i)")
    ones = sum(int(str(row[0])) for row in drawn("alike", 1))
    assert 30 < ones < 70


def test_members_of_clusters() -> None:
    """Every cluster has as many of the records as in the source; of some of them its share."""
    members = Members(
        by=(),
        codes=(np.array([0, 0, 1, 1], np.int32), np.array([0, 0, 2, 2], np.int32)),
        sensitive=(),
        classes=np.array([0, 1, 1, 2]),
        counts=np.array([3, 1, 2, 6]),
    )
    codes = [np.array([1] * 8 + [0] * 4 + [-1], np.int32), np.array([2] * 8 + [0] * 4 + [-1], np.int32)]
    found = clusters_of(members, codes)
    assert found[-1] == -1
    assert np.bincount(found[:8], minlength=3).tolist() == [0, 2, 6]
    assert np.bincount(found[8:12], minlength=3).tolist() == [3, 1, 0]
    half = clusters_of(members, [code[::2] for code in codes])
    assert np.bincount(half[:4], minlength=3).tolist() == [0, 1, 3]
