"""Classifier assessments over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import (
    classification_request_from_proto,
    classification_to_proto,
    job_to_proto,
    result_number,
    stored_policy,
)
from tableveil.errors import InvalidError
from tableveil.lookups import Classifications
from tableveil.pipelines.work import ClassificationWork
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.server.paging import page_of_numbered
from tableveil.state.jobs import JobKind
from tableveil.v1 import classification_service_pb2 as v1
from tableveil.v1 import classification_service_pb2_grpc


class ClassificationService(classification_service_pb2_grpc.ClassificationServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, classifications: Classifications) -> None:
        self._jobs = jobs
        self._classifications = classifications

    def AssessClassifiers(  # noqa: N802
        self, request: v1.AssessClassifiersRequest, context: grpc.ServicerContext
    ) -> v1.AssessClassifiersResponse:
        """The message is kept as the job's document."""
        asked, document, faults = classification_request_from_proto(request.classification)
        if asked is None:
            raise InvalidError.about("CLASSIFICATION_INVALID", "classifiers cannot be assessed as asked", faults)
        job = self._jobs.submit(ClassificationWork(asked, document, stored_policy), control_of(context))
        return v1.AssessClassifiersResponse(job=job_to_proto(job))

    def GetClassification(  # noqa: N802
        self, request: v1.GetClassificationRequest, context: grpc.ServicerContext
    ) -> v1.GetClassificationResponse:
        """One assessment, with its curves."""
        found = self._classifications.get(result_number(JobKind.CLASSIFICATION, request.name))
        return v1.GetClassificationResponse(classification=classification_to_proto(found))

    def ListClassifications(  # noqa: N802
        self, request: v1.ListClassificationsRequest, context: grpc.ServicerContext
    ) -> v1.ListClassificationsResponse:
        """A page of assessments, without their curves."""
        found, token = page_of_numbered("classifications", request, self._classifications.page, classification_to_proto)
        return v1.ListClassificationsResponse(classifications=found, next_page_token=token)
