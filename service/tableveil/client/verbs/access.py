"""Tokens and grants of principals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from tableveil.client.connection import Connection
from tableveil.client.listing import Listing
from tableveil.client.names import GRANTS, PRIVACY_BUDGETS, SCHEMA_RULES, TOKENS, Name, full_name, resource_name
from tableveil.v1 import access_pb2
from tableveil.v1 import access_service_pb2 as v1
from tableveil.v1.access_service_pb2_grpc import AccessServiceStub

MOST_NAMES = 20
"""Names in one request to confirm them: the server takes no more."""


class AccessVerbs(Connection):
    """Verbs about callers; they need the role admin."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._access = AccessServiceStub(self._channel)

    def create_token(
        self,
        principal: str,
        label: str,
        roles: Collection[access_pb2.AccessRole.ValueType] = (),
        lifetime: timedelta | None = None,
    ) -> v1.Token:
        """A new token of a principal, with the `secret` that nobody can tell later; by default for the usual time."""
        request = v1.CreateTokenRequest(principal=principal, label=label, roles=roles)
        if lifetime is not None:
            request.lifetime.FromTimedelta(lifetime)
        return self._ask(self._access.CreateToken, request)

    def get_token(self, token: Name) -> v1.Token:
        """A token, without its text."""
        return self._ask(self._access.GetToken, v1.GetTokenRequest(name=resource_name(TOKENS, token)))

    def list_tokens(self) -> Listing[v1.Token]:
        """All tokens, newest first."""
        return self._listed(self._access.ListTokens, v1.ListTokensRequest(), lambda page: page.tokens)

    def revoke_token(self, token: Name) -> v1.Token:
        """Lets a token be refused from now on."""
        request = v1.RevokeTokenRequest(name=resource_name(TOKENS, token))
        return self._ask(self._access.RevokeToken, request)

    def confirm_token(self, token: Name) -> v1.Token:
        """Lets a token be accepted again that a restore suspended."""
        request = v1.ConfirmTokenRequest(name=resource_name(TOKENS, token))
        return self._ask(self._access.ConfirmToken, request)

    def add_grant(self, rule: v1.GrantRule) -> v1.Grant:
        """Gives a principal or a group a role; it counts from now on."""
        return self._ask(self._access.AddGrant, v1.AddGrantRequest(rule=rule))

    def get_grant(self, grant: Name) -> v1.Grant:
        """A grant on what the caller administers."""
        return self._ask(self._access.GetGrant, v1.GetGrantRequest(name=resource_name(GRANTS, grant)))

    def list_grants(self) -> Listing[v1.Grant]:
        """The grants on what the caller administers, newest first."""
        return self._listed(self._access.ListGrants, v1.ListGrantsRequest(), lambda page: page.grants)

    def remove_grant(self, grant: Name) -> None:
        """Takes a role back, from the next call on."""
        self._ask(self._access.RemoveGrant, v1.RemoveGrantRequest(name=resource_name(GRANTS, grant)))

    def set_privacy_budget(self, people: str, tables: Sequence[str], *, epsilon: str, delta: str) -> v1.PrivacyBudget:
        """Sets how much differentially private releases may tell of the people in some tables; see `PrivacyBudget`."""
        budget = v1.PrivacyBudget(people=people, tables=tables, epsilon=epsilon, delta=delta)
        return self._ask(self._access.SetPrivacyBudget, v1.SetPrivacyBudgetRequest(budget=budget))

    def get_privacy_budget(self, people: str) -> v1.PrivacyBudget:
        """The privacy budget of these people, with what is spent of it."""
        request = v1.GetPrivacyBudgetRequest(name=full_name(PRIVACY_BUDGETS, people))
        return self._ask(self._access.GetPrivacyBudget, request)

    def list_privacy_budgets(self) -> list[v1.PrivacyBudget]:
        """All privacy budgets, by the names of their people."""
        return list(self._ask(self._access.ListPrivacyBudgets, v1.ListPrivacyBudgetsRequest()).budgets)

    def set_schema_rule(self, schema: str, *, joint_k: bool) -> v1.SchemaRule:
        """Makes the rule for releases into a schema; see `SchemaRule`."""
        request = v1.SetSchemaRuleRequest(rule=v1.SchemaRule(schema=schema, joint_k=joint_k))
        return self._ask(self._access.SetSchemaRule, request)

    def get_schema_rule(self, schema: str) -> v1.SchemaRule:
        """The rule for releases into a schema."""
        request = v1.GetSchemaRuleRequest(name=full_name(SCHEMA_RULES, schema))
        return self._ask(self._access.GetSchemaRule, request)

    def list_schema_rules(self) -> list[v1.SchemaRule]:
        """The rules of schemas that the caller administers, by name."""
        return list(self._ask(self._access.ListSchemaRules, v1.ListSchemaRulesRequest()).rules)

    def confirm_restored(self, names: Iterable[str] = ()) -> list[str]:
        """Lets grants and releases count again that a restore suspended; returns the names of those that still wait."""
        wanted = list(names)
        for start in range(0, len(wanted), MOST_NAMES):
            part = wanted[start : start + MOST_NAMES]
            self._ask(self._access.ConfirmRestored, v1.ConfirmRestoredRequest(names=part))
        return list(self._ask(self._access.ConfirmRestored, v1.ConfirmRestoredRequest()).suspended)
