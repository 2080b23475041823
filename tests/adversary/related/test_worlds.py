"""An adversary with released people and events finds no key by known rows, or at least k; nothing else tells more."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from benchmarks.related.enumerated import K, chances
from tests.adversary.related.published import as_released, findings, publish
from tests.adversary.related.worlds import draw

TOWNS = 12


def test_an_adversary_finds_no_key_by_known_rows_or_at_least_k(tmp_path: Path) -> None:
    """Rows stand in the order of keys, and those of a key in an order of their own, whatever that of the source."""
    worlds = {f"world_{seed}": draw(Random(seed), TOWNS, 20) for seed in (1, 2, 5)}
    one = worlds["world_1"] = replace(worlds["world_1"], m=1, cap=None)
    events = {name: rows[::-1] for name, rows in one.events.items()}
    worlds["permuted"] = replace(one, people=one.people[::-1], events=events)
    keys, shown = set[object](), dict[str, list[str]]()
    for name, world in worlds.items():
        tables = publish(tmp_path / f"{name}.duckdb", world)
        found = as_released(world, tables)
        assert findings(world, found) == [], name
        assert not keys & found.rows.keys()
        keys |= found.rows.keys()
        shown[name] = []
        for table in tables.values():
            of = defaultdict[str, list[object]](list)
            for row in table.to_pylist():
                of[str(row.pop("person"))].append(row)
            assert [*of] == sorted(of)
            shown[name] += sorted(map(repr, of.values()))
    assert shown["world_1"] == shown["permuted"]


@pytest.mark.parametrize("m", [1, 2])
def test_in_all_small_worlds_no_key_with_the_known_rows_is_somebodys_with_more_than_one_in_k(m: int) -> None:
    for anchored in (False, True):
        found, lost, _ = chances(4, m, anchored=anchored)
        assert found == Fraction(1, K)
        assert m == 2 or lost <= Fraction(1, K)
