"""An adversary who reads released people and events: which known rows leave fewer than k keys.

It counts by definition, over every class, and shares nothing with what writes or verifies releases.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from random import Random
from typing import Any

Label = Hashable
Key = Any


@dataclass(frozen=True)
class Released:
    """The class of each key, and the labels of its rows: all that an adversary gets."""

    classes: Mapping[Key, Hashable]
    rows: Mapping[Key, Counter[Label]]

    def of_class(self) -> Mapping[Hashable, list[Counter[Label]]]:
        """Per class the rows of each of its keys."""
        members = defaultdict[Hashable, list[Counter[Label]]](list)
        for key, of in self.classes.items():
            members[of].append(self.rows.get(key, Counter()))
        return members


def released(people: Mapping[Key, Hashable], rows: Iterable[tuple[Key, Label]]) -> Released:
    """A release of these people and rows; a row of nobody is an error."""
    counted: dict[Key, Counter[Label]] = {key: Counter() for key in people}
    for key, label in rows:
        counted[key][label] += 1
    return Released(people, counted)


def few(found: Released, k: int, m: int) -> list[tuple[Hashable, tuple[Label, ...], int]]:
    """The classes and sets of up to m known rows that 1 to k - 1 keys fit, with their number."""
    return [
        (of, known, fitting)
        for of, members in found.of_class().items()
        for size in range(m + 1)
        for known in _sets(members, size)
        if 0 < (fitting := sum(has(rows, known) for rows in members)) < k
    ]


def has(rows: Counter[Label], known: Iterable[Label]) -> bool:
    """Whether a key has at least these rows."""
    return all(rows[label] >= number for label, number in Counter(known).items())


def _sets(members: list[Counter[Label]], size: int) -> Iterator[tuple[Label, ...]]:
    labels = sorted({label for rows in members for label in rows}, key=repr)
    return combinations_with_replacement(labels, size)


def few_by_differences(
    found: Released, k: int, span: Callable[[Label], tuple[int, int] | None], differences: Iterable[int]
) -> int:
    """How many differences in days between two rows of a person 1 to k - 1 keys fit; `span` has the days of a label."""
    failures, spans = 0, {label: span(label) for rows in found.rows.values() for label in rows}
    for members in found.of_class().values():
        reaches = [set(_reaches(rows, spans)) for rows in members]
        failures += sum(
            0 < sum(any(low <= days <= high for low, high in of) for of in reaches) < k for days in differences
        )
    return failures


def _reaches(rows: Counter[Label], spans: Mapping[Label, tuple[int, int] | None]) -> Iterator[tuple[int, int]]:
    """The least and the most days by which one row of a key may be after another."""
    for a, b in product(rows, rows):
        one, other = spans[a], spans[b]
        if one is not None and other is not None and (a != b or rows[a] > 1):
            yield other[0] - one[1], other[1] - one[0]


def few_by_coarser(random: Random, found: Released, k: int, m: int, tries: int = 10) -> int:
    """How many kinds of vaguer knowledge 1 to k - 1 keys fit: each known row is one of some labels.

    Known rows are different rows. With m = 2, "these two rows are so many days apart" is some pairs of labels.
    """
    failures = 0
    for members in found.of_class().values():
        labels = sorted({label for rows in members for label in rows}, key=repr)
        for _ in range(tries if labels else 0):
            vague = [set(random.sample(labels, random.randrange(1, len(labels) + 1))) for _ in range(m)]
            fitting = sum(_fits(rows, vague) for rows in members)
            apart = {pair for pair in product(labels, labels) if random.random() < 0.3}
            far = sum(_has_pair(rows, apart) for rows in members) if m == 2 else 0
            failures += (0 < fitting < k) + (0 < far < k)
    return failures


def _fits(rows: Counter[Label], vague: list[set[Label]]) -> bool:
    return any(has(rows, chosen) for chosen in product(*vague))


def _has_pair(rows: Counter[Label], apart: set[tuple[Label, Label]]) -> bool:
    return any((a != b or rows[a] > 1) and (a, b) in apart for a in rows for b in rows)


def lost_anchors(
    found: Released, k: int, m: int, dated: Callable[[Label], bool], at_anchor: Callable[[Label], bool]
) -> int:
    """In how many sets of m - 1 known rows 1 to k - 1 keys have dated rows, and none at the anchor."""
    failures = 0
    for members in found.of_class().values():
        lost = [
            rows
            for rows in members
            if any(map(dated, rows)) and not any(at_anchor(label) for label in rows if dated(label))
        ]
        for size in range(m):
            for known in _sets(lost, size):
                failures += 0 < sum(has(rows, known) for rows in lost) < k
    return failures


def could_be(found: Released, people: Mapping[Key, Hashable], rows: Mapping[Key, Counter[Label]]) -> bool:
    """Whether each key can be another person of the source, with the class and at least the rows of the key."""
    fitting = {
        key: [p for p, of in people.items() if of == found.classes[key] and has(rows[p], own.elements())]
        for key, own in found.rows.items()
    }
    owner: dict[Key, Key] = {}

    def place(key: Key, seen: set[Key]) -> bool:
        for person in fitting[key]:
            if person not in seen:
                seen.add(person)
                if person not in owner or place(owner[person], seen):
                    owner[person] = key
                    return True
        return False

    return all(place(key, set()) for key in fitting)
