"""Holds the documents' references against the repository: files, links, headings, constants, error classes."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOTS = ("engine", "sql", "service")
UNITS = {"": 1, "MiB": 2**20}


def text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def anchors(document: Path) -> set[str]:
    """The anchors by which GitHub links to headings."""
    headings = re.findall(r"^#+ (.+)$", text(document), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", text(document)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_named_are_there(document: Path) -> None:
    """A path is from the repository's root, or from a layer's `tableveil`."""
    for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|sql|proto|toml))`", text(document)):
        places = [ROOT, *(ROOT / layer / "tableveil" for layer in ROOTS)]
        assert any((place / name).exists() for place in places), name


def test_constants_have_the_values_stated() -> None:
    rows = re.findall(
        r"^\| `(tableveil[\w.]+)\.([A-Z_]+)` \| ([\d.,]+) ?(\w*) \|",
        text(ROOT / "docs" / "explanations" / "threats.md"),
        re.M,
    )
    assert len(rows) >= 10
    for module, name, value, unit in rows:
        found = getattr(importlib.import_module(module), name)
        assert found == float(value.replace(",", "")) * UNITS[unit], name


def test_checks_are_explained_by_their_constants() -> None:
    prose = text(ROOT / "docs" / "explanations" / "threats.md")
    assert {"NEARLY_UNIQUE", "RIGHT"} <= set(re.findall(r"`([A-Z_]+)`", prose))


def test_every_topic_and_error_is_placed() -> None:
    named = set(re.findall(r"`([^`\n]+)`", text(ROOT / "docs" / "explanations" / "architecture.md")))
    topics = {path.parent.name for layer in ROOTS for path in (ROOT / layer / "tableveil").glob("*/__init__.py")}
    assert not topics - named
    errors = importlib.import_module("tableveil.errors")
    assert not {name for name in vars(errors) if name.endswith("Error")} - {"TableveilError"} - named


def test_every_dependency_has_its_reason() -> None:
    project = text(ROOT / "pyproject.toml").partition("\ndependencies = [\n")[2].partition("\n]\n")[0]
    listed = [line for line in project.splitlines() if not line.strip().startswith("#")]
    assert len(listed) >= 10
    assert not [line for line in listed if not re.fullmatch(r'  "[^"]+", +# .+', line)]
