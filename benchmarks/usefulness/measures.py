"""Measures of what an analyst gets, who takes all values of a label for equally likely."""

import warnings
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from benchmarks.usefulness.methods import Read
from benchmarks.usefulness.subjects import Subject

QUERIES = 1000
LEAST_SHARE = 0.01
"""A query counts at least this share of the records."""

NEAR = 0.1
ASSOCIATED = 0.1
"""Cramér's V of the pairs of columns whose association counts."""

TRAINED_ON = 20_000
"""Records that a logistic regression learns from at most."""


def queries_answered(subject: Subject, read: Read) -> float:
    """The share of random counting queries over ranges of two columns that are answered within 10 %."""
    random = np.random.default_rng(1)
    records, columns = subject.codes.shape
    scale = records / read.kept.sum()
    near = asked = 0
    while asked < QUERIES:
        true, estimated = np.ones(records), np.ones(records)
        for j in random.choice(columns, 2, replace=False):
            values = len(subject.levels[j].groups[0])
            low, high = np.sort(random.integers(0, values + 1, 2))
            chosen = (np.arange(values) >= low) & (np.arange(values) < high)
            true *= chosen[subject.codes[:, j]]
            estimated *= (read.meanings[j] @ chosen)[read.labels[:, j]]
        count = true.sum()
        if LEAST_SHARE * records <= count < records:
            asked += 1
            near += abs(estimated[read.kept].sum() * scale - count) <= NEAR * count
    return near / asked


def correlations_kept(subject: Subject, read: Read) -> float:
    """The mean share of Cramér's V that is left, over all pairs of associated columns."""
    left = []
    for i, j in combinations(range(subject.codes.shape[1]), 2):
        sizes = [len(subject.levels[column].groups[0]) for column in (i, j)]
        before = _cramer(_joint(subject.codes[:, i], subject.codes[:, j], *sizes))
        if before >= ASSOCIATED:
            kept = read.labels[read.kept]
            labels = _joint(kept[:, i], kept[:, j], len(read.meanings[i]), len(read.meanings[j]))
            left.append(min(_cramer(read.meanings[i].T @ labels @ read.meanings[j]) / before, 1.0))
    return float(np.mean(left))


def accuracies(subject: Subject, read: Read) -> tuple[float, float]:
    """Accuracies of naive Bayes and logistic regression on one half of the source, after learning from the other half.

    They learn from released records: a label stands for all of its values, by their shares.
    """
    learned = np.random.default_rng(1).permutation(len(subject.target)) % 2 == 0
    tested = np.flatnonzero(~learned)
    trained = np.flatnonzero(learned & read.kept)
    features = np.hstack([meaning[read.labels[trained, j]] for j, meaning in enumerate(read.meanings)])
    asked = np.hstack(
        [np.eye(len(levels.groups[0]))[subject.codes[tested, j]] for j, levels in enumerate(subject.levels)]
    )
    few = slice(TRAINED_ON)
    found = []
    for classifier, rows in ((MultinomialNB(), slice(None)), (LogisticRegression(max_iter=200), few)):
        with warnings.catch_warnings():
            # More steps change no digit that is shown.
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(features[rows], subject.target[trained][rows])
        found.append(float((classifier.predict(asked) == subject.target[tested]).mean()))
    return found[0], found[1]


def erased(subject: Subject, read: Read) -> int:
    """The number of columns with one label in all released records."""
    labels = read.labels[read.kept]
    return sum(len(np.unique(labels[:, j])) == 1 for j in range(labels.shape[1]))


def _joint(left: NDArray[np.int64], right: NDArray[np.int64], rows: int, columns: int) -> NDArray[np.float64]:
    return np.bincount(left * columns + right, minlength=rows * columns).reshape(rows, columns).astype(float)


def _cramer(table: NDArray[np.float64]) -> float:
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    chi = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi / total / max(min(table.shape) - 1, 1)))
