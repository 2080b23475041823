"""Policies whose hierarchies do not cover all values any more get wider bounds; nothing is stored."""

from collections.abc import Mapping

from sqlglot import exp

from tableveil.backend import Database, WarehouseSession, alias, cast, collected, column
from tableveil.control import Control, Stopped
from tableveil.drafting import widened
from tableveil.errors import CancelledError, InvalidError
from tableveil.hierarchy import ValueKind
from tableveil.hierarchy.rules import Dates, Intervals
from tableveil.policy import Policy
from tableveil.source import Source, resolve_source
from tableveil.source.query import take_snapshot


class Widening:
    """Widens policies. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rules(self, policy: Policy, control: Control) -> Mapping[str, Intervals | Dates]:
        """Per column whose hierarchy has to be wider, the wider rule.

        Raises:
            InvalidError: the policy does not fit the database, whatever its bounds are.
            CancelledError: `control` says so.
        """
        warehouse = self._database.warehouse_of(policy.source.catalog)
        with self._database.session() as session, self._database.rows_session(session, warehouse) as rows:
            session.control = rows.control = control
            try:
                with rows.reading():
                    return _wider(rows, policy)
            except Stopped:
                raise CancelledError("CANCELLED", "widening was cancelled") from None


def _wider(session: WarehouseSession, policy: Policy) -> Mapping[str, Intervals | Dates]:
    source, policy, faults = resolve_source(session, policy)
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the database", faults)
    if source.query is not None:
        take_snapshot(session.embedded, source)
    rules = {
        attribute.column: attribute.hierarchy
        for attribute in policy.attributes
        if isinstance(attribute.hierarchy, (Intervals, Dates))
    }
    kinds = {source_column.name: source_column.kind for source_column in source.columns}
    ends = _ends(session, source, [name for name in rules if kinds.get(name) not in (None, ValueKind.TEXT)])
    wider = {name: widened(rules[name], kinds[name], *range_) for name, range_ in ends.items()}
    return {name: rule for name, rule in wider.items() if rule != rules[name]}


def _ends(session: WarehouseSession, source: Source, names: list[str]) -> dict[str, tuple[str, str]]:
    """The least and the greatest value of each column that has one, as the database writes them."""
    if not names:
        return {}
    wanted = [
        alias(end(this=column(name)), f"{which}{i}")
        for i, name in enumerate(names)
        for which, end in (("least", exp.Min), ("greatest", exp.Max))
    ]
    query = exp.select(*wanted).from_(source.with_all().table())
    spelled = exp.select(*(cast(column(one.alias), "VARCHAR") for one in wanted)).from_(
        collected(session, "ends_of_columns", query)
    )
    row = session.embedded.row(spelled)
    pairs = zip(names, row[::2], row[1::2], strict=True)
    return {name: (least, greatest) for name, least, greatest in pairs if least is not None}
