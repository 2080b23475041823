"""Calls with wrong tokens, one after another: `python -m benchmarks.doors.flood ADDRESS CA COUNT`.

It begins with the first line of its input, and ends with a line of output.
"""

from __future__ import annotations

import sys
from pathlib import Path

import grpc

from tableveil.client.token import with_token
from tableveil.identity.secret import new_secret
from tableveil.v1.job_service_pb2 import GetJobRequest
from tableveil.v1.job_service_pb2_grpc import JobServiceStub


def main(address: str, authorities: Path, count: int) -> None:
    """Each token is well-formed and new, so that the server has to look for it."""
    channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(authorities.read_bytes()))
    stubs = [JobServiceStub(with_token(channel, new_secret)) for _ in range(100)]
    grpc.channel_ready_future(channel).result(60)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        try:
            stubs[number % len(stubs)].GetJob(GetJobRequest(name="jobs/1"))
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAUTHENTICATED:
                raise
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
