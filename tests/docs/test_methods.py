"""The page of models has the table of methods, as the registry says it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from tableveil.policy.methods import METHODS, SEARCH_OPTIONS, Analysis, MethodTraits
from tableveil.policy.privacy import PRIVACY_FIELDS
from tableveil.policy.quality import FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "explanations" / "models.md"


def listed(have: Collection[str], every: Collection[str]) -> str:
    others = [name for name in every if name not in have]
    if have and len(others) <= len(have) / 2:
        return f"all but {listed(others, every)}" if others else "all"
    return ", ".join(f"`{name}`" for name in have) or "none"


def cells(method: MethodTraits) -> Iterator[tuple[str, str]]:
    yield "", method.name
    yield "asked for by", f"`{method.field}`" if method.field else method.called or "-"
    yield "one label for", str(method.recoded)
    yield "`privacy_models`", listed([PRIVACY_FIELDS[kind] for kind in method.models], PRIVACY_FIELDS.values())
    yield "`quality_model`", listed([FIELDS[kind] for kind in method.quality], FIELDS.values())
    yield "`search`", listed(method.search, SEARCH_OPTIONS)
    yield "not beside", ", ".join(f"`{part}`" for part, _ in method.refuses) or "-"
    facts = {
        "suppressed records shown (`KEEP`)": method.shows_suppressed,
        "several records of a person": method.people,
        "`left_behind`": method.together,
        "a valid release before its end (`--keep-best`)": method.interim,
        "over Spark": method.warehouses,
    }
    yield from ((fact, "yes" if holds else "no") for fact, holds in facts.items())
    yield from ((analysis, "yes" if analysis in method.analyses else "no") for analysis in Analysis)


def table() -> str:
    columns = [list(cells(method)) for method in reversed(METHODS)]
    rows = [[row[0][0], *(cell for _, cell in row)] for row in zip(*columns, strict=True)]
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def test_the_table_of_methods_is_that_of_the_registry() -> None:
    assert table() in PAGE.read_text(), table()
