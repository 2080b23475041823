"""A fake service and a client of it."""

from collections.abc import Iterator

import pytest

from tableveil.client import Client
from tests.service.client.fake_service import FakeService


@pytest.fixture
def service() -> Iterator[FakeService]:
    with FakeService() as running:
        yield running


@pytest.fixture
def client(service: FakeService) -> Iterator[Client]:
    with Client(service.address) as connected:
        yield connected
