"""The gRPC server: thin servicers, one place that turns errors into statuses, and the life of the process."""

from tableveil.server.run import run_server
from tableveil.server.server import TableveilServer
from tableveil.serving.address import DEFAULT_ADDRESS
from tableveil.serving.settings import ServeSettings
