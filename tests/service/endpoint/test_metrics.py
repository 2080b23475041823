"""Figures of an endpoint, and whether it is ready."""

import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from adbc_driver_manager import Error

from tableveil.endpoint import readers
from tableveil.endpoint.readers import Reader
from tableveil.errors import BusyError
from tableveil.identity import Credentials
from tests.service.endpoint.published import DISCHARGES, KnownReaders, connected, publish, serving


class Failing(KnownReaders):
    """A service that may be gone."""

    gone = False

    def reader(self, credentials: Credentials) -> Reader:
        if self.gone:
            raise BusyError("GONE", "nobody answers")
        return super().reader(credentials)


def test_calls_and_readiness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "SECONDS_ANSWERED", 0.0)
    (tmp_path / "published").mkdir()
    publish(tmp_path / "published", 1, "main", {"discharges": DISCHARGES})
    service = Failing(ann={1})
    with serving(tmp_path, service, metrics_address="127.0.0.1:0") as endpoint:
        assert endpoint.metrics_address is not None
        url = f"http://127.0.0.1:{endpoint.metrics_address.port}"

        def read(path: str) -> str:
            with urllib.request.urlopen(f"{url}{path}", timeout=10) as answer:
                return str(answer.read().decode())

        def unready() -> None:
            with pytest.raises(urllib.error.HTTPError, match="503"):
                read("/readyz")

        with connected(endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT age FROM discharges LIMIT 1")
            cursor.fetchall()
            with pytest.raises(Error):
                cursor.execute("SELECT getenv('HOME')")
        text = read("/metrics")
        assert 'tableveil_calls_total{code="OK",method="TicketStatementQuery"} 1.0' in text
        assert 'code="INVALID_ARGUMENT",method="C' in text
        assert "tableveil_open_calls 0.0" in text
        assert "tableveil_ready 1.0" in text
        assert "discharges" not in text
        assert read("/readyz") == "ready\n"
        service.gone = True
        unready()
        service.gone = False
        shutil.rmtree(tmp_path / "published")
        unready()
        assert read("/healthz") == "alive\n"
