"""Classifiers on small examples: weights are records, naive Bayes is scikit-learn's, and degenerate examples."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from tableveil.classification import FeatureValues
from tableveil.classification.classifiers import Examples, train, zero_r
from tableveil.classification.encoding import Encoding
from tableveil.classification.naive_bayes import ADDED_VARIANCE
from tableveil.requests.classification import Classifier

Codes = NDArray[np.int32]


def examples(
    features: list[FeatureValues], codes: Codes, classes: list[int], records: list[int] | None = None
) -> Examples:
    weights = np.array(records or [1] * len(codes), np.int64)
    encoding = Encoding.of(features, codes, weights)
    return Examples(encoding, encoding.matrix(codes), np.array(classes, np.intp), weights)


def table() -> tuple[list[FeatureValues], Codes, NDArray[np.intp]]:
    """Two categories and a number, some unknown, that help to predict three classes."""
    generator = np.random.default_rng(3)
    classes = generator.integers(0, 3, 300)
    first = (classes + (generator.random(300) < 0.4)) % 3
    second = generator.integers(0, 4, 300)
    unused = np.zeros(1, np.int32)
    number = (classes * 2 + generator.integers(0, 3, 300)) % 8
    of_codes = np.array([*range(7), np.nan])
    features = [FeatureValues(unused, 3), FeatureValues(unused, 4), FeatureValues(unused, 8, of_codes)]
    return features, np.stack([first, second, number], axis=1).astype(np.int32), classes.astype(np.intp)


@pytest.mark.parametrize("classifier", Classifier)
def test_a_weight_is_so_many_records(classifier: Classifier) -> None:
    features, codes, classes = table()
    rows, weights = np.unique(np.column_stack([codes, classes]), axis=0, return_counts=True)
    few = examples(features, np.ascontiguousarray(rows[:, :3]).astype(np.int32), list(rows[:, 3]), list(weights))
    every = np.repeat(np.arange(len(rows)), weights)
    many = examples(features, few_codes := rows[every, :3].astype(np.int32), list(rows[every, 3]))
    assert len(few_codes) > len(rows)
    told = [train(classifier, given, 3, 1)(few.matrix) for given in (few, many)]
    assert told[0] == pytest.approx(told[1], abs=1e-3)
    assert told[0].sum(axis=1) == pytest.approx(1)
    # The classifiers learned something.
    assert (told[0].argmax(axis=1) == rows[:, 3]) @ weights / weights.sum() > 0.6


@pytest.mark.parametrize("classifier", Classifier)
def test_the_same_seed_gives_the_same_classifier(classifier: Classifier) -> None:
    features, codes, classes = table()
    given = examples(features, codes, list(classes))
    first, second = (train(classifier, given, 3, 5)(given.matrix) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("classifier", Classifier)
def test_a_class_without_examples_has_no_probability(classifier: Classifier) -> None:
    features, codes, classes = table()
    given = examples(features, codes[classes != 1], list(classes[classes != 1]))
    told = train(classifier, given, 5, 1)(given.matrix)
    assert told.shape == (len(given.classes), 5)
    assert not told[:, [1, 3, 4]].any()
    assert told.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("classifier", Classifier)
def test_one_class_or_no_column_is_zero_r(classifier: Classifier) -> None:
    features, codes, _ = table()
    one = examples(features, codes, [2] * len(codes))
    assert (train(classifier, one, 3, 1)(one.matrix) == [0, 0, 1]).all()
    constant = examples([FeatureValues(codes[:0], 1)], np.zeros((3, 1), np.int32), [0, 1, 1])
    assert (train(classifier, constant, 2, 1)(constant.matrix) == [1 / 3, 2 / 3]).all()


def test_zero_r_tells_everybody_the_same() -> None:
    features, codes, classes = table()
    given = examples(features, codes[:4], list(classes[:4]))
    assert zero_r(np.array([0.2, 0.8]))(given.matrix).tolist() == [[0.2, 0.8]] * 4


def test_naive_bayes_of_categories_is_scikit_learns() -> None:
    features, codes, classes = table()
    given = examples(features[:2], codes[:, :2], list(classes))
    expected = CategoricalNB().fit(codes[:, :2], classes).predict_proba(codes[:, :2])
    assert train(Classifier.NAIVE_BAYES, given, 3, 1)(given.matrix) == pytest.approx(expected)


def test_naive_bayes_of_numbers_is_scikit_learns() -> None:
    features, codes, classes = table()
    known = codes[:, 2] < 7
    given = examples(features[2:], codes[known, 2:], list(classes[known]))
    numbers = given.matrix.toarray()
    expected = GaussianNB(var_smoothing=ADDED_VARIANCE).fit(numbers, classes[known]).predict_proba(numbers)
    assert train(Classifier.NAIVE_BAYES, given, 3, 1)(given.matrix) == pytest.approx(expected)


def test_naive_bayes_learns_from_what_is_unknown_only_that_it_is() -> None:
    # Class 0: 2 known, 2 unknown; class 1: 3 known, 1 unknown.
    numbers = FeatureValues(np.zeros(1, np.int32), 3, np.array([1.0, 3.0, np.nan]))
    codes = np.array([0, 1, 2, 2, 0, 1, 1, 2], np.int32)[:, None]
    given = examples([numbers], codes, [0, 0, 0, 0, 1, 1, 1, 1])
    told = train(Classifier.NAIVE_BAYES, given, 2, 1)(given.matrix)
    odds = ((2 + 1) / 6) / ((1 + 1) / 6)
    assert told[2, 0] / told[2, 1] == pytest.approx(odds)


def test_naive_bayes_leaves_out_categories_it_has_not_seen() -> None:
    features = [FeatureValues(np.zeros(1, np.int32), 3), FeatureValues(np.zeros(1, np.int32), 2)]
    codes = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0, 0]], np.int32)
    given = examples(features, codes, [0, 0, 1, 1, 0])
    told = train(Classifier.NAIVE_BAYES, given, 2, 1)
    without = examples(features[1:], codes[:, 1:], [0, 0, 1, 1, 0])
    expected = train(Classifier.NAIVE_BAYES, without, 2, 1)
    unseen = np.array([[2, 0], [2, 1]], np.int32)
    found = told(given.encoding.matrix(unseen))
    assert found == pytest.approx(expected(without.encoding.matrix(unseen[:, 1:])))
