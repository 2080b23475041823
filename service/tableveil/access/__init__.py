"""The rights of principals: grants of roles, and the view of the database that they give."""

from tableveil.access.access import Access, WantedGrant
from tableveil.access.privacy_budgets import PrivacyBudgets
from tableveil.access.rules import scopes, visibility
from tableveil.access.schema_rules import SchemaRules
from tableveil.state.grants import AccessRole, Grant, Scope
