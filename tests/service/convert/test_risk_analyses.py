"""Requests of risk analyses from messages, and their results as messages."""

import json
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import json_format

from tableveil.convert.risk_analyses import risk_analysis_to_proto, risk_request_from_proto
from tableveil.policy import DEFAULT_RISK_THRESHOLDS, Population, TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.v1 import risk_service_pb2
from tests.service.risk_samples import REQUEST, risk_analysis


def message(**document: Any) -> risk_service_pb2.RiskRequest:
    asked = {"table": {"table": "people"}, "quasi_identifiers": ["age", "sex"], **document}
    return json_format.ParseDict(asked, risk_service_pb2.RiskRequest())


def fields(asked: risk_service_pb2.RiskRequest) -> list[str]:
    request, _, faults = risk_request_from_proto(asked)
    assert request is None
    return [fault.field for fault in faults]


def test_what_is_asked() -> None:
    request, document, faults = risk_request_from_proto(message())
    assert faults == []
    assert request == RiskRequest(TableReference("", "main", "people"), None, ("age", "sex"))
    assert request.thresholds == DEFAULT_RISK_THRESHOLDS
    assert json_format.Parse(document, risk_service_pb2.RiskRequest()) == message()


def test_everything_that_can_be_asked() -> None:
    asked = risk_service_pb2.RiskRequest(
        release="releases/3",
        thresholds=["0.10", "0.5"],
        weight_column="weight",
        largest_subset=4,
        records=True,
        compare=[risk_service_pb2.QuasiIdentifierSet(columns=names) for names in (["age"], ["age", "sex"])],
    )
    asked.population.table.table = "everybody"
    asked.population.sampling_fraction = "0.01"
    request, document, faults = risk_request_from_proto(asked)
    assert faults == []
    population = Population(TableReference("", "main", "everybody"), sampling_fraction=Decimal("0.01"))
    thresholds = (Decimal("0.10"), Decimal("0.5"))
    assert request == RiskRequest(None, 3, (), population, thresholds, "weight", 4, True, (("age",), ("age", "sex")))
    assert request.columns == ("age", "sex")
    assert json.loads(document)["release"] == "releases/3"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (risk_service_pb2.RiskRequest(), ["table"]),
        (risk_service_pb2.RiskRequest(release="3"), ["release"]),
        (message(table={}), ["table.table"]),
        (
            message(quasi_identifiers=[], compare=[{"columns": ["age", "AGE", ""]}, {}]),
            ["compare[0].columns[1]", "compare[0].columns[2]", "compare[1].columns"],
        ),
        (message(compare=[{"columns": ["sex"]}, {"columns": ["sex", "zip"]}]), ["compare[1].columns[1]"]),
        (message(compare=[{"columns": ["sex"]}] * 101), ["compare"]),
        (message(quasi_identifiers=[], compare=[{"columns": [f"q{i}" for i in range(201)]}]), ["compare"]),
        (message(quasi_identifiers=["age", "", "AGE"]), ["quasi_identifiers[1]", "quasi_identifiers[2]"]),
        (message(quasi_identifiers=[f"q{i}" for i in range(201)]), ["quasi_identifiers"]),
        (
            message(thresholds=["0", "1", "-1", "x", "0.5", "0.50", ""]),
            [f"thresholds[{i}]" for i in (3, 6, 0, 1, 2, 5)],
        ),
        (message(largest_subset=-1), ["largest_subset"]),
        (message(weight_column="sex"), ["weight_column"]),
        (message(person_column="SEX"), ["person_column"]),
        (risk_service_pb2.RiskRequest(release="releases/3", person_column="id"), ["person_column"]),
        (message(population={}), ["population"]),
        (message(population={"size": "0"}), ["population.size"]),
        (message(population={"sampling_fraction": "1.1"}), ["population.sampling_fraction"]),
        (message(population={"sampling_fraction": "x"}), ["population.sampling_fraction"]),
    ],
)
def test_bad_requests_say_where(asked: risk_service_pb2.RiskRequest, expected: list[str]) -> None:
    assert fields(asked) == expected


def test_what_was_found() -> None:
    stored = risk_analysis()
    found = risk_analysis_to_proto(stored)
    assert (found.name, found.job, found.population_size) == ("riskAnalyses/2", "jobs/4", 2**41)
    assert found.request == json_format.Parse(REQUEST, risk_service_pb2.RiskRequest())
    assert [(m.model, m.measure, m.threshold, m.value if m.HasField("value") else None) for m in found.measures] == [
        (m.model, m.measure, m.threshold or "", m.value) for m in stored.measures
    ]
    assert [(*r.columns, r.distinction, r.separation, r.unique_records, r.minimal_unique_records)
            for r in found.attribute_risks] == [
        (*s.columns, s.distinction, s.separation, s.unique_records, s.minimal_unique_records) for s in stored.subsets
    ]  # fmt: skip
    assert [list(proposal.columns) for proposal in found.proposals] == [["age", 'z"ip'], ["age"]]
    assert list(found.warnings) == ["é", "w"]
    assert [(list(c.columns), c.classes, len(c.measures)) for c in found.compared] == [
        (["age"], 7, 2),
        (['z"ip'], 8, 1),
    ]


def test_quasi_identifiers_may_be_left_to_guessing() -> None:
    request, _, faults = risk_request_from_proto(message(quasi_identifiers=[]))
    assert faults == []
    assert request is not None
    assert request.columns == ()
