"""Trains the classifiers on encoded features: scikit-learn's, naive Bayes for mixed features, and ZeroR."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tableveil.classification.encoding import Encoding
from tableveil.classification.naive_bayes import NaiveBayes
from tableveil.requests.classification import Classifier

Told: TypeAlias = Callable[[csr_array], NDArray[np.float64]]
"""Gives, for each row of a matrix, the probability of every class."""

TREES = 50
"""Trees of a random forest."""

MOST_DENSE = 50_000_000
"""Up to this number of cells, trees get a matrix in its dense form, for speed; larger ones stay sparse."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Training examples: each row of the matrix stands for so many records of a class, at least one."""

    encoding: Encoding
    matrix: csr_array
    classes: NDArray[np.intp]
    records: NDArray[np.int64]


def zero_r(shares: NDArray[np.float64]) -> Told:
    """Predicts the shares of the classes for every record: the most frequent class, whatever the features."""
    return lambda matrix: np.tile(shares, (matrix.shape[0], 1))


def train(classifier: Classifier, examples: Examples, classes: int, seed: int) -> Told:
    """Trains the classifier; falls back to ZeroR where there is nothing to learn: one class only, or no column.

    Records count equally, whether a row stands for one or for many. Equal examples and an equal seed give the same
    classifier. A class without examples has the probability 0.
    """
    counts = np.bincount(examples.classes, weights=examples.records, minlength=classes)
    if examples.encoding.width == 0 or np.count_nonzero(counts) < 2:
        return zero_r(counts / counts.sum())
    trained = _TRAINING[classifier](examples, seed)
    occurring = np.flatnonzero(counts)

    def told(matrix: csr_array) -> NDArray[np.float64]:
        probabilities = np.zeros((matrix.shape[0], classes))
        probabilities[:, occurring] = trained(matrix)
        return probabilities

    return told


def _logistic_regression(examples: Examples, seed: int) -> Told:
    model = LogisticRegression(max_iter=500, random_state=seed)
    with warnings.catch_warnings():
        # A classifier that has not converged by then is evaluated like any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(examples.matrix, examples.classes, sample_weight=examples.records)
    return model.predict_proba  # type: ignore[no-any-return]


def _decision_tree(examples: Examples, seed: int) -> Told:
    return _tree(DecisionTreeClassifier(min_samples_leaf=10, random_state=seed), examples)


def _random_forest(examples: Examples, seed: int) -> Told:
    return _tree(RandomForestClassifier(n_estimators=TREES, min_samples_leaf=5, random_state=seed), examples)


def _tree(model: Any, examples: Examples) -> Told:
    # Leaves and bootstrap samples are counted in rows, so every record is one.
    rows = np.repeat(np.arange(len(examples.records)), examples.records)
    model.fit(_for_trees(examples.matrix, rows), examples.classes[rows])
    return lambda matrix: model.predict_proba(_for_trees(matrix, np.arange(matrix.shape[0])))


def _for_trees(matrix: csr_array, rows: NDArray[np.intp]) -> csr_array | NDArray[np.float32]:
    single = matrix.astype(np.float32)
    return single.toarray()[rows] if len(rows) * matrix.shape[1] <= MOST_DENSE else single[rows]


def _naive_bayes(examples: Examples, seed: int) -> Told:
    return NaiveBayes(examples.encoding, examples.matrix, examples.classes, examples.records).probabilities


_TRAINING: Mapping[Classifier, Callable[[Examples, int], Told]] = {
    Classifier.LOGISTIC_REGRESSION: _logistic_regression,
    Classifier.NAIVE_BAYES: _naive_bayes,
    Classifier.DECISION_TREE: _decision_tree,
    Classifier.RANDOM_FOREST: _random_forest,
}
"""Each classifier predicts the classes that have examples, in the order of their codes."""
