"""Whether a release may be written where the policy wants it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tableveil.answers import SPREAD_SCHEMAS
from tableveil.backend import WarehouseSession, sql, table
from tableveil.errors import ConflictError, Fault, nearest, shortened
from tableveil.policy import IfExists, Policy, ReleaseTarget
from tableveil.release.label_columns import check_label_columns
from tableveil.source import Source
from tableveil.source.model import SNAPSHOT
from tableveil.source.tables import STATE_SCHEMA, owned_schemas
from tableveil.state import release_objects

_MOST_TOLD = 4
"""Objects of a kind that stand in the way are named up to here; a release has twelve."""


def check_target(session: WarehouseSession, policy: Policy, source: Source | None) -> list[Fault]:
    """Faults of the target by itself: of its schema, of an object that is the source, and of its columns' names."""
    target = policy.release
    if target.schema.casefold() in (STATE_SCHEMA, *SPREAD_SCHEMAS):
        expected = "a schema of yours; this one is for Tableveil's own tables"
        return [Fault("release.schema", shortened(target.schema), expected)]
    schemas = owned_schemas(session)
    if target.schema not in schemas:
        hint = nearest(target.schema, schemas) or "An admin makes it: tableveil schemas create NAME."
        return [Fault("release.schema", shortened(target.schema), "a schema of the database", hint)]
    if source is None:
        return []
    read = [("the source" if source.query is None else "read by the source query", table) for table in source.tables]
    if source.population is not None:
        read.append(("the population", source.population.reference))
    for what, reference in read:
        for name in target.object_names:
            # DuckDB compares names without regard to case.
            here = reference.schema.casefold() == target.schema.casefold() and reference != SNAPSHOT
            if here and name.casefold() == reference.table.casefold():
                expected = f"names other than its for all of {', '.join(map(shortened, target.object_names))}"
                return [Fault("release.name", f"{shortened(name)}, which is {what}", expected)]
    return list(check_label_columns(policy, source))


def check_existing(session: WarehouseSession, target: ReleaseTarget) -> dict[str, str]:
    """The target's existing objects, which are to be replaced: their names, and whether each is a table or a view.

    They include objects written later beside the latest release.

    Raises:
        ConflictError: the policy does not allow to replace an existing object. Only objects that an earlier release of
            the same name wrote are ever replaced.
    """
    owned = release_objects.of_target(session.ledger, session.scope(target.schema), target.name)
    existing = objects_called(session, target.schema, [*target.object_names, *owned])
    if existing and target.if_exists is IfExists.FAIL:
        found = f"{_told(existing)} in schema {shortened(target.schema)}"
        expected = "nothing of that name" if len(existing) == 1 else "nothing of these names"
        hint = "Choose another name, or set if_exists: REPLACE to replace an earlier release."
        raise ConflictError.of("TARGET_EXISTS", "release.name", found, expected, hint)
    foreign = foreign_objects(session, target.schema, existing, owned)
    if foreign:
        what, pronoun = ("which is", "it") if len(foreign) == 1 else ("which are", "them")
        found = f"{_told(foreign)}, {what} not what an earlier release of this name wrote"
        expected = "only objects of an earlier release to replace"
        hint = f"Choose another name, or remove {pronoun} yourself."
        raise ConflictError.of("TARGET_EXISTS", "release.name", found, expected, hint)
    return existing


def _told(objects: Mapping[str, str]) -> str:
    """Objects by kind: `tables 'released', 'released_risk' and view 'released_classes'`."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for name, kind in objects.items():
        by_kind[kind].append(shortened(name))
    return " and ".join(f"{kind}{'s' * (len(names) > 1)} {_first(names)}" for kind, names in by_kind.items())


def _first(names: Sequence[str]) -> str:
    more = len(names) - _MOST_TOLD
    return ", ".join(names[:_MOST_TOLD]) + (f" and {more} more" if more > 0 else "")


def foreign_objects(
    session: WarehouseSession, schema: str, existing: Mapping[str, str], owned: Mapping[str, int]
) -> dict[str, str]:
    """The existing objects that are not `owned`: `owned` are a release's objects, with their numbers of rows."""
    # Warehouses may keep names in small letters.
    own_rows = {name.casefold(): rows for name, rows in owned.items()}
    rows = {name: count_rows(session, name, schema) for name in existing}
    return {name: kind for name, kind in existing.items() if rows[name] != own_rows.get(name.casefold())}


def count_rows(session: WarehouseSession, name: str, schema: str) -> int:
    """A user's table may have taken the name of a release that was dropped; its number of rows differs."""
    # By its full name: a job's own temporary table may have the short one.
    whole = table(name, schema, session.catalog)
    return int(session.value(sql("SELECT count(*) FROM $whole", whole=whole)))


def objects_called(session: WarehouseSession, schema: str, names: Iterable[str]) -> dict[str, str]:
    """The tables and views of a schema with these names, in any case."""
    wanted = {name.casefold() for name in names}
    return {each.name: each.kind for each in session.listed(schema) if each.name.casefold() in wanted}
