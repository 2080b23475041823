"""The Python client: every verb of the service, typed; released rows as Arrow."""

import logging

from tableveil.client.client import Client
from tableveil.client.connection import DEFAULT_ADDRESS
from tableveil.client.failures import UnreachableError
from tableveil.client.formats import ExportFormat

__all__ = ["DEFAULT_ADDRESS", "Client", "ExportFormat", "UnreachableError"]

# What a client logs is for the handlers of its application, if it has any, and not for its terminal.
logging.getLogger("tableveil").addHandler(logging.NullHandler())
