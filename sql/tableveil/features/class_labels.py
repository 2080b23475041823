"""The labels of a release's classes, read from its public objects, and what they stand for in other hierarchies."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tableveil.backend import Session, cast, column, table
from tableveil.dictionary import Dictionary, value_texts
from tableveil.errors import ConflictError, shortened
from tableveil.lifecycle.standing import place_of
from tableveil.lifecycle.target import objects_called
from tableveil.lifecycle.withdraw import is_as_written
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.releases import Release

Label = str | None


def class_labels(session: Session, release: Release, columns: Sequence[str]) -> list[tuple[Label, ...]]:
    """Per class of a public release the labels of these columns as text, in the order of the labels.

    Raises:
        ConflictError: The table of classes is gone, or was changed after it was written.
    """
    item = check_as_written(session, release, ObjectKind.CLASSES)
    labels = [cast(column(name), "VARCHAR") for name in columns]
    query = exp.select(*labels).from_(table(item.name, release.target_schema, session.catalog))
    rows: list[tuple[Label, ...]] = session.rows(query.order_by(*(label.copy() for label in labels)))
    return rows


def check_as_written(session: Session, release: Release, kind: ObjectKind) -> ReleaseObject:
    """The release's object of that kind; raises `ConflictError` if it is gone, or was changed after it was written."""
    item = next(item for item in release.objects if item.kind is kind)
    schema, name = place_of(session, release, item.name)
    if not is_as_written(session, release, item, objects_called(session, schema, [name])):
        raise ConflictError.of(
            "RELEASE_CHANGED",
            "release",
            f"releases/{release.number}, whose table {shortened(item.name)} was changed or dropped",
            f"a release whose {kind.replace('_', ' ').lower()} are as they were written",
        )
    return item


def meanings(session: Session, dictionary: Dictionary, levels: range) -> Mapping[Label, tuple[int, int]]:
    """Per label at these levels the least level that has it, and its group there."""
    by_label: dict[Label, tuple[int, int]] = {}
    for level in reversed(levels):
        labels = dictionary.levels.labels[level - 1] if level else value_texts(session, [dictionary])[0]
        by_label |= {label: (level, group) for group, label in enumerate(labels)}
    return by_label
