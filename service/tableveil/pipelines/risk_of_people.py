"""The part of a risk analysis that is of people who have several records each; see docs/explanations/risk.md."""

from collections.abc import Iterator

from tableveil.backend import WarehouseSession
from tableveil.counting import count_people, owned_classes
from tableveil.errors import Fault, Warned, shortened
from tableveil.pipelines.risk_measures import compared_of_people, people_measures
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.risk import people_risk
from tableveil.source import Analyzed
from tableveil.state.risk_analyses import ComparedRisk, Measure


def check_owners(session: WarehouseSession, request: RiskRequest, analyzed: Analyzed) -> tuple[bool, list[Fault]]:
    """Whether people have several records; and the faults of what takes every record for another person then."""
    if analyzed.person is None:
        return False, []
    records, without, people = count_people(session, analyzed)
    if without:
        actual = f"{without:,} records without a value in {shortened(analyzed.person.name)}"
        hint = "Leave them out by a query, or give them one."
        return False, [Fault("person_column", actual, "a person for every record", hint)]
    if people == records:
        return False, []
    return True, list(_check_counts_records(request, f"although {people:,} people have {records:,} records"))


def _check_counts_records(request: RiskRequest, actual: str) -> Iterator[Fault]:
    hint = "Leave it out, or leave person_column out, and analyze a query that has one row of each person."
    for field, given in (
        ("population", request.population is not None),
        ("weight_column", bool(request.weight_column)),
        ("largest_subset", request.largest_subset is not None),
        ("records", request.records),
    ):
        if given:
            yield Fault(field, f"{field}, which takes every record for another person, {actual}", "none", hint)


def of_people(
    session: WarehouseSession, request: RiskRequest, analyzed: Analyzed
) -> tuple[int, int, tuple[Measure, ...], tuple[ComparedRisk, ...]]:
    """The numbers of records and classes, the measures, and those of the sets that are compared."""
    risk = people_risk(owned_classes(session, analyzed, analyzed.quasi_identifiers), request.thresholds)
    by_name = {source_column.name: source_column for source_column in analyzed.quasi_identifiers}
    compared = tuple(
        ComparedRisk(
            names,
            compared_of_people(
                people_risk(owned_classes(session, analyzed, [by_name[name] for name in names]), request.thresholds)
            ),
        )
        for names in request.compare
    )
    return risk.records, risk.classes, tuple(people_measures(risk)), compared


OF_RECORDS = Warned(
    "People have several records. The prosecutor's risk is the largest share that one person has of a record's class, "
    "and 1 / its people stands beside it. The journalist's and the marketer's risk, estimates of a population, subsets "
    "of columns and special uniques take every record for another person: they are left out.",
    field="person_column",
)
"""The warning of an analysis of people with several records."""
