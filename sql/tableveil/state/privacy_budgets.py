"""Budgets of differential privacy, as admins set them for people, and what releases have spent of them.

Losses add up (basic composition: Dwork and Roth 2014, theorem 3.16). A charge is never taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Context, Decimal

from tableveil.backend import Ledger, folded
from tableveil.policy import TableReference
from tableveil.state.jobs import now
from tableveil.state.lineage import note_decision
from tableveil.state.mapper import Table

_EXACT = Context(prec=200)
"""Sums of decimals of up to 50 characters are exact."""


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """The newest version of a budget: the most that may be spent of the `people` in some tables, and what was.

    `tables` are folded names of schema and table. It is `outdated` if it was suspended: the ledger may have
    forgotten charges.
    """

    people: str
    tables: tuple[str, ...]
    epsilon: Decimal
    delta: Decimal
    set_by: str
    set_at: datetime
    spent_epsilon: Decimal = Decimal(0)
    spent_delta: Decimal = Decimal(0)
    outdated: bool = False

    def holds(self, epsilon: Decimal, delta: Decimal) -> bool:
        """Whether so much more may be spent."""
        return (
            _EXACT.add(self.spent_epsilon, epsilon) <= self.epsilon
            and _EXACT.add(self.spent_delta, delta) <= self.delta
        )


@dataclass(frozen=True, slots=True)
class _Version:
    people: str
    tables: tuple[str, ...]
    epsilon: str
    delta: str
    set_by: str
    set_at: datetime
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class _Charge:
    people: str
    table_name: str
    epsilon: str
    delta: str
    charged_at: datetime


_VERSIONS = Table("privacy_budgets", _Version, "version")
_CHARGES = Table("privacy_charges", _Charge, "job")


def table_key(table: TableReference) -> str:
    """The name under which a budget holds a table."""
    return folded(f"{table.schema}.{table.table}")


def every(ledger: Ledger) -> list[PrivacyBudget]:
    """The newest versions of all budgets, by the names of the people."""
    newest = "(people, version) IN (SELECT people, max(version) FROM tableveil.privacy_budgets GROUP BY people)"
    return [_with_charges(ledger, found) for found in _VERSIONS.where(ledger, newest, [], "ORDER BY people")]


def of_table(ledger: Ledger, table: TableReference) -> PrivacyBudget | None:
    """The budget that holds a table."""
    return next((budget for budget in every(ledger) if table_key(table) in budget.tables), None)


def put(
    ledger: Ledger, people: str, tables: Sequence[str], epsilon: Decimal, delta: Decimal, set_by: str
) -> PrivacyBudget:
    """The new version of a budget, set now; call it in a transaction. Charges to its people and tables stay."""
    made = _Version(people, tuple(sorted(set(tables))), f"{epsilon:f}", f"{delta:f}", set_by, now())
    version = ledger.value("SELECT coalesce(max(version), 0) + 1 FROM tableveil.privacy_budgets")
    _VERSIONS.insert(ledger, [made], version)
    return _with_charges(ledger, made)


def charge(
    ledger: Ledger, job: int, budget: PrivacyBudget, table: TableReference, epsilon: Decimal, delta: Decimal
) -> None:
    """Spends a part of a budget now; call it in a transaction, before the table is read.

    After the commit, `lineage.remember` marks it.
    """
    made = _Charge(budget.people, table_key(table), f"{epsilon:f}", f"{delta:f}", now())
    _CHARGES.insert(ledger, [made], job)
    note_decision(ledger)


def charges_of(ledger: Ledger, job: int) -> int:
    """How often a job was charged: more than once if it was run again."""
    charged: int = ledger.value("SELECT count(*) FROM tableveil.privacy_charges WHERE job = ?", [job])
    return charged


def _with_charges(ledger: Ledger, version: _Version) -> PrivacyBudget:
    # A table that came from another budget brings its charges along.
    condition = "people = ? OR list_contains(?::VARCHAR[], table_name)"
    charges = _CHARGES.where(ledger, condition, [version.people, list(version.tables)], "")
    budget = PrivacyBudget(
        version.people, version.tables, Decimal(version.epsilon), Decimal(version.delta), version.set_by, version.set_at
    )
    for each in charges:
        budget = replace(
            budget,
            spent_epsilon=_EXACT.add(budget.spent_epsilon, Decimal(each.epsilon)),
            spent_delta=_EXACT.add(budget.spent_delta, Decimal(each.delta)),
        )
    return replace(budget, outdated=version.suspended)
