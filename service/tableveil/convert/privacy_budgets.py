"""Privacy budgets as messages."""

from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.times import timestamp
from tableveil.state.privacy_budgets import PrivacyBudget
from tableveil.v1 import access_service_pb2 as v1


def budget_to_proto(budget: PrivacyBudget) -> v1.PrivacyBudget:
    """The message of a budget, with what is spent of it."""
    return v1.PrivacyBudget(
        people=budget.people,
        tables=budget.tables,
        epsilon=decimal_to_text(budget.epsilon),
        delta=decimal_to_text(budget.delta),
        spent_epsilon=decimal_to_text(budget.spent_epsilon),
        spent_delta=decimal_to_text(budget.spent_delta),
        set_by=budget.set_by,
        set_time=timestamp(budget.set_at),
        outdated=budget.outdated,
        name=f"privacyBudgets/{budget.people}",
    )
