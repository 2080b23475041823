"""A bare Flight server, which streams a table from its memory: `python -m benchmarks.sql.bare_flight DIRECTORY`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.flight as flight

from benchmarks.sql.random_selects import TABLE
from benchmarks.sql.served import FILE, certified, running


class _Bare(flight.FlightServerBase):  # type: ignore[misc]
    """Sends all rows to everybody, and checks nothing."""

    def __init__(self, rows: pa.Table, **transport: Any) -> None:
        super().__init__(**transport)
        self._rows = rows

    def do_get(self, context: object, ticket: object) -> object:
        """The rows."""
        return flight.RecordBatchStream(self._rows)


@contextmanager
def bare_reading(directory: Path, *, tls: bool) -> Iterator[Callable[[], object]]:
    """Reads all rows of the release in the directory from a bare server in a process of its own."""
    with running("benchmarks.sql.bare_flight", directory, tls=tls) as uri:
        roots = {"tls_root_certs": (_certificates(directory) / "ca.pem").read_text()} if tls else {}
        with flight.connect(uri, **roots) as client:
            yield lambda: client.do_get(flight.Ticket(b"")).read_all()


def _certificates(directory: Path) -> Path:
    return directory / "bare"


def _serve(directory: Path, tls: bool) -> None:
    with duckdb.connect(directory / "published" / FILE, read_only=True) as connection:
        rows = connection.sql(f"FROM {TABLE}").to_arrow_table()
    transport: dict[str, Any] = {"location": "grpc://127.0.0.1:0"}
    if tls:
        folder = _certificates(directory)
        folder.mkdir()
        files = certified(folder)
        pair = (files.certificate.read_bytes(), files.key.read_bytes())
        transport = {"location": "grpc+tls://127.0.0.1:0", "tls_certificates": [pair]}
    with _Bare(rows, **transport) as server:
        print(f"grpc{'+tls' * tls}://127.0.0.1:{server.port}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), tls="tls" in sys.argv[2:])
