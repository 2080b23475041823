"""The rights of principals: grants of roles, and the view of the database that they give."""

from tableveil.access.access import Access, Wanted
from tableveil.access.privacy_budgets import PrivacyBudgets
from tableveil.access.rules import Caller, scopes, sight
from tableveil.access.schema_rules import SchemaRules
from tableveil.state.grants import Grant, Role, Scope

__all__ = ["Access", "Caller", "Grant", "PrivacyBudgets", "Role", "SchemaRules", "Scope", "Wanted", "scopes", "sight"]
