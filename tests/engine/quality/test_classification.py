"""The classification model: its score by definition, bounds that nothing beats, and searches that find the optimum."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.classes import Check, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.control import Control
from tableveil.hierarchy import InlineLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import ClassificationModel
from tableveil.privacy import Conjunction
from tableveil.quality import quality_of
from tableveil.quality.classification import ClassColumn, Features
from tableveil.search import Problem, SearchOutcome, exact
from tableveil.search.anytime import anytime
from tableveil.search.best_first import best_first
from tests.engine.quality.test_bounds import NotOfThree, check_bounds, scores
from tests.engine.random_tables import Attribute, Table, inline, intervals, tables
from tests.engine.rules import k_anonymity

Value = str | None


@dataclass(frozen=True)
class Classified:
    """A table whose records have more columns: `extra` are features released unchanged, `classes` are to be predicted.

    `attributes` are the quasi-identifiers that are features.
    """

    table: Table
    extra: tuple[tuple[Value, ...], ...]
    classes: tuple[tuple[Value, ...], ...]
    attributes: tuple[int, ...]
    model: ClassificationModel

    def defined(self, x: Transformation) -> Fraction:
        """The score by definition of a transformation that keeps the classes of at least k."""
        table, records = self.table, range(len(self.table.records))
        labels = [tuple(label(table.attributes[j], v, x[j]) for j, v in enumerate(r)) for r in table.records]
        withheld = [table.withheld(record) for record in table.records]
        sizes = Counter(labels[i] for i in records if not withheld[i])
        kept = [i for i in records if not withheld[i] and sizes[labels[i]] >= table.k]
        suppressed, minority, no_majority = (
            Fraction(str(penalty))
            for penalty in (self.model.suppressed_penalty, self.model.minority_penalty, self.model.no_majority_penalty)
        )
        total = Fraction(0)
        for classes in self.classes:
            votes: defaultdict[Hashable, list[Value]] = defaultdict(list)
            for i in kept:
                features = (*(labels[i][j] for j in self.attributes), *(column[i] for column in self.extra))
                votes[features].append(classes[i])
            for cast in votes.values():
                (_, most), *others = Counter(cast).most_common()
                tied = any(number == most for _, number in others)
                total += no_majority * len(cast) if tied else minority * (len(cast) - most)
            total += suppressed * (len(records) - len(kept))
        return total / (max(suppressed, minority, no_majority) * len(records) * len(self.classes))

    def counter(self) -> NumpyCounter:
        """A counter that knows the values of each class together with those of the extra features."""
        table = self.table
        orders = [
            [*sorted({r[j] for r in table.records if r[j] is not None}, key=str), None]
            for j in range(len(table.attributes))
        ]
        codes = [tuple(order.index(v) for order, v in zip(orders, r, strict=True)) for r in table.records]
        searchable = [i for i, record in enumerate(table.records) if not table.withheld(record)]
        combinations = list(dict.fromkeys(codes[i] for i in searchable))
        counts = Counter(codes[i] for i in searchable)
        sensitive = []
        for classes in self.classes:
            joint = self.joint(classes)
            known = sorted(set(joint), key=str)
            entries = Counter((combinations.index(codes[i]), known.index(joint[i])) for i in searchable)
            rows = SensitiveRows(
                np.array([row for row, _ in entries], np.int64),
                np.array([value for _, value in entries], np.int64),
                np.array(list(entries.values()), np.int64),
            )
            sensitive.append((SensitiveColumn("", np.array([joint.count(code) for code in known])), rows))
        return NumpyCounter(
            table.levels,
            [np.array([combination[j] for combination in combinations], np.int32) for j in range(len(orders))],
            np.array([counts[combination] for combination in combinations], np.int64),
            withheld=len(table.records) - len(searchable),
            sensitive=sensitive,
        )

    def joint(self, classes: tuple[Value, ...]) -> list[tuple[tuple[Value, ...], Value]]:
        return [(tuple(column[i] for column in self.extra), value) for i, value in enumerate(classes)]

    def told(self, position: int) -> ClassColumn:
        known = sorted(set(self.joint(self.classes[position])), key=str)
        combinations = list(dict.fromkeys(features for features, _ in known))
        values = sorted({value for _, value in known}, key=str)
        return ClassColumn(
            position,
            np.array([combinations.index(features) for features, _ in known]),
            np.array([values.index(value) for _, value in known]),
        )

    def problem(self, odd: bool = False) -> Problem:
        counter, rules = self.counter(), k_anonymity(self.table.k).rules
        features = Features(self.attributes, tuple(self.told(t) for t in range(len(self.classes))))
        return Problem(
            lattice=self.table.lattice,
            counter=counter,
            privacy=Conjunction((*rules, NotOfThree()) if odd else rules),
            quality=quality_of(self.model, counter, self.table.weights, self.table.suppressible, features=features),
            suppressible=self.table.suppressible,
        )


def label(attribute: Attribute, value: Value, level: int) -> Value:
    rule = attribute.rule
    assert isinstance(rule, InlineLevels)
    if level == len(rule.rows[0]) - 1:
        return "*"
    return None if value is None else next(row[level] for row in rule.rows if row[0] == value)


PENALTIES = st.tuples(
    st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]),
    st.sampled_from([1.0, 0.3, 0.0]),
    st.sampled_from([1.0, 2.0, 1 / 3, 0.0]),
).filter(any)
"""The penalties of suppression, of a minority, and of no majority."""


@st.composite
def classified(draw: st.DrawFn) -> Classified:
    table = draw(tables(inline()))
    number, attributes = len(table.records), len(table.attributes)

    def columns(values: list[Value], most: int, least: int) -> tuple[tuple[Value, ...], ...]:
        column = st.lists(st.sampled_from(values), min_size=number, max_size=number).map(tuple)
        return tuple(draw(st.lists(column, min_size=least, max_size=most)))

    extra = columns(["x", "y"], most=draw(st.integers(0, 2)), least=0)
    chosen = draw(st.sets(st.integers(0, attributes - 1), min_size=not extra))
    values: list[Value] = ["a", "b", "c", "d", None]
    classes = columns(values[: draw(st.integers(1, 4))], most=1, least=1)
    if draw(st.booleans()):
        classes += columns(values[3:], most=1, least=1)
    return Classified(
        table,
        extra,
        classes,
        tuple(sorted(chosen)) if draw(st.booleans()) else tuple(range(attributes)),
        ClassificationModel(("class",), (), *draw(st.just((0.5, 1.0, 1.0)) | PENALTIES)),
    )


@given(data=st.data(), case=classified())
def test_the_score_is_what_the_definition_says(data: st.DataObject, case: Classified) -> None:
    _, x = data.draw(intervals(case.table.lattice))
    problem = case.problem()
    classes = problem.counter.classes(x)
    assessment = problem.quality.assess(x, classes, problem.privacy.releasable(classes))
    assert problem.quality.reported(assessment.score) == pytest.approx(float(case.defined(x)), abs=1e-15)
    assert assessment.values == ()


@given(data=st.data(), case=classified(), odd=st.booleans())
def test_no_bound_is_above_the_least_score(data: st.DataObject, case: Classified, odd: bool) -> None:
    check_bounds(case.problem(odd), *data.draw(intervals(case.table.lattice)))


@settings(max_examples=10)
@given(case=classified(), odd=st.booleans())
def test_no_bound_of_any_interval_is_above_the_least_score(case: Classified, odd: bool) -> None:
    problem = case.problem(odd)
    keys = {key[2]: key[0] for key in scores(problem, problem.lattice)}
    size = problem.privacy.minimum_class_size
    checks = {x: Check(problem.counter, x, size) for x in problem.lattice}
    for hi, top in checks.items():
        evidence = problem.quality.evidence(top)
        for lo in Lattice(problem.lattice.bottom, hi):
            between = [keys[x] for x in Lattice(lo, hi) if x in keys]
            if between:
                assert evidence.bound(lo) <= min(between)
                assert problem.quality.bound_between(checks[lo], hi) <= min(between)


@pytest.mark.parametrize("strategy", [exact, best_first, anytime])
@settings(max_examples=10)
@given(case=classified(), odd=st.booleans())
def test_every_strategy_finds_what_exhaustive_search_finds(
    strategy: Callable[[Problem, Control], SearchOutcome], case: Classified, odd: bool
) -> None:
    problem = case.problem(odd)
    outcome = strategy(problem, Control())
    assert outcome.complete
    assert (outcome.best.key if outcome.best else None) == min(scores(problem, problem.lattice), default=None)


def of_one_attribute(records: str, classes: str, k: int = 1, model: ClassificationModel | None = None) -> Classified:
    """A letter per record is its quasi-identifier's value, and one its class; two letters have a label together."""
    rows = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"))
    table = Table(
        (Attribute(InlineLevels(rows), ("a", "b", "c", "d"), withholds_null=False),),
        tuple((letter,) for letter in records),
        k=k,
        suppressible=len(records),
        weights=(1.0,),
    )
    return Classified(table, (), (tuple(classes),), (0,), model or ClassificationModel(("class",)))


def with_another(records: str, others: str, classes: str, k: int, suppressible: int) -> Classified:
    """As `of_one_attribute`, beside another quasi-identifier that is no feature; suppression is free."""
    case = of_one_attribute(records, classes, k, ClassificationModel(("class",), (), suppressed_penalty=0.0))
    (attribute,) = case.table.attributes
    table = Table((attribute, attribute), tuple(zip(records, others, strict=True)), k, suppressible, weights=(1.0, 1.0))
    return replace(case, table=table)


def score(case: Classified, x: Transformation) -> float:
    problem = case.problem()
    classes = problem.counter.classes(x)
    kept = problem.privacy.releasable(classes)
    return problem.quality.reported(problem.quality.assess(x, classes, kept).score)


def test_a_minority_counts_and_a_majority_does_not() -> None:
    assert score(of_one_attribute("aaabcc", "++--++"), (0,)) == 1 / 6
    assert score(of_one_attribute("aaabcc", "+++-++"), (1,)) == 1 / 6


def test_all_records_count_where_no_class_is_the_most_frequent() -> None:
    assert score(of_one_attribute("aabbcc", "++--++"), (1,)) == 4 / 6


def test_a_suppressed_record_counts_half_and_does_not_vote() -> None:
    # Among the four records labelled ab, b alone is suppressed.
    assert score(of_one_attribute("aaabcc", "+++-++", k=2), (0,)) == 0.5 / 6


def test_penalties_are_shares_of_the_highest() -> None:
    model = ClassificationModel(("class",), (), suppressed_penalty=0.1, minority_penalty=0.2, no_majority_penalty=0.4)
    case = of_one_attribute("aaabbcd", "++-+-+-", k=2, model=model)
    # One in the minority, two without a majority, two suppressed.
    assert score(case, (0,)) == pytest.approx((0.2 + 0.8 + 0.2) / (0.4 * 7), abs=1e-15)


def test_one_class_and_no_records_at_all_cost_nothing() -> None:
    assert score(of_one_attribute("aabbcc", "++++++"), (2,)) == 0.0
    assert score(of_one_attribute("aabbcc", "++++++", k=7), (2,)) == 0.5


def test_everything_suppressed_costs_the_penalty_of_suppression() -> None:
    assert score(of_one_attribute("abcd", "+-+-", k=5), (0,)) == 0.5


def test_the_bound_between_counts_on_the_minority_at_the_finer_end() -> None:
    case = of_one_attribute("aaabbbccccd", "++-++-+++--")
    problem = case.problem()
    bound = problem.quality.bound_between(Check(problem.counter, (0,), 1), (2,))
    assert bound == (3 / 11,)
    assert bound > problem.quality.evidence(Check(problem.counter, (2,), 1)).bound((0,))


def test_the_bound_between_counts_what_is_too_small_at_the_more_general_end_as_suppressed() -> None:
    case = of_one_attribute("aaabbbccc", "++-++-+++", k=4)
    problem = case.problem()
    # At level 1, c's three are still too few: at level 0 and 1 they are suppressed.
    bound = problem.quality.bound_between(Check(problem.counter, (0,), 4), (1,))
    assert bound == ((2 + 3 * 0.5) / 9,)


def bound_between(case: Classified, lo: Transformation, hi: Transformation) -> float:
    problem = case.problem()
    (bound,) = problem.quality.bound_between(Check(problem.counter, lo, case.table.k), hi)
    return bound


def test_a_class_that_is_large_enough_only_later_may_be_suppressed_before() -> None:
    free = ClassificationModel(("class",), (), suppressed_penalty=0.0)
    case = of_one_attribute("aabbb", "+-+++", k=3, model=free)
    assert bound_between(case, (0,), (1,)) == score(case, (0,)) == 0.0
    # Four records of four classes: three are outvoted, and half as many is what suppressing them costs.
    case = of_one_attribute("aaaabbbbb", "+-*/+++++", k=5)
    assert bound_between(case, (0,), (1,)) == score(case, (0,)) == 2 / 9


def test_whoever_is_suppressed_does_not_vote_with_others_of_the_same_features() -> None:
    # All have the feature a; b separates the two of class -, and as few as possible can be suppressed.
    case = with_another("aaaaa", "aabbb", "--+++", k=3, suppressible=2)
    assert bound_between(case, (0, 0), (0, 1)) == score(case, (0, 0)) == 0.0
    # If only one may be, the other is outvoted.
    fewer = with_another("aaaaa", "aabbb", "--+++", k=3, suppressible=1)
    assert bound_between(fewer, (0, 0), (0, 1)) == 1 / 5


def test_a_tie_may_cost_less_than_a_minority() -> None:
    case = of_one_attribute("aabb", "+-++", model=ClassificationModel(("class",), (), no_majority_penalty=0.0))
    assert bound_between(case, (0,), (1,)) == score(case, (0,)) == 0.0
