"""Whether a release may be written where the policy wants it, and whether its source may be released at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from tableveil.backend import Session, table
from tableveil.errors import ConflictError, Fault, InvalidError, nearest, shortened
from tableveil.policy import IfExists, Policy, ReleaseTarget
from tableveil.source import Source
from tableveil.source.model import SNAPSHOT
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state import releases


def check_target(session: Session, policy: Policy, source: Source | None) -> list[Fault]:
    """Faults of the target by itself: its schema is missing or reserved, or an object of it is the source."""
    target = policy.release
    if target.schema.casefold() == STATE_SCHEMA:
        expected = "a schema of yours; this one holds Tableveil's own state"
        return [Fault("release.schema", shortened(target.schema), expected)]
    schemas = [
        name
        for (name,) in session.rows(
            "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() "
            "AND schema_name NOT IN ('information_schema', 'pg_catalog')"
        )
    ]
    if target.schema not in schemas:
        hint = nearest(target.schema, schemas) or "Create it first: CREATE SCHEMA …"
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
    return []


def check_existing(session: Session, policy: Policy) -> None:
    """Raises `ConflictError` if something is in the way that the policy does not allow to replace.

    Only objects that an earlier release of the same name wrote are ever replaced.
    """
    target = policy.release
    existing = existing_objects(session, policy)
    if existing and target.if_exists is IfExists.FAIL:
        faults = [
            Fault(
                "release.name",
                f"{kind} {shortened(name)} in schema {shortened(target.schema)}",
                "nothing of that name",
                "Choose another name, or set if_exists: REPLACE to replace an earlier release.",
            )
            for name, kind in existing.items()
        ]
        raise ConflictError.about("TARGET_EXISTS", "the release cannot be written where the policy wants it", faults)
    foreign = foreign_objects(session, target, existing)
    if foreign:
        faults = [
            Fault(
                "release.name",
                f"{kind} {shortened(name)}, which is not what an earlier release of this name wrote",
                "only objects of an earlier release to replace",
                "Choose another name, or remove it yourself.",
            )
            for name, kind in foreign.items()
        ]
        raise ConflictError.about("TARGET_EXISTS", "the release cannot be written where the policy wants it", faults)


def foreign_objects(session: Session, target: ReleaseTarget, existing: Mapping[str, str]) -> dict[str, str]:
    """Those of the objects that exist which the latest release of the target did not write."""
    owned = releases.owned_objects(session, target.schema, target.name)
    return {
        name: kind
        for name, kind in existing.items()
        if name not in owned or count_rows(session, name, target.schema) != owned[name]
    }


def count_rows(session: Session, name: str, schema: str) -> int:
    """A table of one's own may have taken the name of a release that was dropped; it has other rows."""
    # By its whole name: a job's own temporary table may have the same one.
    own: str = session.value("SELECT current_database()")
    count: int = session.value(exp.select(exp.Count(this=exp.Star())).from_(table(name, schema, own)))
    return count


def existing_objects(session: Session, policy: Policy) -> dict[str, str]:
    """The target's objects that exist: their names as they are, and whether each is a table or a view.

    What was written beside the latest release since then is among them.
    """
    target = policy.release
    return objects_called(session, target.schema, [*target.object_names, *_added(session, target)])


def _added(session: Session, target: ReleaseTarget) -> list[str]:
    return [
        name for name in releases.owned_objects(session, target.schema, target.name) if name not in target.object_names
    ]


def objects_called(session: Session, schema: str, names: Iterable[str]) -> dict[str, str]:
    """The tables and views of a schema that are called so, whatever the case."""
    wanted = {name.casefold() for name in names}
    rows = session.rows(
        "SELECT table_name, 'table' FROM duckdb_tables() "
        "WHERE database_name = current_database() AND schema_name = ? "
        "UNION ALL SELECT view_name, 'view' FROM duckdb_views() "
        "WHERE database_name = current_database() AND schema_name = ?",
        [schema, schema],
    )
    return {name: kind for name, kind in rows if name.casefold() in wanted}


def check_ledger(session: Session, policy: Policy, source: Source, fingerprint: str | None) -> None:
    """Raises `InvalidError` if the records were released before and the policy gives no reason to do so again."""
    earlier = releases.earlier_releases(session, source.tables, fingerprint)
    if earlier and not policy.repeat_reason.strip():
        names = ", ".join(f"releases/{number}" for number in earlier[:5]) + (", …" if len(earlier) > 5 else "")
        raise InvalidError.of(
            "REPEATED_RELEASE",
            "repeat_reason",
            f"none, although {names} came from {'this source' if source.query is None else 'tables that it reads'}",
            "the reason why these records are released once more",
            "Two releases of the same people can together tell apart what each alone hides: state the reason, or "
            "release something else.",
        )
