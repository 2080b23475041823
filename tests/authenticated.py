"""The token of all servers that tests start, so that clients find it in the environment, as those of users do."""

import os

import grpc

from tableveil.client.token import with_token
from tableveil.identity import first_token

TOKEN = "tvl_" + "0" * 43 + "0NyHI2"


def use_one_token() -> None:
    """Lets every first token that this process makes be that one, and its clients and child processes send it."""
    os.environ["TABLEVEIL_TOKEN"] = TOKEN
    # Not by name: the type checker knows what a module means to export.
    vars(first_token)["new_secret"] = lambda: TOKEN


def channel(address: str) -> grpc.Channel:
    """A channel of a caller who may do everything."""
    return with_token(grpc.insecure_channel(address), lambda: TOKEN)
