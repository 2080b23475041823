"""An adversary with released people and events finds no key by known rows, or at least k; nothing else tells more."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random

import pytest

from benchmarks.related.enumerated import K, chances
from tests.adversary.related.attack import few_by_differences, released
from tests.adversary.related.published import as_released, findings, publish
from tests.adversary.related.worlds import class_of, draw, labels_of, span

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


def test_days_between_two_rows_leave_fewer_than_k_keys_of_rows_that_nobody_repaired() -> None:
    """The attack that finds nothing in releases finds something here."""
    found = 0
    for seed in range(20):
        world = draw(Random(seed))
        rows = [
            (event.person, (name, *label))
            for name, events in world.events.items()
            for event, label in zip(events, labels_of(world, name), strict=True)
        ]
        raw = released({person.number: class_of(world, person) for person in world.people}, rows)
        found += few_by_differences(raw, world.k, partial(span, world), range(0, 60, 7))
    assert found > 20


@pytest.mark.parametrize("m", [1, 2])
def test_in_all_small_worlds_no_key_with_the_known_rows_is_somebodys_with_more_than_one_in_k(m: int) -> None:
    for anchored in (False, True):
        found, lost, _ = chances(4, m, anchored=anchored)
        assert found == Fraction(1, K)
        assert m == 2 or lost <= Fraction(1, K)
