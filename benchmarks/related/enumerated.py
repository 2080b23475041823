"""Section: all worlds of up to six people, and the chance that a key is a given person's."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np

from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.repair.anchor import repaired_with_anchor
from tableveil.repair.facts import RowFacts

K = 2
MOST_ROWS = (1, 1, 2)
"""The most rows of each label."""

LABELS = len(MOST_ROWS)
Rows = tuple[int, ...]
"""The labels of somebody's rows, ascending. With an anchor label 0 is that of the first row."""

Outcome = list[tuple[Rows, Rows]]
"""Per person the rows in the source, and those that were released."""


def enumerated() -> Section:
    """The highest chances, where the known rows are found and where they are not."""
    lines, sound = list[tuple[str, ...]](), True
    for people in (4, 5, 6):
        for m in (1, 2):
            for anchored in (False, True):
                found, lost, above = chances(people, m, anchored=anchored)
                met = found <= Fraction(1, K) and (m > 1 or lost <= Fraction(1, K))
                sound = sound and met
                anchor = "first row" if anchored else "none"
                lines.append((str(people), str(m), anchor, str(found), str(lost), f"{100 * above:.2f} %", verdict(met)))
    return Section(
        "All small worlds",
        (
            f"Everybody has up to {', '.join(map(str, MOST_ROWS))} rows of {LABELS} labels, independently, k = {K}. "
            "The adversary knows up to m rows of one person, the release and the method. Goal: a key is the "
            f"person's with a chance of at most 1/{K} if it has the known rows; at m = 1 also if no key has them.",
            table(("people", "m", "anchor", "found, at most", "not found, at most", "above, of these", "goal"), lines),
        ),
        sound,
    )


def _options(*, anchored: bool) -> list[Rows]:
    counts = product(*(range(most + 1) for most in MOST_ROWS))
    every = [tuple(label for label, number in enumerate(of) for _ in range(number)) for of in counts]
    # Everybody who has rows has a first one.
    return [rows for rows in every if not anchored or not rows or 0 in rows]


def _outcomes(worlds: Sequence[Sequence[Rows]], m: int, *, anchored: bool) -> Iterator[Outcome]:
    """The people of each world with the rows that the repair leaves; each is a class of its own."""
    size = len(worlds[0])
    owners, labels = list[int](), list[int]()
    for number, world in enumerate(worlds):
        for i, rows in enumerate(world):
            owners += [number * size + i] * len(rows)
            labels += rows
    own, label = np.array(owners, np.int32), np.array(labels, np.int32)
    facts = RowFacts.of(own, label, np.ones(len(own), np.int32), LABELS)
    class_of = np.repeat(np.arange(len(worlds), dtype=np.int32), size)
    at_anchor = np.arange(LABELS) == 0
    flags = (np.ones(LABELS, np.bool_), at_anchor) if anchored else None
    kept = repaired_with_anchor(facts, class_of, K, m, flags)
    left = defaultdict[int, list[int]](list)
    for person, fact, number in zip(facts.people.tolist(), facts.labels.tolist(), kept.tolist(), strict=True):
        left[person] += [fact] * number
    for number, world in enumerate(worlds):
        yield [(rows, tuple(sorted(left[number * size + i]))) for i, rows in enumerate(world)]


def chances(people: int, m: int, *, anchored: bool) -> tuple[Fraction, Fraction, float]:
    """The highest chance if known rows are found, and if not; and how often that is above 1/k."""
    worlds = [*combinations_with_replacement(_options(anchored=anchored), people)]
    weights = defaultdict[tuple[tuple[Rows, ...], Rows], Counter[Rows]](Counter)
    for world, outcome in zip(worlds, _outcomes(worlds, m, anchored=anchored), strict=True):
        orders = factorial(people) // prod(factorial(number) for number in Counter(world).values())
        public = tuple(sorted(released for _, released in outcome))
        for own, released in outcome:
            for known in {rows for size in range(m + 1) for rows in _some(own, size)}:
                weights[public, known][released] += orders
    found, lost, above, of = Fraction(0), Fraction(0), 0, 0
    for (public, known), of_key in weights.items():
        total, keys = of_key.total(), Counter(public)
        fitting = any(_has(key, known) for key in keys)
        for released, weight in of_key.items():
            chance = Fraction(weight, total * keys[released])
            if _has(released, known):
                found = max(found, chance)
            elif not fitting:
                lost = max(lost, chance)
        if not fitting:
            of += total
            above += total * any(Fraction(w, total * keys[r]) > Fraction(1, K) for r, w in of_key.items())
    return found, lost, above / max(of, 1)


def _some(rows: Rows, size: int) -> Iterator[Rows]:
    return (known for known in combinations_with_replacement(sorted(set(rows)), size) if _has(rows, known))


def _has(rows: Rows, known: Rows) -> bool:
    return not Counter(known) - Counter(rows)
