"""The budgets that admins set for differentially private releases."""

import threading
from collections.abc import Iterator, Sequence
from decimal import Decimal

from tableveil.access.access import LONGEST_NAME
from tableveil.access.rules import Caller
from tableveil.backend import Database, folded
from tableveil.errors import Fault, InvalidError, is_shown, shortened
from tableveil.state import privacy_budgets as store
from tableveil.state.lineage import changing_rights
from tableveil.state.privacy_budgets import PrivacyBudget

MOST_TABLES = 1_000


class PrivacyBudgets:
    """Sets and lists the budgets; only admins of the server reach it. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Two versions of one number would be told apart by nobody.
        self._changing = threading.Lock()

    def put(
        self, caller: Caller, people: str, tables: Sequence[str], epsilon: Decimal | None, delta: Decimal | None
    ) -> PrivacyBudget:
        """Sets the budget of the people in some tables, which counts for releases that are charged from now on.

        Raises:
            InvalidError: with all faults of the budget.
        """
        names = [folded(table) for table in tables]
        with self._changing, self._database.ledger() as ledger, changing_rights(self._database.path, ledger):
            faults = list(_faults(people, names, epsilon, delta, store.every(ledger)))
            if faults or epsilon is None or delta is None:
                raise InvalidError.about("BUDGET_INVALID", "the privacy budget is invalid", faults)
            return store.put(ledger, people, names, epsilon, delta, caller.name)

    def every(self) -> list[PrivacyBudget]:
        """All budgets, by the names of their people."""
        with self._database.ledger() as ledger:
            return store.every(ledger)


def _faults(
    people: str, tables: Sequence[str], epsilon: Decimal | None, delta: Decimal | None, others: Sequence[PrivacyBudget]
) -> Iterator[Fault]:
    if not 0 < len(people) <= LONGEST_NAME or " " in people or not is_shown(people):
        expected = f"1 to {LONGEST_NAME} characters that show, without spaces"
        yield Fault("budget.people", shortened(people) if people else "nothing", expected)
    if not 0 < len(tables) <= MOST_TABLES:
        yield Fault("budget.tables", f"{len(tables):,} tables", f"1 to {MOST_TABLES:,}")
    for i, table in enumerate(tables):
        if not all(table.partition(".")[::2]):
            yield Fault(f"budget.tables[{i}]", shortened(table), "schema.table")
        for other in others:
            if other.people != people and table in other.tables:
                actual = f"{shortened(table)}, which is in the budget of {shortened(other.people)}"
                hint = "Set that budget without the table first; its charges come along."
                yield Fault(f"budget.tables[{i}]", actual, "a table of no other budget", hint)
    for name, value in {"epsilon": epsilon, "delta": delta}.items():
        if value is None or value < 0:
            yield Fault(f"budget.{name}", "nothing" if value is None else str(value), "an exact decimal of at least 0")
