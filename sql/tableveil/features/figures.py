"""The public table of a classifier assessment's figures, beside its release."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, create_table, drop, table
from tableveil.classification.model import Assessment, Measures
from tableveil.errors import ConflictError, shortened
from tableveil.lifecycle.standing import require_public
from tableveil.lifecycle.target import foreign_objects, objects_called
from tableveil.policy import ReleaseTarget
from tableveil.release.objects import mark
from tableveil.state import release_objects
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.releases import Release

Figure = tuple[str, str, str, str | None, float | None]
"""Class column, classifier, measure, class or None for all of them, and the value, if there is one."""


def check_figures(session: Session, release: Release) -> None:
    """Raises `ConflictError` if the release is not public, or the table's name belongs to anything but its figures."""
    require_public(release)
    target = _target(release)
    existing = objects_called(session, target.schema, [target.classification_name])
    owned = release_objects.of_target(session.ledger, target.schema, target.name)
    for name, kind in foreign_objects(session, target.schema, existing, owned).items():
        raise ConflictError.of(
            "TARGET_EXISTS",
            "publish",
            f"{kind} {shortened(name)}, which no assessment of releases/{release.number} wrote",
            "nothing of that name",
            "Remove it yourself, or ask without publish.",
        )


def write_figures(session: Session, release: Release, assessments: Sequence[Assessment]) -> str:
    """Writes the table in place of an earlier one and adds it to the release's objects; returns its name.

    Call it in the transaction that stores the assessment, while no other job writes.
    """
    check_figures(session, release)
    target = _target(release)
    # By its full name: a shorter one could mean a temporary table.
    figures = table(target.classification_name, target.schema, session.catalog)
    for name in objects_called(session, target.schema, [target.classification_name]):
        session.execute(drop("TABLE", table(name, target.schema, session.catalog)))
    rows = [figure for assessment in assessments for figure in _figures(assessment)]
    names = ("class_column", "classifier", "measure", "class")
    columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)}
    columns["value"] = pa.array([row[-1] for row in rows], pa.float64())
    with session.relation("figures", pa.table(columns)):
        session.execute(create_table(figures, exp.select("*").from_(table("figures"))))
    own_mark = mark(session, target.schema, target.classification_name)
    written = ReleaseObject(target.classification_name, ObjectKind.CLASSIFICATION, len(rows), own_mark)
    release_objects.replace(session.ledger, release.number, written)
    return target.classification_name


def _target(release: Release) -> ReleaseTarget:
    return ReleaseTarget(release.target_schema, release.target_name, release.kind)


def _figures(assessment: Assessment) -> Iterator[Figure]:
    column = assessment.class_column
    yield column, "ZERO_R", "accuracy", None, assessment.baseline.accuracy
    for comparison in assessment.comparisons:
        classifier = comparison.classifier.value
        yield column, classifier, "relative_accuracy", None, comparison.relative_accuracy
        for trained_on, measures in (("original", comparison.original), ("anonymized", comparison.anonymized)):
            for measure, label, value in _values(measures):
                yield column, classifier, f"{trained_on}_{measure}", label, value


def _values(measures: Measures) -> Iterator[tuple[str, str | None, float | None]]:
    yield "accuracy", None, measures.accuracy
    yield "brier", None, measures.brier
    for one in measures.classes:
        yield "precision", one.label, one.precision
        yield "recall", one.label, one.recall
        yield "auc", one.label, one.auc
