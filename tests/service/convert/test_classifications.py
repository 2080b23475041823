"""Requests of classifier assessments from messages, and their results as messages."""

from typing import Any

import pytest
from google.protobuf import json_format

from tableveil.convert.classifications import classification_request_from_proto, classification_to_proto
from tableveil.requests.classification import ClassificationRequest, Classifier
from tableveil.v1 import classification_service_pb2 as v1
from tests.service.classification_samples import REQUEST, classification


def message(**document: Any) -> v1.ClassificationRequest:
    asked = {"release": "releases/3", "classes": ["ill"], **document}
    return json_format.ParseDict(asked, v1.ClassificationRequest())


def test_what_is_asked() -> None:
    request, document, faults = classification_request_from_proto(message())
    assert faults == []
    assert request == ClassificationRequest(3, ("ill",), (), tuple(Classifier), 10, 0, 50_000)
    assert json_format.Parse(document, v1.ClassificationRequest()) == message()


def test_everything_that_can_be_asked() -> None:
    asked = message(
        features=["age"],
        classifiers=["CLASSIFIER_RANDOM_FOREST", "CLASSIFIER_NAIVE_BAYES"],
        folds=2,
        seed="4294967295",
        max_records="1000000",
        choose_inside_folds=True,
        publish=True,
    )
    request, _, faults = classification_request_from_proto(asked)
    assert faults == []
    classifiers = (Classifier.RANDOM_FOREST, Classifier.NAIVE_BAYES)
    assert request == ClassificationRequest(3, ("ill",), ("age",), classifiers, 2, 2**32 - 1, 1_000_000, True, True)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (v1.ClassificationRequest(), ["release", "classes"]),
        (message(release="3"), ["release"]),
        (message(classes=[""]), ["classes[0]"]),
        (message(classes=["ill", "ILL"], features=["age", "Ill"]), ["classes[1]", "features[1]"]),
        (message(classes=[f"c{i}" for i in range(21)]), ["classes"]),
        (message(features=[f"c{i}" for i in range(201)]), ["features"]),
        (message(classifiers=[1, 9]), ["classifiers[1]"]),
        (message(classifiers=[1, 2, 1]), ["classifiers[2]"]),
        (message(folds=1), ["folds"]),
        (message(folds=101), ["folds"]),
        (message(seed=-1), ["seed"]),
        (message(seed=2**32), ["seed"]),
        (message(max_records=1), ["max_records"]),
        (message(max_records=1_000_001), ["max_records"]),
    ],
)
def test_bad_requests_say_where(asked: v1.ClassificationRequest, expected: list[str]) -> None:
    request, _, faults = classification_request_from_proto(asked)
    assert request is None
    assert [fault.field for fault in faults] == expected


def test_what_was_found() -> None:
    stored = classification()
    found = classification_to_proto(stored)
    assert (found.name, found.job, found.release) == ("classifications/2", "jobs/4", "releases/3")
    assert (found.records, found.sampled_records, found.suppressed_records) == (2**40, 50_000, 12)
    assert found.request == json_format.Parse(REQUEST, v1.ClassificationRequest())
    first, second = found.assessments
    assert list(first.labels) == ["no", "ye\x1bs"]
    assert [c.classifier for c in first.comparisons] == [v1.CLASSIFIER_NAIVE_BAYES, v1.CLASSIFIER_RANDOM_FOREST]
    assert [c.relative_accuracy if c.HasField("relative_accuracy") else None for c in first.comparisons] == [0.5, None]
    no, yes = first.comparisons[0].anonymized.classes
    assert (no.precision, no.recall, no.auc, list(no.predicted)) == (0.5, 0.25, 0.625, [5, 7])
    assert [(point.false_positive_rate, point.true_positive_rate) for point in no.roc] == [(0, 0), (0.25, 0.5), (1, 1)]
    assert (yes.HasField("precision"), yes.HasField("auc"), list(yes.predicted)) == (False, False, [2**40, 3])
    assert (second.baseline.accuracy, list(second.comparisons)) == (0.25, [])
