"""The promises about repeating people, by brute force on small random tables: k-anonymity of people, and dominance.

Rows know their people here, and nothing is counted by sizes.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.lattice import Transformation
from tableveil.policy import Dominance, KAnonymity
from tableveil.privacy import Facts, ReleaseRule
from tableveil.privacy.people import (
    DominanceRule,
    KPeopleRule,
    achieved_risk,
    dominance_rule,
    largest_shares,
    people_in,
)
from tableveil.privacy.registry import RULES
from tests.engine.privacy.monotonicity import SmallTable, check_declared, small_tables

PEOPLE = small_tables(people=True)
SHARES = st.sampled_from([Decimal(text) for text in ("0.9", "0.5", "0.4", "0.34", "0.3333", "0.25", "0.2", "0.1")])


def owners(table: SmallTable, x: Transformation) -> list[Counter[int]]:
    """Per class at x the records of each person, added up row by row."""
    counter = table.facts.counter
    rows = counter.classes((0,) * len(x)).values(0)
    _, class_of = table.at(x)
    counted = [row for row in range(len(table.counts)) if table.counts[row]]
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for row, person, records in zip(rows.classes.tolist(), rows.values.tolist(), rows.counts.tolist(), strict=True):
        found[int(class_of[counted[row]])][person] += records
    return [found[number] for number in range(len(found))]


def k_anonymity_rule(model: KAnonymity, facts: Facts) -> ReleaseRule:
    return RULES[KAnonymity](model, facts)


@given(table=PEOPLE, k=st.integers(2, 6))
def test_k_anonymity_counts_different_people(table: SmallTable, k: int) -> None:
    rule = k_anonymity_rule(KAnonymity(k), table.facts)
    for x in table.lattice:
        classes, of = table.at(x)[0], owners(table, x)
        assert people_in(classes, table.facts).tolist() == [len(people) for people in of]
        assert rule.releasable(classes).tolist() == [len(people) >= k for people in of]


@given(table=PEOPLE, share=SHARES)
def test_dominance_bounds_the_chance_that_a_row_is_a_persons(table: SmallTable, share: Decimal) -> None:
    rule = dominance_rule(Dominance(share), table.facts)
    for x in table.lattice:
        classes, of = table.at(x)[0], owners(table, x)
        # An adversary without any other knowledge: each assignment of the class's rows to its records is as likely.
        chances = [max(Fraction(n, people.total()) for n in people.values()) for people in of]
        assert largest_shares(classes, table.facts) == pytest.approx([float(chance) for chance in chances])
        assert rule.releasable(classes).tolist() == [chance <= Fraction(share) for chance in chances]


@given(table=st.one_of(PEOPLE, small_tables()), thresholds=st.lists(SHARES, unique=True))
def test_a_records_risk_is_the_largest_share_of_one_person(table: SmallTable, thresholds: list[Decimal]) -> None:
    repeating = table.facts.people is not None
    for x in table.lattice:
        classes = table.at(x)[0]
        of = owners(table, x) if repeating else [Counter(range(size)) for size in classes.counts.tolist()]
        risks = [Fraction(max(people.values()), people.total()) for people in of for _ in range(people.total())]
        found = achieved_risk(classes, table.facts, thresholds)
        assert (found.records, found.classes) == (len(risks), len(of))
        assert (found.highest, found.lowest) == (float(max(risks)), float(min(risks)))
        assert found.average == pytest.approx(float(sum(risks) / len(risks)))
        assert found.unique_records == sum(people.total() for people in of if len(people) == 1)
        assert found.records_at_risk == tuple((t, sum(risk > Fraction(t) for risk in risks)) for t in thresholds)


@given(table=PEOPLE, k=st.integers(2, 6))
def test_the_search_may_inherit_what_k_anonymity_of_people_declares(table: SmallTable, k: int) -> None:
    check_declared(table, lambda facts: k_anonymity_rule(KAnonymity(k), facts))


@given(table=PEOPLE, share=SHARES)
def test_the_search_may_inherit_what_dominance_declares(table: SmallTable, share: Decimal) -> None:
    check_declared(table, lambda facts: dominance_rule(Dominance(share), facts))


def test_dominance_of_at_most_one_by_k_implies_k_people() -> None:
    random = Random(21)
    for _ in range(2000):
        people = Counter(random.choices("abcdef", k=random.randint(1, 30)))
        for k in range(2, 7):
            if max(people.values()) * k <= people.total():
                assert len(people) >= k


def test_k_people_alone_promise_no_chance_of_one_by_k() -> None:
    """The issue's example: one of 5 people has 4 of 8 records."""
    people = Counter({"a": 4, "b": 1, "c": 1, "d": 1, "e": 1})
    assert len(people) == 5
    assert Fraction(people["a"], people.total()) == Fraction(1, 2)


def test_the_posterior_is_the_share_of_the_records_in_all_worlds() -> None:
    """Worlds: all assignments of a class's records to its rows. The adversary knows the people, not the rows."""
    records = "aabc"
    worlds = {world for world in product("abc", repeat=4) if sorted(world) == sorted(records)}
    for row in range(4):
        for person in "abc":
            chance = Fraction(sum(world[row] == person for world in worlds), len(worlds))
            assert chance == Fraction(records.count(person), 4)


@given(table=PEOPLE, k=st.integers(2, 6), share=SHARES)
def test_sizes_decide_only_where_they_can(table: SmallTable, k: int, share: Decimal) -> None:
    """The answers are the same if somebody has so many records elsewhere that no size decides."""
    rules = (k_anonymity_rule(KAnonymity(k), table.facts), dominance_rule(Dominance(share), table.facts))
    for x in table.lattice:
        classes = table.at(x)[0]
        answers = [rule.releasable(classes) for rule in rules]
        for rule, answer in zip(rules, answers, strict=True):
            assert isinstance(rule, KPeopleRule | DominanceRule)
            unknowing = copy(rule)
            unknowing.__dict__["people"] = replace(rule.people, counts=np.full(len(rule.people.counts), 1000))
            assert (unknowing.releasable(classes) == answer).all()


# --- where every record is another person ---------------------------------------------------------------------------


@given(table=small_tables(), k=st.integers(2, 6), share=SHARES)
def test_records_are_people_where_no_person_repeats(table: SmallTable, k: int, share: Decimal) -> None:
    for rule, least in (
        (k_anonymity_rule(KAnonymity(k), table.facts), k),
        (dominance_rule(Dominance(share), table.facts), -(-1 // Fraction(share))),
    ):
        assert rule.sizes_only
        assert rule.minimum_class_size == least
        for x in table.lattice:
            classes = table.at(x)[0]
            assert (rule.releasable(classes) == (classes.counts >= least)).all()


# --- offers ---------------------------------------------------------------------------------------------------------


@given(table=PEOPLE | small_tables(), data=st.data())
def test_offered_parameters_hold(table: SmallTable, data: st.DataObject) -> None:
    classes = table.at(table.facts.top)[0]
    suppressible = data.draw(st.integers(0, int(classes.counts.sum()) - 1))

    def check(offered: str | None, rule: Callable[[Decimal], ReleaseRule]) -> None:
        if offered is not None:
            kept = rule(Decimal(offered.split(" = ")[1])).releasable(classes)
            assert int(classes.counts[~kept].sum()) <= suppressible

    def k_people(k: Decimal) -> ReleaseRule:
        return k_anonymity_rule(KAnonymity(int(k)), table.facts)

    def dominance(share: Decimal) -> ReleaseRule:
        return dominance_rule(Dominance(share), table.facts)

    check(k_people(Decimal(7)).nearest(classes, suppressible), k_people)
    check(dominance(Decimal("0.01")).nearest(classes, suppressible), dominance)


# --- what is not inherited ------------------------------------------------------------------------------------------


def _people_share(rows: list[tuple[str, str]]) -> Fraction:
    """The largest share of a class's people who have one value."""
    people = len({person for person, _ in rows})
    having = Counter(value for _, value in set(rows))
    return Fraction(max(having.values()), people)


def test_the_peoples_share_of_a_value_is_not_inherited() -> None:
    """Neither upwards nor downwards: it bounds no search."""
    left, right = [("a", "flu"), ("b", "cold")], [("b", "cold"), ("c", "flu")]
    assert _people_share(left) == _people_share(right) == Fraction(1, 2) < _people_share(left + right)
    left, right = [("a", "flu"), ("b", "flu")], [("a", "cold"), ("c", "cold"), ("d", "cold")]
    assert _people_share(left) == _people_share(right) == 1 > _people_share(left + right)


@pytest.mark.parametrize("many", [2, 3, 5])
def test_the_records_beyond_a_share_are_lost_whatever_the_parts(many: int) -> None:
    random = np.random.default_rng(many)
    for _ in range(300):
        parts = [random.integers(0, 5, size=4) for _ in range(many)]
        share = Fraction(1, 2)
        kept = [part for part in parts if part.sum() and part.max() <= share * int(part.sum())]
        released = sum(kept, np.zeros(4, np.int64))
        whole = sum(parts, np.zeros(4, np.int64))
        beyond = np.clip(whole - int(whole.sum()) // 2, 0, None).sum()
        assert whole.sum() - released.sum() >= beyond
