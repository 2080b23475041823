"""Whether the rows of a load still stand in its table, by the ledger."""

from tableveil.backend import Ledger, WarehouseSession, folded
from tableveil.errors import ConflictError, InvalidError, Warned, note, shortened
from tableveil.policy import Policy, TableReference
from tableveil.source import Source
from tableveil.state.loads import LOADS, REMOVALS, Load, LoadMode, RemovalKind
from tableveil.state.seen import as_folded

_OF_TABLE = f"{as_folded('table_schema')} = ? AND {as_folded('table_name')} = ?"


def check_standing(ledger: Ledger, load: Load) -> None:
    """Raises `ConflictError` if the rows of a load that is asked for again were replaced, or removed with all others.

    Appended rows stand beside them. Erased ones must not come back: the load counts as done.
    """
    if changed := _changed(ledger, load, (LoadMode.CREATE, LoadMode.REPLACE)):
        hint = "If the table is to have these rows again, load them by another request id."
        _refuse("request_id", load, changed, hint)


def check_bound(session: WarehouseSession, policy: Policy, source: Source) -> None:
    """Checks that tables have the rows of the loads that the policy is bound to, and no others but erased ones.

    Raises:
        InvalidError: there is no such load of a table that is read, or there are two of one.
        ConflictError: a table was loaded, emptied or dropped since, also if rows were only appended.
    """
    bound: dict[TableReference, int] = {}
    for field, number in policy.bound_loads:
        load = LOADS.find(session.ledger, number)
        read = _table_of(load, session.warehouse, source)
        if load is None or read is None:
            names = " or ".join(_shown(one) for one in source.tables)
            raise InvalidError.of("POLICY_INVALID", field, f"loads/{number}", f"a load of {names}")
        if read in bound:
            actual = f"loads/{number}, beside loads/{bound[read]} of {_shown(read)}"
            raise InvalidError.of("POLICY_INVALID", field, actual, "one load of each table: the last one")
        bound[read] = number
        if changed := _changed(session.ledger, load, tuple(LoadMode)):
            hint = "Bind the policy to the load whose rows are meant. If they are gone, load them again."
            _refuse(field, load, changed, hint)


def unbound_note(session: WarehouseSession, policy: Policy, source: Source) -> tuple[Warned, ...]:
    """A note on the tables that no load binds, if others are bound, or nobody is there to look."""
    if session.warehouse or not (policy.bound_loads or policy.release.guards.hold_undecided):
        return ()
    loads = [LOADS.find(session.ledger, number) for _, number in policy.bound_loads]
    bound = {_table_of(load, session.warehouse, source) for load in loads}
    if not (names := [_shown(one) for one in source.tables if one not in bound]):
        return ()
    which = " or ".join(names)
    text = f"No load binds {which}: rows of another load may be released. --source-load LOAD binds a table."
    return (note(text, field="source.load"),)


def _shown(read: TableReference) -> str:
    return shortened(f"{read.schema}.{read.table}")


def _table_of(load: Load | None, warehouse: str, source: Source) -> TableReference | None:
    """The table that the source reads and the load went to."""
    return next((one for one in source.tables if load is not None and _is_of(load, warehouse, one)), None)


def _is_of(load: Load, warehouse: str, table: TableReference) -> bool:
    """Whether the load went to the table; none goes to a warehouse."""
    return ("", folded(load.schema), folded(load.table)) == (warehouse, folded(table.schema), folded(table.table))


def _refuse(field: str, load: Load, changed: str, hint: str) -> None:
    expected = "a load whose rows are those of its table"
    raise ConflictError.of("LOAD_SUPERSEDED", field, f"loads/{load.number}, {changed}", expected, hint)


def _changed(ledger: Ledger, load: Load, modes: tuple[LoadMode, ...]) -> str:
    """The change of the table since the load, by a load of these modes or by a removal of all rows; empty if none."""
    table = [folded(load.schema), folded(load.table)]
    later = LOADS.where(
        ledger,
        f"{_OF_TABLE} AND number > ? AND list_contains(?::VARCHAR[], mode)",
        [*table, load.number, [mode.value for mode in modes]],
        "ORDER BY number DESC LIMIT 1",
    )
    # Loads and removals have numbers of their own; a moment tells which came first.
    emptied = REMOVALS.where(
        ledger,
        f"{_OF_TABLE} AND happened_at >= ? AND kind <> ?",
        [*table, load.created_at, RemovalKind.ERASE.value],
        "ORDER BY number DESC LIMIT 1",
    )
    if later and (not emptied or later[0].created_at >= emptied[0].at):
        how = "to whose table {} appended rows" if later[0].mode is LoadMode.APPEND else "whose rows {} replaced"
        return how.format(f"loads/{later[0].number}") + f": that load stands in {shortened(load.table)}"
    if emptied:
        done = "dropped" if emptied[0].kind is RemovalKind.DROP else "emptied"
        return f"whose table was {done} since: no load stands in {shortened(load.table)}"
    return ""
