"""One job from a release to its utility report: compares every column with the source's, and their associations."""

from collections.abc import Iterator, Sequence

from tableveil.backend import Session, WarehouseSession
from tableveil.control import Progress
from tableveil.dictionary import build_dictionary
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import listed, shortened
from tableveil.hierarchy import ValueKind
from tableveil.pipelines.assessed_release import hierarchies_then
from tableveil.pipelines.released_rows import PolicyOf, current_release, rows_of, source_of
from tableveil.pipelines.work import JobContext, Work, store_result
from tableveil.policy import Policy, Role
from tableveil.source import columns_of
from tableveil.source.model import Column
from tableveil.state import jobs, utility_reports
from tableveil.state.jobs import JobKind, JobPhase
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.releases import Release
from tableveil.state.utility_reports import UTILITY_REPORTS
from tableveil.usefulness import ColumnUtility, MovedRate, UtilityReport
from tableveil.utility import (
    MOST_ASSOCIATED,
    MOST_ROWS,
    Compared,
    Labelled,
    Sides,
    associations,
    collected_sides,
    moved_rates,
    spreads,
)


def run_utility_report(job: JobContext, number: int, policy_of: PolicyOf) -> int:
    """Stores a report and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    session, rows, report = job.session, job.rows, job.report
    report.phase(JobPhase.READING)
    # One transaction, so that all reads see one state of the rows.
    with session.transaction():
        release = current_release(rows, number)
        policy = policy_of(release.policy)
        sides, compared = _compared(rows, release, policy)
        sampled = MOST_ROWS
        if rows.traits.collects:
            sides, sampled = collected_sides(rows, sides, [column.name for column in compared], policy.person_column)
        report.phase(JobPhase.COUNTING)
        columns = []
        for done, column in enumerate(compared):
            columns.append(_column(session, sides, column, release, policy))
            report.on_progress(Progress(done + 1, len(compared), None, None, None))
        associated = compared[:MOST_ASSOCIATED]
        # Rates of two samples would differ by chance.
        whole = not rows.traits.collects or release.records <= sampled
        rates = _moved_rates(session, sides, associated, release, policy) if whole else ()
        notes = tuple(_notes(release, policy, compared, sampled))
        read_report = UtilityReport(tuple(columns), associations(session, sides, associated), rates, notes)

    def result(number: int) -> utility_reports.StoredUtility:
        return utility_reports.StoredUtility(
            number, job.number, jobs.now(), release.number, read_report, report.elapsed(), job.document
        )

    return store_result(job, UTILITY_REPORTS, result)


def utility_report_work(release: int, document: str, policy_of: PolicyOf) -> Work:
    """The work for a utility report; the document is the request, `policy_of` reads the policy of the release."""
    return Work(
        kind=JobKind.UTILITY_REPORT,
        document=document,
        admit=lambda session: current_release(session, release).source,
        run=lambda job: run_utility_report(job, release, policy_of),
        release=release,
    )


def _compared(session: WarehouseSession, release: Release, policy: Policy) -> tuple[Sides, list[Compared]]:
    """The rows on both sides, and the columns that both have, in the source's order."""
    source, rows = source_of(session, release, policy), rows_of(session, release, policy)
    released = {
        source_column.name: source_column
        for source_column in columns_of(session, rows.table)
        if isinstance(source_column, Column)
    }
    generalized = {attribute.column for attribute in release.attributes}
    columns = [
        Compared(column.name, column.kind, released[column.name].type, column.name in generalized)
        for column in source.columns
        # The key of related tables is a fresh one.
        if column.name in released and (policy.related is None or column.name != policy.person_column)
    ]
    return Sides(source, rows.table, rows.marker), columns


def _column(session: Session, sides: Sides, compared: Compared, release: Release, policy: Policy) -> ColumnUtility:
    before, after = spreads(session, sides, compared)
    result = next(
        (each_attribute for each_attribute in release.attributes if each_attribute.column == compared.name), None
    )
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    return ColumnUtility(
        column=compared.name,
        type=sides.source.column(compared.name).type,
        role=roles.get(compared.name, policy.default_role or Role.INSENSITIVE),
        treatment="as it is" if result is None else _treatment(result),
        loss=None if result is None else result.loss,
        squared_error=result is not None and bool(result.aggregation),
        before=before,
        after=after,
    )


def _moved_rates(
    session: Session, sides: Sides, compared: Sequence[Compared], release: Release, policy: Policy
) -> tuple[MovedRate, ...]:
    """The rates of values that moved most, of the columns whose hierarchies are as they were."""
    found, results = hierarchies_then(session, release, policy).found, {of.column: of for of in release.attributes}
    labelled, names = [], {column.name for column in compared}
    for i, attribute in enumerate(policy.attributes):
        if attribute.column not in found.keys() & results.keys() & names:
            continue
        hierarchy, reference = found[attribute.column]
        of = CodedAttribute(attribute, hierarchy, reference, i, f"attributes[{i}]")
        dictionary, _ = build_dictionary(session, sides.source, of)
        if dictionary is not None:
            result = results[attribute.column]
            labelled.append(Labelled(dictionary, [level for level, _ in result.levels] or [result.level]))
    values = [column for column in compared if column.name not in results]
    return moved_rates(session, sides, labelled, values, policy.person_column or "")


def _treatment(result: AttributeResult) -> str:
    if result.aggregation:
        return result.aggregation
    if len(result.levels) > 1:
        return f"levels {', '.join(str(level) for level, _ in result.levels)} of {result.top_level}"
    return f"level {result.level} of {result.top_level}"


def _notes(release: Release, policy: Policy, compared: list[Compared], sampled: int) -> Iterator[str]:
    if release.suppressed_records:
        yield (
            f"{release.suppressed_records:,} of {release.records:,} records are suppressed: what the release tells is "
            "of the others."
        )
    if policy.related is not None:
        names = listed([shortened(each.name) for each in policy.related.events])
        yield f"Rows of {names} are not measured here: the notes of the release tell what is left of them."
    if any(column.labelled for column in compared):
        yield "Labels of numbers and dates count as the middle of their interval, open ones as their end."
    if any(column.kind is ValueKind.TEXT for column in compared):
        yield "For text and other categories the most frequent values are shown."
    if len(compared) > MOST_ASSOCIATED:
        yield f"Associations are those of the first {MOST_ASSOCIATED} of {len(compared)} columns."
    if release.warehouse and release.records > sampled:
        yield f"The rows are in a warehouse: all figures are those of a sample of about {sampled:,} records."
    elif release.records > MOST_ROWS:
        yield f"Associations are those of a sample of {MOST_ROWS:,} records."
