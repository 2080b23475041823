"""The promise by experiment through the service's own path: one release draws for 200,000 classes of known sizes."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from scipy.stats import beta

from tableveil.backend import Database, Session
from tableveil.differential_privacy import drops
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.policy.methods.differential_privacy import DifferentialPrivacy
from tableveil.state import privacy_budgets
from tableveil.state.releases import Release

pytestmark = pytest.mark.long

CLASSES = 100_000
"""The classes of each of two neighbouring sizes."""

SIZES = (6, 7)
"""So large that two rows are left at least, which k asks for."""

EPSILON, DELTA = Decimal(1), Decimal("0.1")

OUTSIDE = 1e-6
"""Each interval holds its probability but so seldom; at 1 in 1,000, one run in a hundred would fail by chance."""


def interval(hits: int) -> tuple[float, float]:
    """Clopper and Pearson (1934)."""
    low = float(beta.ppf(OUTSIDE / 2, hits, CLASSES - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - OUTSIDE / 2, hits + 1, CLASSES - hits)) if hits < CLASSES else 1.0
    return low, high


def test_a_released_class_tells_no_more_than_the_claim(
    database: Database, session: Session, run: Callable[[Database, Policy], Release]
) -> None:
    session.execute(
        f"CREATE TABLE people AS SELECT size || '/' || c AS ward FROM range({CLASSES}) of_class(c), "
        f"(VALUES ({SIZES[0]}), ({SIZES[1]})) sizes(size), range(size) r(i)"
    )
    with session.transaction():
        privacy_budgets.put(session.ledger, "patients", ["main.people"], EPSILON, DELTA, "ada")
    run(
        database,
        Policy(
            source=TableReference("", "main", "people"),
            attributes=(AttributePolicy("ward", Role.QUASI_IDENTIFIER, SuppressionOnly()),),
            person_column=None,
            privacy_models=(KAnonymity(2),),
            release=ReleaseTarget("main", "shown"),
            methods=(DifferentialPrivacy(EPSILON, DELTA, scheme=(("ward", 0),)),),
        ),
    )
    left: dict[int, Counter[int]] = {size: Counter() for size in SIZES}
    of_ward = "SELECT ward[1]::INTEGER AS size, count(*) AS n FROM shown GROUP BY ward"
    for size, rows, classes in session.rows(f"SELECT size, n, count(*) FROM ({of_ward}) GROUP BY size, n"):
        left[size][rows] = classes
    removed = drops(Fraction(EPSILON), Fraction(DELTA))
    assert removed.middle <= 2
    for size, counts in left.items():
        # None of these vanishes.
        assert counts.total() == CLASSES
        for z, mass in enumerate(removed.masses):
            low, high = interval(counts[size - z])
            assert low <= mass / removed.total <= high
    # For each set of outcomes, the surely likelier side keeps the bound; delta is used up by the one that only it has.
    for few, more in (SIZES, SIZES[::-1]):
        beyond = 0.0
        for rows in range(max(SIZES) + 1):
            low, high = interval(left[few][rows])[0], interval(left[more][rows])[1]
            beyond += max(0.0, low - float(EPSILON.exp()) * high)
        assert beyond <= float(DELTA)
