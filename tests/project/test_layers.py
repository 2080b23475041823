"""Holds the package lists of the import contracts in pyproject.toml against the folders on disk."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
CONTRACTS: list[dict[str, Any]] = TOOLS["importlinter"]["contracts"]
# From top to bottom, as in the contract; a layer is a root.
LAYERS = ["service", "proto", "sql", "engine"]


def packages(layer: str) -> set[str]:
    """Topic packages of a layer; a folder left over by another branch holds no code and is none."""
    return {path.name for path in (ROOT / layer / "tableveil").iterdir() if any(path.glob("*.py"))}


def contract(name: str) -> dict[str, Any]:
    return next(contract for contract in CONTRACTS if contract["name"] == name)


def test_layers_list_every_package() -> None:
    listed = [set(line.split(" : ")) for line in contract("service > proto > sql > engine")["layers"]]
    assert listed == [packages(layer) for layer in LAYERS]


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("the engine's packages lean in one direction", "engine"),
        ("the packages of the database layer lean in one direction", "sql"),
        ("the packages of the service lean in one direction", "service"),
    ],
)
def test_each_package_has_its_place_in_the_order(name: str, layer: str) -> None:
    listed = [package for line in contract(name)["layers"] for package in line.split(" | ")]
    assert sorted(listed) == sorted(packages(layer))


@pytest.mark.parametrize(
    ("name", "layer"),
    [("the engine knows neither a database nor a network", "engine"), ("the database layer knows no network", "sql")],
)
def test_forbidden_imports_cover_every_package(name: str, layer: str) -> None:
    assert set(contract(name)["source_modules"]) == {f"tableveil.{package}" for package in packages(layer)}


@pytest.mark.parametrize("layer", LAYERS)
def test_packages_are_whole_and_share_the_namespace(layer: str) -> None:
    namespace = ROOT / layer / "tableveil"
    assert not list(namespace.glob("*.py")), "a module here would end the shared namespace"
    for marker in ["__init__.py", "py.typed"]:
        lacking = {package for package in packages(layer) if not (namespace / package / marker).exists()}
        assert not lacking, f"add a {marker}"
