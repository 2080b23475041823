"""Numbers of suppressed records against a reader who knows the rule, the sum, and all that is told."""

from collections import defaultdict
from itertools import product

import pytest

from tableveil.privacy.told_suppression import Told, told_suppression


@pytest.mark.parametrize(
    ("k", "labels", "most"), [(3, 2, 16), (4, 2, 20), (3, 3, 13), (4, 3, 14), (5, 3, 16), (3, 4, 10), (4, 4, 11)]
)
def test_no_reader_learns_a_small_number(k: int, labels: int, most: int) -> None:
    """The reader lists all numbers of that sum, and keeps those by which the same would have been told."""
    cases = product(((9,) * labels, (0, 7, 9, 9)[:labels], (0,) * labels), (99, 2 * k - 2, k - 1))
    for released, room in cases:
        for total in range(most + 1):
            every = [one for one in product(range(min(total, room) + 1), repeat=labels) if sum(one) == total]
            alike = defaultdict(list)
            for suppressed in every:
                alike[told_suppression(suppressed, released, (room,) * labels, k)].append(suppressed)
            for told, possible in alike.items():
                for at, words in enumerate(told):
                    numbers = {suppressed[at] for suppressed in possible}
                    if words is Told.FEWER:
                        assert numbers == {*range(1, k)}
                    elif words is Told.NOTHING:
                        # The sum alone may say as much.
                        assert not numbers < {*range(1, k)} or numbers == {suppressed[at] for suppressed in every}
                    else:
                        assert words == 0 or words >= k


@pytest.mark.parametrize(
    ("suppressed", "released", "told"),
    [
        ((0, 0), (5, 5), (0, 0)),
        ((176, 0, 30), (0, 900, 950), (176, 0, 30)),
        ((176, 4, 30), (0, 900, 950), (176, Told.FEWER, Told.NOTHING)),
        ((176, 4, 30, 3, 6), (0, 90, 95, 90, 90), (176, Told.FEWER, 30, Told.FEWER, Told.FEWER)),
        ((14, 5), (900, 950), (Told.NOTHING, Told.NOTHING)),
        ((3, 0), (900, 950), (Told.NOTHING, Told.NOTHING)),
        ((300, 5), (0, 950), (Told.NOTHING, Told.NOTHING)),
    ],
)
def test_examples_for_k_of_10(
    suppressed: tuple[int, ...], released: tuple[int, ...], told: tuple[int | Told, ...]
) -> None:
    assert told_suppression(suppressed, released, (900,) * len(suppressed), 10) == told
