"""Values in an order: what is wrong with a rule, and its groups against slices of the list."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import OrderBased, OrderLabels

FIELD = "attributes[0].hierarchy.order_based"
GRADES = tuple("ABCDEFG")


@given(
    st.lists(st.integers(-99, 99), min_size=3, max_size=30, unique=True),
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.sampled_from(OrderLabels),
)
def test_groups_are_slices_of_the_list(values: list[int], fan_outs: list[int], labels: OrderLabels) -> None:
    texts = [str(value) for value in values]
    while math.prod(fan_outs) >= len(values):
        fan_outs = fan_outs[:-1]
    if not fan_outs:
        return
    rule = OrderBased(tuple(texts), tuple(fan_outs), labels)
    assert check_rule(rule, FIELD, ValueKind.INTEGER) == []
    # The order is that of the list, whatever order the column has.
    labelled = label_values(rule, ValueKind.INTEGER, [*sorted(values), 100], [*map(str, sorted(values)), "100"])
    assert labelled.covered.tolist() == [True] * len(values) + [False]
    assert labelled.domain_size == len(values)
    for level in range(len(fan_outs)):
        size = math.prod(fan_outs[: level + 1])
        for index, value in enumerate(sorted(values)):
            start = values.index(value) // size * size
            group = texts[start : start + size]
            expected = f"[{group[0]}, {group[-1]}]" if labels is OrderLabels.INTERVAL else f"{{{', '.join(group)}}}"
            assert labelled.labels[level][index] == (expected if len(group) > 1 else group[0])
            assert labelled.leaves[level][index] == len(group)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (OrderBased(GRADES, (2, 2)), []),
        (OrderBased(GRADES, ()), [".fan_outs"]),
        (OrderBased((), (2,)), [".values"]),
        (OrderBased(("A",), (2,)), [".values"]),
        (OrderBased(("A", "B", "A", "B"), (3,)), [".values[2]"]),
        (OrderBased(GRADES, (1,)), [".fan_outs[0]"]),
        (OrderBased(GRADES, (7,)), [".fan_outs[0]"]),
        (OrderBased(GRADES, (3, 3)), [".fan_outs[1]"]),
        (OrderBased(GRADES, (2, -1, 2)), [".fan_outs[1]"]),
        # Where values hold commas, sets of different values can look alike.
        (OrderBased(("a", "b, c", "a, b", "c"), (2,), OrderLabels.SET), [".labels"]),
        (OrderBased(("a", "b, c", "a, d", "c"), (2,), OrderLabels.SET), []),
        (OrderBased(("a", "b", "*"), (2,)), [".labels"]),
    ],
)
def test_faults(rule: OrderBased, expected: list[str]) -> None:
    assert [fault.field.removeprefix(FIELD) for fault in check_rule(rule, FIELD)] == expected
