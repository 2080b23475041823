"""Safe Harbor refuses no class, so that beside another model it does not change that model's release."""

from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import KAnonymity, SafeHarbor
from tableveil.privacy import privacy_of
from tests.engine.privacy.monotonicity import SmallTable, check_declared, small_tables
from tests.engine.rules import k_anonymity


@given(small_tables())
def test_what_is_declared_is_true(table: SmallTable) -> None:
    check_declared(table, lambda facts: privacy_of([SafeHarbor()], facts.counter))
    for x in table.lattice:
        assert privacy_of([SafeHarbor()], table.facts.counter).releasable(table.at(x)[0]).all()


@given(small_tables(), st.integers(2, 5), st.integers(0, 20))
def test_beside_another_model(table: SmallTable, k: int, suppressible: int) -> None:
    both, alone = privacy_of([SafeHarbor(), KAnonymity(k)], table.facts.counter), k_anonymity(k)
    assert both.minimum_class_size == k
    for x in table.lattice:
        classes, _ = table.at(x)
        assert both.releasable(classes).tolist() == alone.releasable(classes).tolist()
        assert both.refuses_all_below(classes) == alone.refuses_all_below(classes)
        assert both.rules[0].nearest(classes, suppressible) is None
