"""One job from a release to its classifier assessment: rebuild it, pair it with its source, train, store."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session, WarehouseSession
from tableveil.classification import Assessment, ClassifiedRecords
from tableveil.control import Progress
from tableveil.errors import ConflictError, Fault, Warned, shortened
from tableveil.features.columns import NULL_NAME, Sample, SampledLabels, draw_sample, labels_of
from tableveil.features.figures import check_figures, write_figures
from tableveil.features.paired import Paired, pair
from tableveil.features.unpaired import RowsBeside, paired_at_random
from tableveil.lifecycle import writing
from tableveil.pipelines.assessed_release import (
    Assessed,
    check_unchanged,
    read_again,
    rebuilt_plan,
    resolve_assessed,
    unfit,
    written_rows,
)
from tableveil.pipelines.levels_inside_folds import ChosenInside
from tableveil.pipelines.read import Dictionaries
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.work import JobContext, Work, store_result
from tableveil.policy import TableReference
from tableveil.requests.classification import ClassificationRequest
from tableveil.state import classifications, jobs
from tableveil.state.classifications import CLASSIFICATIONS
from tableveil.state.jobs import JobKind, JobPhase

MOST_CLASSES = 100


@dataclass(frozen=True, slots=True)
class _Looked:
    """The assessed records with what is released of them, and per class column their classes.

    `paired` is None for a local recoding, where nobody knows whose row is whose.
    """

    sample: Sample
    classes: tuple[SampledLabels, ...]
    records: tuple[ClassifiedRecords, ...]
    paired: Paired | None = None


def run_classification(job: JobContext, request: ClassificationRequest, policy_of: PolicyOf) -> int:
    """Stores an assessment and returns its number.

    Raises:
        TableveilError: nothing was stored.
    """
    session, report = job.session, job.report
    report.phase(JobPhase.READING)
    # One transaction, so that all reads see one state of the rows.
    with session.transaction():
        assessed = resolve_assessed(session, request, policy_of)
        mark = check_unchanged(session, assessed)
        if request.publish:
            _check_approval(job, assessed.release.target_schema)
            check_figures(session, assessed.release)
        sample = draw_sample(session, assessed.source, request.max_records, request.seed)
        classes = tuple(labels_of(session, sample, name) for name in assessed.classes)
        if faults := list(_check_records(request, sample, classes)):
            raise unfit(faults)
        report.phase(JobPhase.COUNTING)
        read = read_again(session, assessed)
        if isinstance(read, Dictionaries):
            looked = _beside(session, assessed, sample, classes, read, request.seed)
    if not isinstance(read, Dictionaries):
        plan = rebuilt_plan(job, assessed, read)
        looked = _paired(assessed, sample, classes, pair(session, plan, sample, assessed.features))
    assessments = _assess(job, assessed, request, looked)
    warnings = tuple(_warnings(request, looked, assessments))

    def result(number: int) -> classifications.Classification:
        # The assessment is published only if its release still exists.
        release = resolve_assessed(session, request, policy_of).release
        published = write_figures(session, release, assessments) if request.publish else ""
        return classifications.Classification(
            number=number,
            job=job.number,
            created_at=jobs.now(),
            release=release.number,
            source=release.source,
            source_fingerprint=mark,
            records=sample.of,
            sampled_records=sample.records,
            suppressed_records=int((~looked.records[0].kept).sum()),
            folds=request.folds,
            published=published,
            seconds=report.elapsed(),
            warnings=warnings,
            request=job.document,
            assessments=assessments,
        )

    with writing(job.database, session) if request.publish else nullcontext():
        return store_result(job, CLASSIFICATIONS, result, warnings)


def classification_work(request: ClassificationRequest, document: str, policy_of: PolicyOf) -> Work:
    """The work for an assessment; the document is the request, `policy_of` reads the policy of its release."""

    def admit(rows: WarehouseSession) -> TableReference:
        session = rows.embedded
        release = resolve_assessed(session, request, policy_of).release
        if request.publish:
            check_figures(session, release)
        return release.source

    return Work(
        kind=JobKind.CLASSIFICATION,
        document=document,
        admit=admit,
        run=lambda job: run_classification(job, request, policy_of),
        release=request.release,
    )


def _check_approval(job: JobContext, schema: str) -> None:
    """Raises `ConflictError` if another person has to see first what becomes public in the schema."""
    if job.needs_approval(schema):
        raise ConflictError.of(
            "APPROVAL_NEEDED",
            "publish",
            f"a release in {shortened(schema)}, where another person approves all that is public",
            "a schema that needs no approval",
            "Ask without publish.",
        )


def _check_records(
    request: ClassificationRequest, sample: Sample, classes: tuple[SampledLabels, ...]
) -> Iterator[Fault]:
    if sample.records < request.folds:
        actual = f"{request.folds}, of {sample.records} records"
        yield Fault("folds", actual, f"at most {sample.records}" if sample.records > 1 else "a release of more records")
    for i, (name, labels) in enumerate(zip(request.classes, classes, strict=True)):
        if not 2 <= len(labels.texts) <= MOST_CLASSES:
            actual = f"{shortened(name)}, which has {len(labels.texts)} different values"
            hint = "Classifiers tell few classes: group the values in a column of their own, and release that."
            yield Fault(f"classes[{i}]", actual, f"a column of 2 to {MOST_CLASSES} values among the records", hint)


def _beside(
    session: Session,
    assessed: Assessed,
    sample: Sample,
    classes: tuple[SampledLabels, ...],
    read: Dictionaries,
    seed: int,
) -> _Looked:
    rows, by_column = written_rows(session, assessed), dict(zip(assessed.classes, classes, strict=True))
    bounds = zip(read.generalized, read.lattice.bottom, read.lattice.top, strict=True)
    generalized = {
        column_bounds.column.name: (column_bounds, range(bottom, top + 1)) for column_bounds, bottom, top in bounds
    }
    there = RowsBeside(rows, generalized)
    records = paired_at_random(session, sample, there, assessed.features, by_column, seed)
    return _Looked(sample, classes, tuple(records))


def _paired(assessed: Assessed, sample: Sample, classes: tuple[SampledLabels, ...], paired: Paired) -> _Looked:
    features = tuple(paired.feature(name) for name in assessed.features)
    records = (
        ClassifiedRecords(features, name, labels.codes, labels.names, paired.kept)
        for name, labels in zip(assessed.classes, classes, strict=True)
    )
    return _Looked(sample, classes, tuple(records), paired)


def _assess(
    job: JobContext, assessed: Assessed, request: ClassificationRequest, looked: _Looked
) -> tuple[Assessment, ...]:
    """One assessment per class column, all of one set of records."""
    # Scikit-learn takes longer to load than most jobs run.
    from tableveil.classification.assess import assess

    choose = None
    if request.choose_inside_folds and looked.paired is not None:
        choose = ChosenInside(job, assessed, looked.paired, request.max_records, request.seed)
    assessments: list[Assessment] = []

    def on_progress(trained: int, of: int) -> None:
        total = of * len(assessed.classes)
        job.report.on_progress(Progress(len(assessments) * of + trained, total, None, None, None))

    for records in looked.records:
        assessments.append(assess(records, request, job.control, on_progress, choose))
    return tuple(assessments)


def _warnings(request: ClassificationRequest, looked: _Looked, assessments: tuple[Assessment, ...]) -> Iterator[Warned]:
    sample, kept = looked.sample, looked.records[0].kept
    if sample.records < sample.of:
        yield Warned(
            f"The figures are of {sample.records:,} of the {sample.of:,} records, drawn by the seed {request.seed}: "
            "another seed gives others. Set max_records to look at more.",
            count_of=sample.records,
            field="max_records",
        )
    if looked.paired is None:
        yield Warned(
            "The release is of local recoding: its classifiers are trained and evaluated on released rows, and are "
            "given no features of suppressed records. Its levels were chosen with all records at hand, those that "
            "classifiers are evaluated on among them, so the figures of the release are optimistic. Here "
            "choose_inside_folds is refused.",
            field="choose_inside_folds",
        )
    elif not request.choose_inside_folds:
        yield Warned(
            "The transformation was chosen with all records at hand, those that classifiers are evaluated on among "
            "them, so the figures of the release are a little optimistic. Ask for choose_inside_folds to choose it "
            "for the training records of each fold alone.",
            field="choose_inside_folds",
        )
    elif sample.records < sample.of:
        drawn = f"the {sample.records:,} records that were drawn, not for all {sample.of:,}"
        text = f"Inside the folds a transformation was chosen for {drawn}."
        yield Warned(text, count_of=sample.records, field="max_records")
    if not kept.any():
        text = f"None of {sample.records:,} sampled records is released: a classifier learns nothing of the release."
        yield Warned(text, count_of=sample.records)
    yield from _without_class(looked.classes, assessments)
    for assessment in assessments:
        useless = [c.classifier for c in assessment.comparisons if c.relative_accuracy is None]
        if useless:
            names = ", ".join(classifier.replace("_", " ").lower() for classifier in useless)
            yield Warned(
                f"For {shortened(assessment.class_column)} there is no relative accuracy of {names}: trained on the "
                "source itself, it is no more accurate than telling everybody the most frequent class.",
                field=assessment.class_column,
            )


def _without_class(classes: tuple[SampledLabels, ...], assessments: tuple[Assessment, ...]) -> Iterator[Warned]:
    for labels, assessment in zip(classes, assessments, strict=True):
        if None in labels.texts:
            without = _count(labels.codes, labels.texts.index(None))
            column = shortened(assessment.class_column)
            text = f"{without:,} of the records have no {column}: they are a class of their own, {NULL_NAME}."
            yield Warned(text, count_of=without, field=assessment.class_column)


def _count(codes: NDArray[np.int32], code: int) -> int:
    return int(np.count_nonzero(codes == code))
