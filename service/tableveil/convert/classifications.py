"""Classifier assessments: requests from messages, and results as messages."""

import itertools

from google.protobuf import json_format

from tableveil.classification.model import Assessment, ClassifierComparison, Measures
from tableveil.convert.collect import Faults
from tableveil.convert.copied import copied, result_to_proto
from tableveil.convert.enums import CLASSIFIERS
from tableveil.convert.names import Read, Submission, canonical_json, release_name
from tableveil.convert.policy_from_proto import stored_policy
from tableveil.errors import Fault
from tableveil.pipelines.classification import classification_work
from tableveil.requests.classification import (
    DEFAULT_FOLDS,
    DEFAULT_MAX_RECORDS,
    ClassificationRequest,
    Classifier,
    check_classification_request,
)
from tableveil.state.classifications import Classification
from tableveil.state.jobs import JobKind
from tableveil.state.seen import Audience
from tableveil.v1 import classification_service_pb2 as v1


def classification_request_from_proto(
    message: v1.ClassificationRequest,
) -> tuple[ClassificationRequest | None, str, list[Fault]]:
    """The request, None if there are faults; its document; and all faults."""
    faults = Faults()
    request = ClassificationRequest(
        release=faults.release(message.release, "release") if message.release else None,
        classes=tuple(message.classes),
        features=tuple(message.features),
        classifiers=_classifiers(message, faults),
        folds=message.folds or DEFAULT_FOLDS,
        seed=message.seed,
        max_records=message.max_records or DEFAULT_MAX_RECORDS,
        choose_inside_folds=message.choose_inside_folds,
        publish=message.publish,
    )
    faults.judged(check_classification_request(request))
    read_faults = faults.all()
    return (None if read_faults else request), canonical_json(message), read_faults


def _classifiers(message: v1.ClassificationRequest, faults: Faults) -> tuple[Classifier, ...]:
    if not message.classifiers:
        return tuple(Classifier)
    classifiers = []
    for i, number in enumerate(message.classifiers):
        classifier = CLASSIFIERS.from_proto(number)
        if classifier is None:
            faults.add_enum(f"classifiers[{i}]", number, CLASSIFIERS)
        else:
            classifiers.append(classifier)
    return tuple(classifiers)


def classification_to_proto(classification: Classification) -> v1.ClassificationReport:
    """The message for a classifier assessment; reviewers are not told the values of class columns."""
    message = result_to_proto(
        JobKind.CLASSIFICATION,
        classification,
        v1.ClassificationReport,
        release=release_name(classification.release),
        assessments=map(_assessment, classification.assessments),
        request=json_format.Parse(classification.request, v1.ClassificationRequest()),
    )
    if classification.audience is not Audience.OWNER:
        for assessment in message.assessments:
            assessment.ClearField("labels")
            compared = ((one.original, one.anonymized) for one in assessment.comparisons)
            for measures in (assessment.baseline, *itertools.chain.from_iterable(compared)):
                measures.ClearField("classes")
    return message


def _assessment(assessment: Assessment) -> v1.ClassAssessment:
    return copied(
        assessment,
        v1.ClassAssessment,
        labels=assessment.class_labels,
        baseline=_measures(assessment.baseline),
        comparisons=map(_comparison, assessment.comparisons),
    )


def _comparison(comparison: ClassifierComparison) -> v1.ClassifierComparison:
    original, anonymized = _measures(comparison.original), _measures(comparison.anonymized)
    return copied(comparison, v1.ClassifierComparison, original=original, anonymized=anonymized)


def _measures(measures: Measures) -> v1.ClassifierMeasures:
    return v1.ClassifierMeasures(
        accuracy=measures.accuracy,
        brier=measures.brier,
        classes=[
            copied(
                one,
                v1.ClassMeasures,
                predicted=predicted,
                roc=[v1.RocPoint(false_positive_rate=false, true_positive_rate=true) for false, true in one.roc],
            )
            for one, predicted in zip(measures.classes, measures.confusion, strict=True)
        ],
    )


def _read(request: v1.AssessClassifiersRequest) -> Read:
    asked, document, faults = classification_request_from_proto(request.classification)
    return Read(classification_work(asked, document, stored_policy) if asked else None, faults)


SUBMISSION = Submission(
    request=v1.AssessClassifiersRequest,
    document="classification",
    read=_read,
    code="CLASSIFICATION_INVALID",
    refusal="classifiers cannot be assessed as asked",
    to_proto=classification_to_proto,
)
