"""One job from request to risk analysis: read, count every combination of values, measure, store the result."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import WarehouseSession, table
from tableveil.control import Control
from tableveil.counting import (
    CountedFrequencies,
    count_frequencies,
    count_people,
    owned_classes,
    weight_facts,
    write_frequencies,
)
from tableveil.errors import Fault, Warned, shortened
from tableveil.pipelines import risk_measures
from tableveil.pipelines.privacy import check_size, people_in
from tableveil.pipelines.reached import reached, reached_by_release, saying_something
from tableveil.pipelines.released_rows import PolicyOf, current_release
from tableveil.pipelines.risk_subject import beside_events, resolve_subject, unfit, with_guessed
from tableveil.pipelines.work import JobContext, Work, store_result
from tableveil.policy import UniquenessEstimator
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.risk import (
    Frequencies,
    PopulationEstimates,
    SubsetRisks,
    check_people,
    check_weights,
    class_sizes_by,
    default_size,
    individual_risk,
    individual_risks,
    people_risk,
    population_estimates,
    reidentification_risk,
    subset_risks,
)
from tableveil.source import Analyzed, check_membership, fingerprint
from tableveil.source.collectible import check_collectible
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import jobs, risk_analyses
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.migrate import fingerprint_key
from tableveil.state.risk_analyses import RISK_ANALYSES, ComparedRisk, Measure, SubsetRisk


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
            risk_measures.compared_of_people(
                people_risk(owned_classes(session, analyzed, [by_name[name] for name in names]), request.thresholds)
            ),
        )
        for names in request.compare
    )
    return risk.records, risk.classes, tuple(risk_measures.people_measures(risk)), compared


OF_RECORDS = Warned(
    "People have several records. The prosecutor's risk is the largest share that one person has of a record's class, "
    "and 1 / its people stands beside it. The journalist's and the marketer's risk, estimates of a population, subsets "
    "of columns and special uniques take every record for another person: they are left out.",
    field="person_column",
)
"""The warning of an analysis of people with several records."""


MOST_PEOPLE = 10**15
"""More people than ever lived; whole numbers up to it are exact as floating-point ones."""

_NAMES = {UniquenessEstimator.PITMAN: "Pitman", UniquenessEstimator.ZAYATZ: "Zayatz", UniquenessEstimator.SNB: "SNB"}


@dataclass(frozen=True, slots=True)
class _Measured:
    measures: tuple[Measure, ...]
    subsets: SubsetRisks
    estimates: PopulationEstimates | None


@dataclass(frozen=True, slots=True)
class _Result:
    """The numbers of an analysis; `write` writes the risks of each combination of values to a table, if asked for."""

    records: int
    classes: int
    measures: tuple[Measure, ...]
    compared: tuple[ComparedRisk, ...]
    warnings: tuple[Warned, ...]
    population: int | None = None
    largest_subset: int = 0
    subsets: tuple[SubsetRisk, ...] = ()
    write: Callable[[exp.Table], None] | None = None


def run_risk_analysis(job: JobContext, request: RiskRequest, policy_of: PolicyOf) -> int:
    """Stores a risk analysis and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    session, report = job.rows, job.report
    report.phase(JobPhase.READING)
    # One transaction, so that all reads see one state of the rows.
    with session.reading():
        request, guess = with_guessed(session, request)
        shown, analyzed = resolve_subject(session, request, policy_of)
        request, starred = saying_something(session, request, analyzed)
        if starred:
            analyzed = resolve_subject(session, request, policy_of)[1]
        of_events = beside_events(session, request, policy_of)
        mark = fingerprint(session, analyzed.source, fingerprint_key(session.ledger))
        faults = check_membership(session, analyzed.source, request.person_column)
        faults += check_weights("weight_column", weight_facts(session, analyzed))
        owners, misfit = check_owners(session, request, analyzed)
        if faults := [*faults, *misfit]:
            raise unfit(faults)
        check_collectible(session, analyzed.source, [column.name for column in analyzed.quasi_identifiers])
        report.phase(JobPhase.COUNTING)
        of_values = () if request.release is not None else tuple(reached(session, analyzed, request.sensitive))
        counted = _of_people(session, request, analyzed) if owners else count_frequencies(session, analyzed)
    columns = tuple(column.name for column in analyzed.quasi_identifiers)
    read_result = counted if isinstance(counted, _Result) else _of_records(job, request, shown.table, counted, columns)
    if request.release is not None and request.sensitive:
        of_values = tuple(reached_by_release(current_release(session, request.release), request.sensitive))
    warnings = (*of_events, *guess, *_starred(starred), *read_result.warnings)

    def result(number: int) -> risk_analyses.RiskAnalysis:
        if read_result.write is not None:
            read_result.write(table(risk_analyses.record_risks_table(number), STATE_SCHEMA))
        return risk_analyses.RiskAnalysis(
            number=number,
            job=job.number,
            created_at=jobs.now(),
            source=shown,
            source_fingerprint=mark,
            quasi_identifiers=columns,
            records=read_result.records,
            classes=read_result.classes,
            population_size=read_result.population,
            largest_subset=read_result.largest_subset,
            has_record_risks=read_result.write is not None,
            seconds=report.elapsed(),
            warnings=warnings,
            request=job.document,
            measures=(*read_result.measures, *of_values),
            subsets=read_result.subsets,
            compared=read_result.compared,
        )

    return store_result(job, RISK_ANALYSES, result, warnings)


def _starred(rows: int) -> tuple[Warned, ...]:
    if not rows:
        return ()
    are = "row is * in all of the columns: it" if rows == 1 else "rows are * in all of the columns: they"
    does = f"say{'s' * (rows == 1)} nothing, as suppressed records do, and no figure here counts them."
    return (Warned(f"{rows:,} {are} {does}", count_of=rows),)


def _of_people(session: WarehouseSession, request: RiskRequest, analyzed: Analyzed) -> _Result:
    records, classes, measures, compared = of_people(session, request, analyzed)
    return _Result(records, classes, measures, compared, (OF_RECORDS,))


def _of_records(
    job: JobContext, request: RiskRequest, name: str, counted: CountedFrequencies, columns: tuple[str, ...]
) -> _Result:
    frequencies, rows = counted.frequencies, counted.population_records
    if faults := _check_rows(request, name, frequencies, rows):
        raise unfit(faults)
    population = people_in(request.population, frequencies.total, rows)
    job.report.phase(JobPhase.SEARCHING)
    measured = _measured(job.control, request, frequencies, population)

    def write(target: exp.Table) -> None:
        write_frequencies(job.session, target, counted, _of_each(frequencies, measured.subsets))

    return _Result(
        records=frequencies.total,
        classes=len(frequencies.records),
        measures=measured.measures,
        compared=tuple(_compared(request, frequencies, columns, names, population) for names in request.compare),
        warnings=_warnings(request, counted, population, measured),
        population=population,
        largest_subset=measured.subsets.size,
        subsets=risk_measures.subset_rows(measured.subsets, columns),
        write=write if request.records else None,
    )


def risk_analysis_work(request: RiskRequest, document: str, policy_of: PolicyOf) -> Work:
    """The work for a risk analysis; the document is the request, `policy_of` reads the policy of its release."""
    return Work(
        kind=JobKind.RISK_ANALYSIS,
        document=document,
        admit=lambda session: resolve_subject(session, request, policy_of)[0],
        run=lambda job: run_risk_analysis(job, request, policy_of),
        release=request.release,
        population=request.population,
        source_query=request.source_query,
        catalog=request.table.catalog if request.table is not None else "",
    )


def _check_rows(request: RiskRequest, name: str, frequencies: Frequencies, rows: int | None) -> list[Fault]:
    if not frequencies.total:
        field = "source_query" if request.source_query else "table" if request.release is None else "release"
        actual = shortened(name) if name else "the source query"
        return [Fault(field, f"{actual}, which has no records", "at least one record")]
    faults = check_size(request.population, frequencies.total, rows)
    people = people_in(request.population, frequencies.total, rows)
    if people is not None and people > MOST_PEOPLE:
        field = "population.size" if request.population and request.population.size else "population.sampling_fraction"
        faults.append(Fault(field, f"a population of {people:.1e} people", f"at most {MOST_PEOPLE:.1e}"))
    return faults or list(check_people(frequencies))


def _measured(control: Control, request: RiskRequest, frequencies: Frequencies, population: int | None) -> _Measured:
    """All measures; after each it checks whether the job has to stop."""
    stop = control.raise_if_stopped
    measures = risk_measures.reidentification_measures(reidentification_risk(frequencies, request.thresholds))
    stop()
    sizes, estimates = frequencies.sizes, None
    if population is not None:
        estimates = population_estimates(sizes, population)
        measures += risk_measures.population_measures(estimates)
        stop()
    if frequencies.weights is not None:
        measures += risk_measures.individual_measures(individual_risk(frequencies, request.thresholds))
        stop()
    attributes = len(frequencies.values)
    size = request.largest_subset or default_size(attributes, len(frequencies.records))
    subsets = subset_risks(frequencies, min(size, attributes), stop)
    fraction = frequencies.total / population if population else None
    measures += risk_measures.special_measures(subsets, sizes, fraction)
    return _Measured(tuple(measures), subsets, estimates)


def _compared(
    request: RiskRequest, frequencies: Frequencies, columns: tuple[str, ...], names: tuple[str, ...], people: int | None
) -> ComparedRisk:
    sizes = class_sizes_by(frequencies, [columns.index(name) for name in names])
    return ComparedRisk(names, risk_measures.compared_measures(sizes, request.thresholds, people))


def _of_each(frequencies: Frequencies, subsets: SubsetRisks) -> dict[str, NDArray[Any]]:
    """The risks of the records of each combination, by the name of their column."""
    measures: dict[str, NDArray[Any]] = {"records": frequencies.records, "prosecutor_risk": 1 / frequencies.records}
    if frequencies.people is not None:
        measures["journalist_risk"] = 1 / frequencies.people
    if frequencies.weights is not None:
        measures["individual_risk"] = individual_risks(frequencies.records, frequencies.weights)
    measures["special_uniques_score"] = subsets.special.scores
    measures["smallest_minimal_unique"] = subsets.special.smallest
    return measures


def _warnings(
    request: RiskRequest, counted: CountedFrequencies, population: int | None, measured: _Measured
) -> tuple[Warned, ...]:
    warnings = list[Warned]()
    rows = counted.population_records
    if rows is None:
        text = (
            "There are no rows of a population: the journalist's and the marketer's risks are the prosecutor's, which "
            "they cannot exceed. Name population.table to count them."
        )
        warnings.append(Warned(text, field="population.table"))
    elif population != rows:
        text = (
            f"The population has {rows} rows, and is said to be {population} people: the journalist's risk is counted "
            "in the rows, uniqueness is estimated for the people."
        )
        warnings.append(Warned(text, count_of=rows, field="population.size"))
    if measured.estimates is None:
        text = (
            "It is not known how many people the population has: its unique people are not estimated. Give "
            "population.size or population.sampling_fraction."
        )
        warnings.append(Warned(text, field="population.size"))
    else:
        shares = measured.estimates.uniqueness
        missing = [_NAMES[name] for name, share in shares.items() if share is None and name in _NAMES]
        if missing:
            estimators = " and ".join(missing)
            text = f"For such a sample there is no estimate of the population's unique people by {estimators}."
            warnings.append(Warned(text, field="population.size"))
    size, attributes = measured.subsets.size, len(counted.values)
    if size < attributes and request.largest_subset is None:
        text = (
            f"Subsets of more than {size} of the {attributes} columns were not looked at: records that are unique only "
            "with more of them are no special uniques here. Set largest_subset to look at more."
        )
        warnings.append(Warned(text, field="largest_subset"))
    return tuple(warnings)
