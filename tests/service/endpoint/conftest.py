"""An endpoint with two releases, which the tests of a module share: ann reads both, bob only the second."""

from collections.abc import Iterator
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import pytest

from tableveil.endpoint.endpoint import Endpoint
from tests.service.endpoint.published import DISCHARGES, KnownReaders, connected, publish, serving


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("endpoint")
    published = place / "published"
    published.mkdir()
    classes = "SELECT age, count(*) AS records FROM discharges GROUP BY ALL"
    publish(published, 7, "main", {"discharges": DISCHARGES, "discharges_classes": classes})
    names = "SELECT 'ward ' || i AS ward, 'Ä' AS \"Name \"\"x\" FROM range(3) r(i)"
    publish(published, 8, "research", {"Ward names": names})
    return place


@pytest.fixture(scope="module")
def endpoint(place: Path) -> Iterator[Endpoint]:
    with serving(place, KnownReaders(ann={7, 8}, bob={8}, eve=set())) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def ann(endpoint: Endpoint) -> Iterator[flight_sql.Connection]:
    with connected(endpoint) as connection:
        yield connection
