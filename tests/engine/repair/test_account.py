"""The owner's account of a repair: who lost rows, and which pairs of labels moved most."""

import numpy as np
from numpy.typing import NDArray

from tableveil.repair.account import Followed, Losers, followed, losers, moved
from tableveil.repair.facts import RowFacts


def test_people_are_told_apart_by_their_numbers_of_rows() -> None:
    before, after = np.array([0, 1, 1, 2, 3, 12]), np.array([0, 1, 0, 2, 1, 11])
    assert list(losers(before, after)) == [Losers(1, 1, 2, 1), Losers(2, 3, 2, 1), Losers(10, None, 1, 1)]


def test_odds_ratios_are_of_all_people_before_and_of_released_people_after() -> None:
    chance = np.random.default_rng(3)
    has = chance.random((2_000, 3)) < [0.5, 0.4, 0.3]
    people, labels = np.nonzero(has)
    facts = RowFacts(people.astype(np.int32), labels.astype(np.int32), np.ones(len(people), np.int32))
    class_of = np.where(np.arange(2_000) < 100, -1, 0).astype(np.int32)
    lost = (facts.labels == 1) & has[facts.people, 0] & (chance.random(len(people)) < 0.5)
    kept = np.where(lost | (class_of[facts.people] < 0), 0, 1).astype(np.int32)
    left = np.zeros_like(has)
    left[facts.people[kept > 0], facts.labels[kept > 0]] = True

    def odds(of: NDArray[np.bool_], one: int, other: int) -> float:
        a, b = of[:, one], of[:, other]
        return float((a & b).sum() * (~a & ~b).sum() / ((a & ~b).sum() * (b & ~a).sum()))

    found = moved(facts, kept, class_of, 3)
    assert len(found) == 3
    for pair in found:
        assert np.isclose(pair.before, odds(has, pair.one, pair.other))
        assert np.isclose(pair.after, odds(left[100:], pair.one, pair.other))
    moves = [abs(np.log(pair.after / pair.before)) for pair in found]
    assert moves == sorted(moves, reverse=True)


def test_what_follows_is_the_share_of_people_with_a_first_value_who_have_its_commonest_later_one() -> None:
    """Forty people begin with 1, and 30 of them go on to 2 and 20 to 0; ten lose the 2, and four their 1."""
    begin = [(person, 1, True, person >= 4) for person in range(40)]
    # A value that somebody has twice counts once; rows without a value count for nothing.
    later = [(person, 2, False, person < 20) for person in (*range(30), *range(30))]
    later += [(person, value, False, True) for person in range(20) for value in (0, -1)]
    few = [(person, 0, True, True) for person in range(40, 60)]
    people, values, first, kept = (np.array(column) for column in zip(*begin, *later, *few, strict=True))
    (found,) = followed(people.astype(np.int32), values.astype(np.int32), first, kept)
    assert found == Followed(30 / 40, 16 / 36)
    (found,) = followed(people.astype(np.int32), values.astype(np.int32), first, kept & ~first)
    assert found.after is None
