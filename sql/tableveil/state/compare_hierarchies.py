"""The differences between two stored versions of a hierarchy: values, and the labels of common values."""

from dataclasses import dataclass

from tableveil.backend import Ledger, render
from tableveil.state.hierarchies import Stored, table_of


@dataclass(frozen=True, slots=True)
class LevelDifference:
    """The differences at a level.

    `relabelled` counts the values of both versions that have another label here; `labels_added` and `labels_removed`
    the labels that only one version has here. `examples` are (value, earlier label, later label).
    """

    level: int
    relabelled: int
    labels_added: int
    labels_removed: int
    examples: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class HierarchyComparison:
    """Two versions beside each other; `levels` are those from 1 on that both have.

    `unchanged` counts the values with the same labels at every level; none if the numbers of levels differ.
    """

    earlier: Stored
    later: Stored
    added: int
    removed: int
    unchanged: int
    levels: tuple[LevelDifference, ...]
    added_examples: tuple[str, ...]
    removed_examples: tuple[str, ...]


def compare(ledger: Ledger, earlier: Stored, later: Stored, examples: int) -> HierarchyComparison:
    """Compares the versions; up to `examples` values are read of each kind of difference, in the order of values."""
    tables = {"earlier": render(table_of(earlier)), "later": render(table_of(later))}
    common = range(1, min(earlier.levels, later.levels))
    both = f"FROM {tables['earlier']} AS earlier JOIN {tables['later']} AS later USING (l0)"
    same = " AND ".join(f"earlier.l{level} = later.l{level}" for level in common)
    changed = [f"count(*) FILTER (earlier.l{level} <> later.l{level})" for level in common]
    shared, unchanged, *relabelled = ledger.row(
        f"SELECT count(*), count(*) FILTER ({same}), {', '.join(changed)} {both}"
    )

    def missing(of: str, among: str, level: int) -> str:
        return f"FROM {tables[of]} WHERE l{level} NOT IN (SELECT l{level} FROM {tables[among]})"

    def count_of(of: str, among: str, level: int) -> int:
        read_count: int = ledger.value(f"SELECT count(DISTINCT l{level}) {missing(of, among, level)}")
        return read_count

    def values_of(of: str, among: str) -> tuple[str, ...]:
        rows = ledger.rows(f"SELECT l0 {missing(of, among, 0)} ORDER BY l0 LIMIT {examples}") if examples else []
        return tuple(value for (value,) in rows)

    def relabelled_at(level: int) -> tuple[tuple[str, str, str], ...]:
        labels = f"earlier.l{level}, later.l{level}"
        differ = f"{both} WHERE earlier.l{level} <> later.l{level} ORDER BY l0 LIMIT {examples}"
        return tuple(ledger.rows(f"SELECT l0, {labels} {differ}")) if examples else ()

    return HierarchyComparison(
        earlier=earlier,
        later=later,
        added=later.row_count - shared,
        removed=earlier.row_count - shared,
        unchanged=unchanged if earlier.levels == later.levels else 0,
        levels=tuple(
            LevelDifference(
                level=level,
                relabelled=count,
                labels_added=count_of("later", "earlier", level),
                labels_removed=count_of("earlier", "later", level),
                examples=relabelled_at(level),
            )
            for level, count in zip(common, relabelled, strict=True)
        ),
        added_examples=values_of("later", "earlier"),
        removed_examples=values_of("earlier", "later"),
    )
