"""Properties of a policy: exact limits, companion names, quasi-identifiers in order."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference


def policy(limit: Decimal, attributes: tuple[AttributePolicy, ...] = ()) -> Policy:
    release = ReleaseTarget("main", "out")
    return Policy(TableReference("", "main", "t"), attributes, None, (KAnonymity(2),), release, suppression_limit=limit)


@pytest.mark.parametrize(
    ("limit", "records", "expected"),
    [
        # As binary floats: 0.29 * 100 = 28.999…, 0.1 * 3 = 0.30000000000000004.
        ("0.1", 30, 3),
        ("0.29", 100, 29),
        ("0.57", 100, 57),
        ("0.05", 19, 0),
        ("0.05", 20, 1),
        ("0", 10**12, 0),
        ("1", 10**12, 10**12),
        ("0.3333333333333333333333333333", 3, 0),
        ("0.3333333333333333333333333334", 3, 1),
        ("0." + "9" * 300, 10**9, 10**9 - 1),
    ],
)
def test_suppressible_records_are_counted_exactly(limit: str, records: int, expected: int) -> None:
    assert policy(Decimal(limit)).suppressible(records) == expected


@given(limit=st.decimals(0, 1, places=6), records=st.integers(0, 10**12))
def test_suppressible_is_the_floor(limit: Decimal, records: int) -> None:
    share = Fraction(limit) * records
    assert policy(limit).suppressible(records) <= share < policy(limit).suppressible(records) + 1


def test_quasi_identifiers_keep_the_policys_order() -> None:
    roles = [("c", Role.QUASI_IDENTIFIER), ("a", Role.SENSITIVE), ("b", Role.QUASI_IDENTIFIER)]
    attributes = tuple(AttributePolicy(name, role) for name, role in roles)
    assert [a.column for a in policy(Decimal(0), attributes).quasi_identifiers] == ["c", "b"]


def test_companion_objects_take_the_name_as_prefix() -> None:
    target = ReleaseTarget("s", "out")
    explanations = ("out_columns", "out_labels", "out_about")
    assert target.object_names == ("out", "out_classes", "out_risk", "out_risk_histogram", *explanations)
    without = replace(target, label_columns=False)
    assert without.object_names == ("out", "out_classes", "out_risk", "out_risk_histogram")


def test_table_reference_reads_as_in_sql() -> None:
    assert str(TableReference("", "main", "t")) == "main.t"
    assert str(TableReference("c", "s", "t")) == "c.s.t"
