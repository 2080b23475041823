"""Previews and comparisons of hierarchies, as people read them."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.tables import facts, listing
from tableveil.v1 import hierarchy_service_pb2 as v1


def reference(info: v1.StoredHierarchyInfo) -> str:
    """`zip@2`."""
    return f"{wording.short(info.name)}@{info.version}"


def preview_table(preview: v1.PreviewHierarchyResponse, column: str) -> RenderableType:
    """The levels in one table, then the groups of each; `column` is the column beside the hierarchy, if any."""
    parts: list[RenderableType] = [facts(_about(preview, column)), Text(""), _levels(preview)]
    for level in preview.levels:
        if level.first:
            parts += [Text(""), Text(f"Level {level.level}", style="bold"), _groups(preview, level)]
    return Group(*parts)


def _about(preview: v1.PreviewHierarchyResponse, column: str) -> Iterator[tuple[str, str]]:
    if preview.HasField("stored"):
        info = preview.stored
        origin = f", from {wording.short(info.origin)}" if info.origin else ""
        yield "hierarchy", f"{reference(info)}, stored {wording.moment(info.create_time)}{origin}"
    yield "domain", f"a width of {preview.domain_size:g}" if preview.continuous else _values(preview.domain_size)
    if not preview.HasField("coverage"):
        return
    coverage = preview.coverage
    nulls = f", and {_rows(coverage.null_rows)} with NULL" if coverage.null_rows else ""
    yield "column", f"{column}: {_values(coverage.values)} in {_rows(coverage.rows)}{nulls}"
    if not coverage.uncovered_values:
        yield "not covered", "none: every value has its labels"
        return
    examples = ": " + ", ".join(map(wording.short, coverage.examples)) if coverage.examples else ""
    more = ", …" if 0 < len(coverage.examples) < coverage.uncovered_values else ""
    actual = f"{_values(coverage.uncovered_values)} in {_rows(coverage.uncovered_rows)}"
    yield "not covered", f"{actual}{examples}{more}"


def _values(number: float) -> str:
    return f"{number:,.0f} {'value' if number == 1 else 'values'}" if number < 1e15 else f"{number:.3g} values"


def _rows(number: int) -> str:
    return f"{wording.count(number)} {'row' if number == 1 else 'rows'}"


def _levels(preview: v1.PreviewHierarchyResponse) -> RenderableType:
    beside_table = preview.HasField("coverage")
    rows = [
        (
            str(level.level),
            wording.count(level.groups),
            _range(level.fewest_leaves, level.most_leaves),
            *([_range(level.fewest_rows, level.most_rows)] if beside_table else []),
        )
        for level in preview.levels
    ]
    columns = ("level", "groups", _leaves_name(preview), *(["rows of a group"] if beside_table else []))
    return listing(columns, rows, "", numbers=columns)


def _leaves_name(preview: v1.PreviewHierarchyResponse) -> str:
    return "width of a label" if preview.continuous else "values of a label"


def _range(least: float, most: float) -> str:
    return _number(least) if least == most else f"{_number(least)} to {_number(most)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and value < 1e15 else f"{value:,.6g}"


def _groups(preview: v1.PreviewHierarchyResponse, level: v1.PreviewLevel) -> RenderableType:
    beside_table = preview.HasField("coverage")
    blank = [""] * (3 if beside_table else 1)
    left_out = [(f"… {wording.count(level.left_out)} more …", *blank)] if level.left_out else []
    rows = [*(_group(group, beside_table) for group in level.first), *left_out]
    rows += [_group(group, beside_table) for group in level.last]
    columns = ("label", _leaves_name(preview), *(["values in the column", "rows"] if beside_table else []))
    return listing(columns, rows, "", numbers=columns[1:])


def _group(group: v1.PreviewGroup, beside_table: bool) -> tuple[str, ...]:
    counts = (wording.count(group.values), wording.count(group.rows)) if beside_table else ()
    return (wording.short(group.label), _number(group.leaves), *counts)


def comparison_table(comparison: v1.CompareHierarchiesResponse) -> RenderableType:
    """Values, then labels per level, then examples."""
    earlier, later = comparison.earlier, comparison.later
    about = [
        ("earlier", f"{reference(earlier)}, {_values(earlier.values)}, {earlier.levels} levels"),
        ("later", f"{reference(later)}, {_values(later.values)}, {later.levels} levels"),
        ("values added", wording.count(comparison.values_added) + _examples(comparison.added_examples)),
        ("values removed", wording.count(comparison.values_removed) + _examples(comparison.removed_examples)),
        ("unchanged", _unchanged(comparison)),
    ]
    rows = [
        (
            str(level.level),
            wording.count(level.relabelled),
            wording.count(level.labels_added),
            wording.count(level.labels_removed),
        )
        for level in comparison.levels
    ]
    columns = ("level", "values relabelled", "labels added", "labels removed")
    parts: list[RenderableType] = [facts(about), Text(""), listing(columns, rows, "", numbers=columns)]
    for level in comparison.levels:
        if level.examples:
            examples = [
                tuple(map(wording.short, (example.value, example.earlier, example.later))) for example in level.examples
            ]
            heading = Text(f"Level {level.level}", style="bold")
            parts += [Text(""), heading, listing(("value", "earlier", "later"), examples, "")]
    return Group(*parts)


def _unchanged(comparison: v1.CompareHierarchiesResponse) -> str:
    if comparison.earlier.levels != comparison.later.levels:
        return "none: the numbers of levels differ"
    return f"{_values(comparison.values_unchanged)}, with the same label at every level"


def _examples(values: Sequence[str]) -> str:
    return ": " + ", ".join(map(wording.short, values)) if values else ""
