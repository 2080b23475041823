"""Which values of a column fit an own value: those that others with it have, if that gives the column.

An own value gives a column if nearly everybody with it has a value that somebody else with it has, and if these values
fit at most half of the others under its label. A column that is independent has both by chance, equally often: so the
rule needs no table of chances, and a record's own presence tells nothing.
"""

from collections.abc import Sequence

import numpy as np

from tableveil.privacy.exposure.cells import Codes, Flags, ValuePairs, chance_of_one, telling, totals
from tableveil.risk.unchanged import EVIDENCE

ALONE = 50
"""An own value of so many records is judged by itself."""


def given_by(people: ValuePairs, strata: Sequence[Codes], *, minorities: bool) -> Flags:
    """The own values that give a column, by the numbers of people with each value.

    Each of the `strata` says under which label an own value is: it must tell more than that. Own values are judged
    together; `minorities`, those of about as many people as well, and by themselves where these are many or alike.
    """
    size, given = people.of_own, np.ones(people.owns, np.bool_)
    shared = people.records >= 2
    right = totals(people.own[shared], people.records[shared], people.owns)
    order = np.frexp(np.maximum(size, 1).astype(np.float64))[1].astype(np.int64)
    pools = [np.zeros(people.owns, np.int64), *([order] if minorities else [])]
    for stratum in strata:
        under = people.under(stratum)
        equal, rest = under.found(stratum[people.own], people.value), under.of_own[stratum] - size
        fitting = totals(people.own, equal - people.records, people.owns)
        tried = np.where((size >= 2) & (rest > 0), size, 0)
        by_chance = fitting / np.maximum(rest, 1)
        found = np.zeros(people.owns, np.bool_)
        for pool in pools:
            number = np.bincount(pool, weights=tried)
            shares = (np.bincount(pool, weights=tried * each) for each in (right / np.maximum(size, 1), by_chance))
            of_pool, others = (share / np.maximum(number, 1) for share in shares)
            found |= telling(of_pool, others, number)[pool]
        if minorities:
            found |= (size >= ALONE) & telling(right / np.maximum(size, 1), by_chance, size)
            found |= _alike(people, equal, under.of_own[stratum])
        given &= found & (tried > 0)
        if not given.any():
            break
    return given


def _alike(people: ValuePairs, equal: Codes, of_label: Codes) -> Flags:
    """The own values whose people all have one value, which is no chance: `equal` have it under the label."""
    alike = people.records == people.of_own[people.own]
    own = people.own[alike]
    chance = chance_of_one(people.records[alike], equal[alike], of_label[own])
    flags = np.zeros(people.owns, np.bool_)
    flags[own[-np.log(np.maximum(chance, 1e-300)) >= EVIDENCE + np.log(people.owns)]] = True
    return flags
