"""The public objects of a release as they are published, what may be told with them, and the interface of targets."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from sqlglot import exp

from tableveil.backend import Session, catalog, table
from tableveil.errors import ConflictError, Fault, shortened
from tableveil.lifecycle import require_public
from tableveil.lifecycle.target import objects_called
from tableveil.lifecycle.withdraw import is_as_written
from tableveil.policy import Policy
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.releases import RELEASES

PolicyOf = Callable[[str], Policy]
"""Reads the policy that the ledger keeps as JSON."""


@dataclass(frozen=True, slots=True)
class Item:
    """A public object: the names and types of its columns, and the comments on it and on them.

    `fields` are the fields of the policy that columns are of, while it is only planned.
    """

    name: str
    kind: ObjectKind
    columns: tuple[tuple[str, str], ...]
    comment: str = ""
    column_comments: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)

    def field_of(self, column: str) -> str:
        """The field that faults of a column are about."""
        return self.fields.get(column, shortened(self.name))


@dataclass(frozen=True, slots=True)
class Edition:
    """A release that is being published. Beside its items only these facts leave the database."""

    number: int
    schema: str
    name: str
    day: date
    version: str
    models: tuple[str, ...]
    suppressed_records: int
    items: tuple[Item, ...]

    @property
    def facts(self) -> dict[str, str]:
        """The facts as texts, for a file's metadata."""
        return {
            "release": f"releases/{self.number}",
            "models": "; ".join(self.models),
            "suppressed_records": str(self.suppressed_records),
            "tableveil": self.version,
            "released": self.day.isoformat(),
        }

    def rows(self, session: Session, item: Item) -> exp.Select:
        """All rows of an item in the service's database, in its order."""
        # By its full name: the schema may have the database's name.
        return exp.select("*").from_(table(item.name, self.schema, session.catalog))


def read_edition(session: Session, number: int, policy_of: PolicyOf) -> Edition:
    """The release of that number as it stands; read its rows in the same transaction.

    Raises:
        ConflictError: it is not public, or an object of it is not what was written and verified.
    """
    release = RELEASES.find(session.ledger, number)
    assert release is not None, "releases are never deleted"
    require_public(release)
    names = [item.name for item in release.objects]
    there = objects_called(session, release.target_schema, names)
    changed = [item.name for item in release.objects if not is_as_written(session, release, item, there)]
    if changed:
        found = f"{', '.join(map(shortened, changed))}, changed or dropped since it was verified"
        expected, hint = "what was written and verified", "Make the release again."
        raise ConflictError.of("OBJECTS_CHANGED", "release", found, expected, hint)
    comments = catalog.comments(session, release.target_schema)

    def described(written: ReleaseObject) -> Item:
        rows = table(written.name, release.target_schema, session.catalog)
        columns, words = session.described(exp.select("*").from_(rows)), comments[written.name]
        of_columns = {column: comment for column, comment in words.items() if column}
        return Item(written.name, written.kind, tuple(columns), words.get("", ""), of_columns)

    return Edition(
        number,
        release.target_schema,
        release.target_name,
        release.created_at.date(),
        release.versions.get("tableveil", ""),
        tuple(map(str, policy_of(release.policy).privacy_models)),
        release.suppressed_records,
        tuple(map(described, release.objects)),
    )


class Target(Protocol):
    """A place that takes releases: each is there as a whole or not at all, also if the process ends in the middle.

    One thread uses it. A `BusyError` or an `InternalError` may pass with time, all other errors need somebody.
    """

    def faults(self, items: Iterable[Item]) -> list[Fault]:
        """Names and types for which it cannot take a release of these objects, whatever the rows."""

    def publish(self, session: Session, read: Callable[[], Edition], confirm: Callable[[], None]) -> None:
        """Writes a release in place of what it has of it, and of an earlier one of the same schema and name.

        `read` gives the release; the rows are those of the transaction in which it is called. `confirm` is called
        just before the release can be seen, and raises an error if that must not be any more.
        """

    def remove(self, number: int) -> None:
        """Removes a release, if it is there."""

    def sweep(self) -> None:
        """Removes what an earlier process left half-written."""
