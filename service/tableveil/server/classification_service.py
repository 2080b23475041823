"""Classifier assessments over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import (
    classification_to_proto,
    result_number,
)
from tableveil.lookups import Results
from tableveil.runtime import JobManager
from tableveil.server.caller import control_of
from tableveil.server.paging import page_of_numbered
from tableveil.server.submissions import submit
from tableveil.state.classifications import Classification
from tableveil.state.jobs import JobKind
from tableveil.v1 import classification_service_pb2 as v1
from tableveil.v1 import classification_service_pb2_grpc


class ClassificationService(classification_service_pb2_grpc.ClassificationServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, jobs: JobManager, classifications: Results[Classification]) -> None:
        self._jobs = jobs
        self._classifications = classifications

    def AssessClassifiers(  # noqa: N802
        self, request: v1.AssessClassifiersRequest, context: grpc.ServicerContext
    ) -> v1.AssessClassifiersResponse:
        """The message is kept as the job's document."""
        return v1.AssessClassifiersResponse(job=submit(self._jobs, request, control_of(context)))

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
