"""The Python client: every verb of the service, typed; released rows as Arrow."""

import logging

from tableveil.client.client import Client
from tableveil.client.connection import DEFAULT_ADDRESS
from tableveil.client.failures import UnpublishedError, UnreachableError
from tableveil.client.formats import ExportFormat
from tableveil.client.notebook import show_in_notebook

__all__ = ["DEFAULT_ADDRESS", "Client", "ExportFormat", "UnpublishedError", "UnreachableError"]

# Only handlers of the application get a client's log, not its terminal.
logging.getLogger("tableveil").addHandler(logging.NullHandler())

show_in_notebook()
