"""A server without doors: neither tokens nor TLS nor an audit, around the servicer that the real one has.

`python -m benchmarks.doors.bare DATABASE` serves the jobs of a database until it is stopped.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import grpc

from tableveil.backend import Database, Settings
from tableveil.lookups import Privacies
from tableveil.pipelines.widen import Widening
from tableveil.runtime import open_jobs
from tableveil.server.job_service import JobService
from tableveil.server.limited import Slots
from tableveil.server.servicer_parts import ServicerParts
from tableveil.serving.settings import CHECKS_AT_ONCE, RESERVED_THREADS
from tableveil.serving.settings import ServeSettings as ServerSettings
from tableveil.v1 import job_service_pb2_grpc


def main(database: Path) -> None:
    """Serves with as many threads as the real server has."""
    opened = Database(Settings(database))
    stores = SimpleNamespace(privacies=Privacies(opened), widening=Widening(opened))
    parts = SimpleNamespace(jobs=open_jobs(opened), stores=stores, checks=Slots(CHECKS_AT_ONCE, "checks"))
    servicer = JobService(cast(ServicerParts, parts))
    server = grpc.server(ThreadPoolExecutor(ServerSettings(database).stream_limit + RESERVED_THREADS))
    job_service_pb2_grpc.add_JobServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"A bare server is on 127.0.0.1:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
