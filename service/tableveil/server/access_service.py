"""Tokens and grants over gRPC."""

from functools import partial

import grpc

from tableveil.audit import MOST_RESOURCES
from tableveil.backend import folded
from tableveil.convert.decimals import decimal_from_text
from tableveil.convert.grants import (
    budget_to_proto,
    grant_to_proto,
    lifetime_from_proto,
    roles_from_proto,
    schema_rule_to_proto,
    token_to_proto,
    wanted_from_proto,
)
from tableveil.convert.names import grant_number, last_part, release_name, release_number, token_number
from tableveil.errors import InvalidError
from tableveil.identity.tokens import LIFETIME
from tableveil.server.call import caller
from tableveil.server.paging import only, page_of_named, page_of_numbered
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import access_service_pb2 as v1
from tableveil.v1 import access_service_pb2_grpc


class AccessService(access_service_pb2_grpc.AccessServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._tokens = parts.stores.tokens
        self._access = parts.stores.access
        self._rules = parts.stores.rules
        self._budgets = parts.stores.budgets

    def CreateToken(  # noqa: N802
        self, request: v1.CreateTokenRequest, context: grpc.ServicerContext
    ) -> v1.Token:
        """The only answer that has a token's text."""
        lifetime = lifetime_from_proto(request.lifetime) if request.HasField("lifetime") else LIFETIME
        roles = roles_from_proto(request.roles)
        token, secret = self._tokens.create(request.principal, request.label, roles, lifetime)
        return token_to_proto(token, secret)

    def GetToken(self, request: v1.GetTokenRequest, context: grpc.ServicerContext) -> v1.Token:  # noqa: N802
        """One token, without its text."""
        return token_to_proto(self._tokens.get(token_number(request.name)))

    def ListTokens(  # noqa: N802
        self, request: v1.ListTokensRequest, context: grpc.ServicerContext
    ) -> v1.ListTokensResponse:
        """A page of tokens, without their texts."""
        tokens, following = page_of_numbered("tokens", request, self._tokens.page, token_to_proto)
        return v1.ListTokensResponse(tokens=tokens, next_page_token=following)

    def RevokeToken(  # noqa: N802
        self, request: v1.RevokeTokenRequest, context: grpc.ServicerContext
    ) -> v1.Token:
        """Revoking the token of this very call is fine: this is its last one."""
        return token_to_proto(self._tokens.revoke(token_number(request.name)))

    def ConfirmToken(  # noqa: N802
        self, request: v1.ConfirmTokenRequest, context: grpc.ServicerContext
    ) -> v1.Token:
        """A token that is revoked or expired as well stays refused."""
        return token_to_proto(self._tokens.confirm(token_number(request.name)))

    def AddGrant(  # noqa: N802
        self, request: v1.AddGrantRequest, context: grpc.ServicerContext
    ) -> v1.Grant:
        """The grant, which counts from now on."""
        return grant_to_proto(self._access.add(caller(), wanted_from_proto(request.rule)))

    def GetGrant(self, request: v1.GetGrantRequest, context: grpc.ServicerContext) -> v1.Grant:  # noqa: N802
        """One grant."""
        return grant_to_proto(self._access.get(caller(), grant_number(request.name)))

    def ListGrants(  # noqa: N802
        self, request: v1.ListGrantsRequest, context: grpc.ServicerContext
    ) -> v1.ListGrantsResponse:
        """A page of grants."""
        page = partial(self._access.page, caller())
        grants, following = page_of_numbered("grants", request, page, grant_to_proto)
        return v1.ListGrantsResponse(grants=grants, next_page_token=following)

    def RemoveGrant(  # noqa: N802
        self, request: v1.RemoveGrantRequest, context: grpc.ServicerContext
    ) -> v1.RemoveGrantResponse:
        """Nothing: the grant is gone."""
        self._access.remove(caller(), grant_number(request.name))
        return v1.RemoveGrantResponse()

    def SetSchemaRule(  # noqa: N802
        self, request: v1.SetSchemaRuleRequest, context: grpc.ServicerContext
    ) -> v1.SchemaRule:
        """The rule, which counts from now on."""
        made = self._rules.put(caller(), request.rule.schema, joint_k=request.rule.joint_k)
        return schema_rule_to_proto(made)

    def GetSchemaRule(  # noqa: N802
        self, request: v1.GetSchemaRuleRequest, context: grpc.ServicerContext
    ) -> v1.SchemaRule:
        """The rule of a schema, in any case."""
        schema = folded(last_part("schemaRules", request.name))
        rules = [rule for rule in self._rules.visible(caller()) if folded(rule.schema_name) == schema]
        return schema_rule_to_proto(only(rules, "RULE_NOT_FOUND", request.name, "a schema that has a rule"))

    def ListSchemaRules(  # noqa: N802
        self, request: v1.ListSchemaRulesRequest, context: grpc.ServicerContext
    ) -> v1.ListSchemaRulesResponse:
        """A page of rules, of which a schema has one."""
        rules = map(schema_rule_to_proto, self._rules.visible(caller()))
        page, token = page_of_named("schemaRules", request, rules, lambda rule: rule.schema)
        return v1.ListSchemaRulesResponse(rules=page, next_page_token=token)

    def SetPrivacyBudget(  # noqa: N802
        self, request: v1.SetPrivacyBudgetRequest, context: grpc.ServicerContext
    ) -> v1.PrivacyBudget:
        """The budget, which counts from now on, with what is spent."""
        asked = request.budget
        epsilon, delta = decimal_from_text(asked.epsilon), decimal_from_text(asked.delta)
        return budget_to_proto(self._budgets.put(caller(), asked.people, asked.tables, epsilon, delta))

    def GetPrivacyBudget(  # noqa: N802
        self, request: v1.GetPrivacyBudgetRequest, context: grpc.ServicerContext
    ) -> v1.PrivacyBudget:
        """One budget."""
        people = last_part("privacyBudgets", request.name)
        budgets = [budget for budget in self._budgets.every() if budget.people == people]
        return budget_to_proto(only(budgets, "BUDGET_NOT_FOUND", request.name, "people who have a budget"))

    def ListPrivacyBudgets(  # noqa: N802
        self, request: v1.ListPrivacyBudgetsRequest, context: grpc.ServicerContext
    ) -> v1.ListPrivacyBudgetsResponse:
        """A page of budgets."""
        budgets = map(budget_to_proto, self._budgets.every())
        page, token = page_of_named("privacyBudgets", request, budgets, lambda budget: budget.people)
        return v1.ListPrivacyBudgetsResponse(budgets=page, next_page_token=token)

    def ConfirmRestored(  # noqa: N802
        self, request: v1.ConfirmRestoredRequest, context: grpc.ServicerContext
    ) -> v1.ConfirmRestoredResponse:
        """The names that still wait."""
        if len(request.names) > MOST_RESOURCES:
            actual = f"{len(request.names):,} names"
            raise InvalidError.of("NAMES_TOO_MANY", "names", actual, f"at most {MOST_RESOURCES}: the audit has each")
        of_grants = [name for name in request.names if name.startswith("grants/")]
        of_releases = [name for name in request.names if name not in of_grants]
        numbers = [release_number(name, "names") for name in of_releases]
        self._access.confirm(caller(), list(map(grant_number, of_grants)), numbers)
        grants, releases = self._access.suspended()
        waiting = [*(f"grants/{grant.number}" for grant in grants), *map(release_name, releases)]
        return v1.ConfirmRestoredResponse(suspended=waiting)
