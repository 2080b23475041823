"""A risk analysis as the store has it, for tests of what is made of one."""

from datetime import datetime

from tableveil.policy import TableReference
from tableveil.state.risk_analyses import ComparedRisk, Measure, RiskAnalysis, SubsetRisk

REQUEST = '{"quasi_identifiers":["age","z\\"ip"],"table":{"schema":"main","table":"people"}}'


def risk_analysis(number: int = 2, job: int = 4) -> RiskAnalysis:
    return RiskAnalysis(
        number=number,
        job=job,
        created_at=datetime(2024, 2, 29, 12, 30, 15, 123456),
        source=TableReference("clinic", "main", 'it"s; a table'),
        source_fingerprint="abc",
        quasi_identifiers=("age", 'z"ip'),
        records=2**40,
        classes=3,
        population_size=2**41,
        largest_subset=2,
        has_record_risks=False,
        seconds=1.5,
        warnings=("é", "w"),
        request=REQUEST,
        measures=(
            Measure("prosecutor", "highest_risk", None, 0.1),
            Measure("prosecutor", "records_above_threshold", "0.05", 7.0),
            Measure("population (snb)", "uniqueness", None, None),
        ),
        subsets=(
            SubsetRisk(("age",), 0.25, 0.5, 1, 1, True),
            SubsetRisk(('z"ip',), 0.125, 0.25, 2**40, 0, False),
            SubsetRisk(("age", 'z"ip'), 0.75, 0.5, 3, 2, True),
        ),
        compared=(
            ComparedRisk(
                ("age",), (Measure("population (snb)", "classes", None, None), Measure("sample", "classes", None, 7.0))
            ),
            ComparedRisk(('z"ip',), (Measure("sample", "classes", None, 8.0),)),
        ),
    )
