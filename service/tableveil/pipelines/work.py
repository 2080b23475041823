"""The work of a request: how it is checked against the database, run, and what it reads and writes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tableveil.backend import WarehouseSession, scoped
from tableveil.errors import Fault, InvalidError, Warned
from tableveil.hierarchy import SafeHarborZip, TableLevels
from tableveil.loading import check_bound
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.known_classes import check_known_classes
from tableveil.policy import Policy, Population, ReleaseTarget, TableReference
from tableveil.source import Source, resolve_source
from tableveil.state.kinds import JobKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One request.

    `kind` is the kind of result. `document` is the policy, or its replacement, as JSON; `options` are the request's
    other parts, as JSON or empty: equal requests agree in both.

    `admit` makes all checks that do not read the source's rows, and returns the source's full name. It raises
    `InvalidError` if the request does not fit the database, `ConflictError` if something exists at the target. `run`
    does the work, inserts the job's outcome, and returns the number of the result; if it raises, nothing was written.

    `released` is the policy whose release is written, but nowhere that lasts if it is `rehearsed`; a `trial` of it
    stays in private. `release` is the number of a release that is read, `classes_of` that of one whose classes are used
    again: their objects have to stay until the job has ended. A `partial` result is valid whenever its search stops.
    The tables of the population, of the query and of the hierarchies may be read beside the source. The owner is warned
    before the job has ended. Work that can be done in a warehouse has the `catalog` of its source; its `warehouse` is
    empty if it is done in the database.
    """

    kind: JobKind
    document: str
    admit: Callable[[WarehouseSession], TableReference] = field(compare=False)
    run: Callable[[JobContext], int] = field(compare=False)
    options: str = ""
    released: Policy | None = None
    rehearsed: bool = False
    trial: bool = False
    release: int | None = None
    classes_of: int | None = None
    partial: bool = False
    population: Population | None = None
    source_query: str = ""
    other_tables: tuple[TableReference, ...] = ()
    warnings: tuple[Warned, ...] = ()
    catalog: str = ""
    warehouse: str = ""

    @property
    def written(self) -> ReleaseTarget | None:
        """The place of objects that no other job may write at the same time."""
        return None if self.trial else self.target

    @property
    def target(self) -> ReleaseTarget | None:
        """The place of the release, now or once it is promoted; see `scoped`."""
        if self.released is None or self.rehearsed:
            return None
        target = self.released.release
        return replace(target, schema=scoped(self.warehouse, target.schema))

    def within(self, warehouse: str) -> Work:
        """The work in the warehouse that its catalog names, or in the database."""
        return replace(self, warehouse=warehouse)


def policy_work(
    kind: JobKind, policy: Policy, document: str, run: Callable[[JobContext], int], options: str = ""
) -> Work:
    """The work of a request that has a policy, and whose source is admitted for any target.

    Raises:
        InvalidError: it would look at rows that only a release with differential privacy may draw.
    """
    if policy.method.budgeted and kind is not JobKind.RELEASE:
        asked, hint = kind.value.replace("_", " ").lower(), "A look at the table is not covered by its budget."
        raise InvalidError.of("POLICY_INVALID", f"policy.{policy.method.field}", f"a {asked}", "a release", hint)

    def admit(session: WarehouseSession) -> TableReference:
        resolved, _, faults = resolve_source(session, policy)
        source = fitting(resolved, [*faults, *check_known_classes(session.embedded, policy)])
        check_bound(session, policy, source)
        return session.recorded(source.reference)

    events = () if policy.related is None else policy.related.events
    attributes = (*policy.attributes, *(attribute for event in events for attribute in event.attributes))
    definitions = [attribute.hierarchy for attribute in attributes]
    return Work(
        kind=kind,
        document=document,
        admit=admit,
        run=run,
        options=options,
        classes_of=policy.classes_of,
        population=policy.population,
        source_query=policy.source_query,
        other_tables=(
            *(event.table for event in events),
            *(
                TableReference(definition.catalog, definition.schema, definition.table)
                for definition in definitions
                if isinstance(definition, (TableLevels, SafeHarborZip))
            ),
        ),
        catalog=policy.source.catalog,
    )


def fitting(source: Source | None, faults: list[Fault]) -> Source:
    """The source, if there is one and it has no faults; raises `InvalidError` otherwise."""
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the database", faults)
    return source
