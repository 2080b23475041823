"""The assessment: no evaluated record is trained on, nor any suppressed one, and accuracies are relative."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.classification import Chosen, ClassifiedRecords, Feature, FeatureValues, cross_validation
from tableveil.classification.assess import assess
from tableveil.classification.classifiers import Examples, Told, train
from tableveil.classification.cross_validation import assign_folds
from tableveil.control import Control, Stopped
from tableveil.requests.classification import ClassificationRequest, Classifier

Mask = NDArray[np.bool_]


def values(codes: NDArray[Any] | list[int], numbers: list[float] | None = None) -> FeatureValues:
    array = np.asarray(codes, np.int32)
    of_codes = None if numbers is None else np.array(numbers)
    return FeatureValues(array, int(array.max()) + 1 if numbers is None else len(numbers), of_codes)


def records(
    classes: NDArray[np.int64], kept: Mask | None = None, **features: tuple[FeatureValues, FeatureValues]
) -> ClassifiedRecords:
    """Features by name, each as in the input and as released; all records are kept by default."""
    return ClassifiedRecords(
        tuple(Feature(name, *both) for name, both in features.items()),
        "class",
        classes.astype(np.int32),
        tuple(f"class {code}" for code in range(int(classes.max()) + 1)),
        np.ones(len(classes), np.bool_) if kept is None else kept,
    )


def request(classifiers: Sequence[Classifier], folds: int, seed: int) -> ClassificationRequest:
    return ClassificationRequest(1, ("class",), classifiers=tuple(classifiers), folds=folds, seed=seed)


def people(number: int = 200) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A class, and a feature of ten categories that predicts it four times of five."""
    generator = np.random.default_rng(9)
    feature = generator.integers(0, 10, number)
    return ((feature >= 5) ^ (generator.random(number) < 0.2)).astype(np.int64), feature


def seen(monkeypatch: pytest.MonkeyPatch) -> list[Examples]:
    """The examples of every training from now on, in order."""
    given: list[Examples] = []

    def spy(classifier: Classifier, examples: Examples, classes: int, seed: int) -> Told:
        given.append(examples)
        return train(classifier, examples, classes, seed)

    monkeypatch.setattr(cross_validation, "train", spy)
    return given


def test_nothing_evaluated_is_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    classes, _ = people(60)
    # Each record has a number of its own, which identifies the training records.
    own = values(np.arange(60), [float(code) for code in range(60)])
    grouped = values(np.arange(60), [code + 0.5 for code in range(60)])
    given = seen(monkeypatch)
    assess(records(classes, own=(own, grouped)), request([Classifier.NAIVE_BAYES], 4, 11), Control())
    assigned = assign_folds(classes, 4, 11)
    assert len(given) == 8
    for training, examples in enumerate(given):
        trained = np.flatnonzero(assigned != training % 4)
        standardized = np.sort(examples.matrix.toarray()[:, 0])
        # Input and release: exactly the records of the other folds, standardized by themselves alone.
        assert standardized == pytest.approx((trained - trained.mean()) / trained.std())
        assert examples.records.sum() == len(trained)


@pytest.mark.parametrize("classifier", Classifier)
def test_who_memorizes_does_not_know_others(classifier: Classifier) -> None:
    # Each record has a category of its own, and classes are random: if the test fold were trained on, all predictions
    # would be right.
    classes = np.random.default_rng(2).integers(0, 2, 80)
    own = values(np.arange(80))
    found = assess(records(classes, own=(own, own)), request([classifier], 4, 0), Control()).comparisons[0]
    for measures in (found.original, found.anonymized):
        assert measures.accuracy <= np.bincount(classes).max() / 80 + 0.05


def test_suppressed_records_are_evaluated_but_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    classes, feature = people()
    kept = feature != 3
    given = seen(monkeypatch)
    found = assess(
        records(classes, kept, it=(values(feature), values(feature))),
        request([Classifier.NAIVE_BAYES], 5, 0),
        Control(),
    )
    assert sum(examples.records.sum() for examples in given[:5]) == 4 * len(classes)
    assert sum(examples.records.sum() for examples in given[5:]) == 4 * kept.sum()
    assert {examples.encoding.width for examples in given[5:]} == {9}
    assert sum(map(sum, found.comparisons[0].anonymized.confusion)) == len(classes)


@pytest.mark.parametrize("classifier", Classifier)
def test_if_all_records_are_suppressed_the_classifier_is_zero_r(classifier: Classifier) -> None:
    classes, feature = people()
    nobody = np.zeros(len(classes), np.bool_)
    assessment = assess(
        records(classes, nobody, it=(values(feature), values(feature))), request([classifier], 5, 0), Control()
    )
    found = assessment.comparisons[0]
    assert found.anonymized == assessment.baseline
    assert found.original.accuracy > assessment.baseline.accuracy
    assert found.relative_accuracy == 0


def test_if_all_labels_are_at_the_top_the_classifier_is_zero_r() -> None:
    classes, feature = people()
    stars = values(np.zeros(len(classes)), [np.nan])
    assessment = assess(records(classes, it=(values(feature), stars)), request(list(Classifier), 5, 0), Control())
    assert all(found.anonymized == assessment.baseline for found in assessment.comparisons)


def test_the_same_release_loses_nothing() -> None:
    classes, feature = people()
    assessment = assess(
        records(classes, it=(values(feature), values(feature))), request(list(Classifier), 5, 0), Control()
    )
    assert [found.classifier for found in assessment.comparisons] == list(Classifier)
    assert all(found.original == found.anonymized for found in assessment.comparisons)
    assert all(found.relative_accuracy == 1 for found in assessment.comparisons)
    assert (assessment.class_column, assessment.features, assessment.records, assessment.folds) == (
        "class",
        ("it",),
        200,
        5,
    )


def test_relative_accuracy_is_between_baseline_and_original() -> None:
    classes, feature = people()
    # In the release, 4 cannot be told from 5.
    merged = np.where(feature == 4, 5, feature)
    assessment = assess(
        records(classes, it=(values(feature), values(merged))), request([Classifier.DECISION_TREE], 5, 0), Control()
    )
    found, baseline = assessment.comparisons[0], assessment.baseline.accuracy
    assert found.relative_accuracy is not None
    assert 0 < found.relative_accuracy < 1
    expected = (found.anonymized.accuracy - baseline) / (found.original.accuracy - baseline)
    assert found.relative_accuracy == pytest.approx(expected)


def test_relative_accuracy_is_undefined_where_nothing_could_be_lost() -> None:
    classes = np.array([0] * 30 + [1] * 10)
    constant = values(np.zeros(40))
    found = assess(records(classes, it=(constant, constant)), request(list(Classifier), 4, 0), Control())
    assert [comparison.relative_accuracy for comparison in found.comparisons] == [None] * len(Classifier)
    assert found.baseline.accuracy == 0.75
    assert found.baseline.confusion == ((30, 0), (10, 0))


def test_without_features_it_is_zero_r() -> None:
    classes, _ = people()
    assessment = assess(records(classes), request([Classifier.DECISION_TREE], 5, 0), Control())
    assert assessment.comparisons[0].anonymized == assessment.baseline


def test_a_rare_class_is_in_some_folds_only() -> None:
    classes, feature = people()
    rare = classes.copy()
    rare[:2] = 2
    assessment = assess(
        records(rare, it=(values(feature), values(feature))), request(list(Classifier), 5, 0), Control()
    )
    for found in assessment.comparisons:
        assert np.sum(found.original.confusion[2]) == 2
        assert found.original.accuracy > assessment.baseline.accuracy


def test_the_same_arguments_give_the_same_assessment() -> None:
    classes, feature = people()
    given = records(classes, it=(values(feature), values(feature // 2)))
    first, second = (assess(given, request(list(Classifier), 3, 4), Control()) for _ in range(2))
    assert first == second
    assert assess(given, request([Classifier.RANDOM_FOREST], 3, 5), Control()) != assess(
        given, request([Classifier.RANDOM_FOREST], 3, 4), Control()
    )


def test_a_transformation_chosen_inside_the_folds_knows_the_records_trained_on_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    classes, feature = people()
    asked: list[Mask] = []

    def choose(trained: Mask) -> Chosen:
        asked.append(trained)
        # Keeps all records, including the evaluated ones: they must still not be trained on.
        return (values(feature // 2),), np.ones(len(classes), np.bool_)

    given = seen(monkeypatch)
    # The released values are not looked at.
    nothing = (values(feature), values(np.zeros(len(classes))))
    inside = assess(
        records(classes, ~(classes >= 0), it=nothing), request([Classifier.NAIVE_BAYES], 5, 1), Control(), choose=choose
    )
    assigned = assign_folds(classes, 5, 1)
    assert all((trained == (assigned != fold)).all() for fold, trained in enumerate(asked))
    assert [examples.records.sum() for examples in given[5:]] == [trained.sum() for trained in asked]
    fixed = assess(
        records(classes, it=(values(feature), values(feature // 2))), request([Classifier.NAIVE_BAYES], 5, 1), Control()
    )
    assert inside == fixed


def test_progress_is_told_and_work_can_be_stopped() -> None:
    classes, feature = people()
    given = records(classes, it=(values(feature), values(feature)))
    told: list[tuple[int, int]] = []
    control = Control()

    def progress(done: int, of: int) -> None:
        told.append((done, of))
        if done == 6:
            control.cancel()

    with pytest.raises(Stopped):
        assess(given, request([Classifier.NAIVE_BAYES, Classifier.LOGISTIC_REGRESSION], 2, 0), control, progress)
    assert told == [(done, 8) for done in range(7)]


@pytest.mark.parametrize(
    ("of_class", "chosen", "folds", "said"),
    [
        ([0, 1], [Classifier.NAIVE_BAYES], 3, "3 folds of 2 records"),
        ([0, 1], [Classifier.NAIVE_BAYES], 1, "1 folds of 2 records"),
        ([1, 1], [Classifier.NAIVE_BAYES], 2, "one class"),
        ([0, 1], [], 2, "different classifiers"),
        ([0, 1], [Classifier.NAIVE_BAYES] * 2, 2, "different classifiers"),
    ],
)
def test_what_cannot_be_assessed(of_class: list[int], chosen: list[Classifier], folds: int, said: str) -> None:
    classes = np.array(of_class)
    with pytest.raises(ValueError, match=said):
        assess(records(classes, it=(values([0, 1]), values([0, 1]))), request(chosen, folds, 0), Control())


def test_two_records_are_enough() -> None:
    found = assess(
        records(np.array([0, 1]), it=(values([0, 1]), values([0, 1]))), request(list(Classifier), 2, 0), Control()
    )
    assert [comparison.original.accuracy for comparison in found.comparisons] == [0] * len(Classifier)
