"""The store of risk analyses, which are the owner's: they tell who of the source could be recognized."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from tableveil.backend import Session
from tableveil.policy import TableReference
from tableveil.state.rows import insert_rows


@dataclass(frozen=True, slots=True)
class Measure:
    """One number; `value` None says that there is none, `threshold` that records above it are counted."""

    model: str
    measure: str
    threshold: str | None
    value: float | None


@dataclass(frozen=True, slots=True)
class SubsetRisk:
    """What some of the columns tell apart; `proposed` as a guess of what identifies people. See `AttributeRisk`."""

    columns: tuple[str, ...]
    distinction: float
    separation: float
    unique_records: int
    minimal_unique_records: int
    proposed: bool


@dataclass(frozen=True, slots=True)
class ComparedRisk:
    """The measures of one of several sets of columns that are put side by side."""

    columns: tuple[str, ...]
    measures: tuple[Measure, ...]

    @property
    def classes(self) -> int:
        """Distinct combinations of the columns' values."""
        counted = ("sample", "classes")
        return next(int(found.value or 0) for found in self.measures if (found.model, found.measure) == counted)


@dataclass(frozen=True, slots=True)
class RiskAnalysis:
    """A risk analysis; `request` is what was asked for as JSON, `seconds` are those from the job's start."""

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    quasi_identifiers: tuple[str, ...]
    records: int
    classes: int
    population_size: int | None
    largest_subset: int
    has_record_risks: bool
    seconds: float
    warnings: tuple[str, ...]
    request: str
    measures: tuple[Measure, ...]
    subsets: tuple[SubsetRisk, ...]
    compared: tuple[ComparedRisk, ...] = ()

    @property
    def proposals(self) -> list[SubsetRisk]:
        """The proposed subsets, most telling first."""
        proposed = [subset for subset in self.subsets if subset.proposed]
        return sorted(proposed, key=lambda subset: (-subset.distinction, -subset.separation))

    @property
    def record_risks(self) -> str:
        """Name of the table of the risks of each combination, in the state's schema, if there is one."""
        return record_risks_table(self.number)


def record_risks_table(number: int) -> str:
    """Name of the table of the risks of each combination of values for the analysis of that number."""
    return f"record_risks_{number}"


def next_number(session: Session) -> int:
    """A number no analysis has."""
    number: int = session.value("SELECT nextval('tableveil.risk_analysis_numbers')")
    return number


def insert(session: Session, analysis: RiskAnalysis) -> None:
    """Stores an analysis; call it in a transaction."""
    session.execute(
        "INSERT INTO tableveil.risk_analyses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            analysis.number,
            analysis.job,
            analysis.created_at,
            analysis.source.catalog,
            analysis.source.schema,
            analysis.source.table,
            analysis.source_fingerprint,
            list(analysis.quasi_identifiers),
            analysis.records,
            analysis.classes,
            analysis.population_size,
            analysis.largest_subset,
            analysis.has_record_risks,
            analysis.seconds,
            list(analysis.warnings),
            analysis.request,
        ],
    )
    insert_rows(
        session,
        "risk_measures",
        [(analysis.number, i, m.model, m.measure, m.threshold, m.value) for i, m in enumerate(analysis.measures)],
    )
    insert_rows(
        session,
        "attribute_risks",
        [
            (
                analysis.number,
                i,
                list(subset.columns),
                subset.distinction,
                subset.separation,
                subset.unique_records,
                subset.minimal_unique_records,
                subset.proposed,
            )
            for i, subset in enumerate(analysis.subsets)
        ],
    )
    insert_rows(
        session,
        "compared_risks",
        [
            (analysis.number, i, list(compared.columns), j, m.model, m.measure, m.threshold, m.value)
            for i, compared in enumerate(analysis.compared)
            for j, m in enumerate(compared.measures)
        ],
    )


def find(session: Session, number: int) -> RiskAnalysis | None:
    """The analysis of that number."""
    rows = session.rows(
        "SELECT number, job, created_at, source_catalog, source_schema, source_table, source_fingerprint, "
        "quasi_identifiers, records, classes, population_size, largest_subset, has_record_risks, seconds, warnings, "
        "request FROM tableveil.risk_analyses WHERE number = ?",
        [number],
    )
    return _analysis(session, *rows[0]) if rows else None


def _analysis(
    session: Session,
    number: int,
    job: int,
    created_at: datetime,
    catalog: str,
    schema: str,
    name: str,
    fingerprint: str,
    quasi_identifiers: list[str],
    records: int,
    classes: int,
    population_size: int | None,
    largest_subset: int,
    has_record_risks: bool,
    seconds: float,
    warnings: list[str],
    request: str,
) -> RiskAnalysis:
    measures = session.rows(
        "SELECT model, measure, threshold, value FROM tableveil.risk_measures WHERE analysis = ? ORDER BY position",
        [number],
    )
    subsets = session.rows(
        "SELECT columns, distinction, separation, unique_records, minimal_unique_records, proposed "
        "FROM tableveil.attribute_risks WHERE analysis = ? ORDER BY position",
        [number],
    )
    return RiskAnalysis(
        number=number,
        job=job,
        created_at=created_at,
        source=TableReference(catalog, schema, name),
        source_fingerprint=fingerprint,
        quasi_identifiers=tuple(quasi_identifiers),
        records=records,
        classes=classes,
        population_size=population_size,
        largest_subset=largest_subset,
        has_record_risks=has_record_risks,
        seconds=seconds,
        warnings=tuple(warnings),
        request=request,
        measures=tuple(Measure(*row) for row in measures),
        subsets=tuple(SubsetRisk(tuple(columns), *rest) for columns, *rest in subsets),
        compared=_compared(session, number),
    )


def _compared(session: Session, number: int) -> tuple[ComparedRisk, ...]:
    rows = session.rows(
        "SELECT compared, columns, model, measure, threshold, value FROM tableveil.compared_risks "
        "WHERE analysis = ? ORDER BY compared, position",
        [number],
    )
    found = []
    for _, of_one in groupby(rows, key=lambda row: row[0]):
        own = list(of_one)
        found.append(ComparedRisk(tuple(own[0][1]), tuple(Measure(*measure) for _, _, *measure in own)))
    return tuple(found)
