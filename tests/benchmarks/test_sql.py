"""The benchmark of the endpoint runs, and compares it with a bare Flight server."""

from __future__ import annotations

import pytest

from benchmarks.sql.endpoint import reading

pytestmark = pytest.mark.long


def test_an_endpoint_is_read_beside_a_bare_server() -> None:
    section = reading(rows=1_000, runs=1)
    compared = [text for text in section.paragraphs if text.startswith("Endpoint")]
    assert ["the bare server with TLS" in text for text in compared] == [False, True]
