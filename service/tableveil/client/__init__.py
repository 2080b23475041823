"""The Python client: every verb of the service, typed; released rows as Arrow."""

from tableveil.client.client import DEFAULT_ADDRESS, Client
from tableveil.client.failures import UnreachableError
from tableveil.client.formats import ExportFormat

__all__ = ["DEFAULT_ADDRESS", "Client", "ExportFormat", "UnreachableError"]
