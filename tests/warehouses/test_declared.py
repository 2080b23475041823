"""Warehouses as operators declare them: names and addresses, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tableveil.errors import InvalidError
from tableveil.spark import declared_warehouses
from tableveil.spark import local as local_server


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if PySpark's client were there: it is not imported before it is needed."""
    monkeypatch.setattr("tableveil.spark.declared.find_spec", lambda _: object())


def test_addresses_by_name(tmp_path: Path) -> None:
    found = declared_warehouses(["lake=sc://h:15002/;token=secret", "b=sc://[::1]:1"], "clinic", tmp_path, 7)
    assert {name: (one.name, one.url) for name, one in found.items()} == {
        "lake": ("lake", "sc://h:15002/;token=secret"),
        "b": ("b", "sc://[::1]:1"),
    }
    assert "secret" not in repr(found)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "declared",
    [
        ["lake"],
        ["lake="],
        ["=sc://h"],
        ["la ke=sc://h"],
        ["lake=http://h/?token=secret"],
        ["lake=sc://"],
        ["lake=sc://h", "LAKE=sc://g/;token=secret"],
        ["Clinic=sc://h"],
    ],
)
def test_what_is_none(declared: list[str], tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as raised:
        declared_warehouses(declared, "clinic", tmp_path, 7)
    assert raised.value.code == "WAREHOUSE_INVALID"
    assert "secret" not in str(raised.value)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableveil.spark.declared.find_spec", lambda _: None)
    with pytest.raises(InvalidError, match=r"pip install 'tableveil\[spark\]'") as raised:
        declared_warehouses(["lake=sc://h"], "clinic", tmp_path, 7)
    assert raised.value.code == "SPARK_MISSING"


def test_a_local_one_needs_the_server_and_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client alone has no server in it."""
    monkeypatch.setattr(local_server, "find_spec", lambda _: None)
    with pytest.raises(InvalidError) as raised:
        declared_warehouses(["lake=local"], "clinic", tmp_path, 7)
    assert raised.value.code == "SPARK_MISSING"
    assert list(tmp_path.iterdir()) == []
