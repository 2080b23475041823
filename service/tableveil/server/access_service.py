"""Tokens over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert.names import token_number
from tableveil.convert.tokens import lifetime_from_proto, roles_from_proto, token_to_proto
from tableveil.identity.tokens import LIFETIME, Tokens
from tableveil.server.paging import page_of_numbered
from tableveil.v1 import access_service_pb2 as v1
from tableveil.v1 import access_service_pb2_grpc


class AccessService(access_service_pb2_grpc.AccessServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def CreateToken(  # noqa: N802
        self, request: v1.CreateTokenRequest, context: grpc.ServicerContext
    ) -> v1.CreateTokenResponse:
        """The only answer that has a token's text."""
        lifetime = lifetime_from_proto(request.lifetime) if request.HasField("lifetime") else LIFETIME
        roles = roles_from_proto(request.roles)
        token, secret = self._tokens.create(request.principal, request.label, roles, lifetime)
        return v1.CreateTokenResponse(token=token_to_proto(token), secret=secret)

    def ListTokens(  # noqa: N802
        self, request: v1.ListTokensRequest, context: grpc.ServicerContext
    ) -> v1.ListTokensResponse:
        """A page of tokens, without their texts."""
        tokens, following = page_of_numbered("tokens", request, self._tokens.page, token_to_proto)
        return v1.ListTokensResponse(tokens=tokens, next_page_token=following)

    def RevokeToken(  # noqa: N802
        self, request: v1.RevokeTokenRequest, context: grpc.ServicerContext
    ) -> v1.RevokeTokenResponse:
        """Revoking the token of this very call is fine: this is its last one."""
        return v1.RevokeTokenResponse(token=token_to_proto(self._tokens.revoke(token_number(request.name))))

    def ConfirmToken(  # noqa: N802
        self, request: v1.ConfirmTokenRequest, context: grpc.ServicerContext
    ) -> v1.ConfirmTokenResponse:
        """A token that is revoked or expired as well stays refused."""
        return v1.ConfirmTokenResponse(token=token_to_proto(self._tokens.confirm(token_number(request.name))))
