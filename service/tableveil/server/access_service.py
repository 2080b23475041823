"""Tokens and grants over gRPC."""

from __future__ import annotations

from functools import partial

import grpc

from tableveil.audit import MOST_RESOURCES
from tableveil.convert.decimals import decimal_from_text
from tableveil.convert.grants import grant_to_proto, schema_rule_to_proto, wanted_from_proto
from tableveil.convert.names import grant_number, release_name, release_number, token_number
from tableveil.convert.privacy_budgets import budget_to_proto
from tableveil.convert.tokens import lifetime_from_proto, roles_from_proto, token_to_proto
from tableveil.errors import InvalidError
from tableveil.identity.tokens import LIFETIME
from tableveil.server.caller import caller
from tableveil.server.paging import page_of_numbered
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

    def ListSchemaRules(  # noqa: N802
        self, request: v1.ListSchemaRulesRequest, context: grpc.ServicerContext
    ) -> v1.ListSchemaRulesResponse:
        """All rules, of which a schema has one."""
        return v1.ListSchemaRulesResponse(rules=map(schema_rule_to_proto, self._rules.visible(caller())))

    def SetPrivacyBudget(  # noqa: N802
        self, request: v1.SetPrivacyBudgetRequest, context: grpc.ServicerContext
    ) -> v1.PrivacyBudget:
        """The budget, which counts from now on, with what is spent."""
        asked = request.budget
        epsilon, delta = decimal_from_text(asked.epsilon), decimal_from_text(asked.delta)
        return budget_to_proto(self._budgets.put(caller(), asked.people, asked.tables, epsilon, delta))

    def ListPrivacyBudgets(  # noqa: N802
        self, request: v1.ListPrivacyBudgetsRequest, context: grpc.ServicerContext
    ) -> v1.ListPrivacyBudgetsResponse:
        """All budgets."""
        return v1.ListPrivacyBudgetsResponse(budgets=map(budget_to_proto, self._budgets.every()))

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
