"""The payout sweep: every point equals the result of trying all transformations, and of a search for one gain."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.control import Control, Progress
from tableveil.errors import CancelledError
from tableveil.game import Combinations
from tableveil.game import sweep as sweep_module
from tableveil.game.counting import counted_at_all
from tableveil.game.sweep import Among, Sweep, SweepMethod, SweepPoint, SweptGame, SweptSource, payout_sweep
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import BreakEven, Game, Profitability, PublisherPayoutModel, Success
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem, exact
from tests.engine.random_tables import Attribute, inline

EQUAL = 1e-9

Codes = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """Records and people, by their codes; and the request."""

    attributes: tuple[Attribute, ...]
    records: Counter[Codes]
    people: Counter[Codes]
    has_population: bool
    game: Game
    gains: tuple[Decimal, ...]
    break_even: BreakEven
    linked: bool

    @property
    def combinations(self) -> Combinations:
        everybody = sorted(self.records.keys() | self.people.keys())
        levels = tuple(attribute.levels(attribute.values) for attribute in self.attributes)
        codes = tuple(np.array([c[j] for c in everybody], np.int32) for j in range(len(levels)))
        records = np.array([self.records[c] for c in everybody], np.int64)
        people = np.array([self.people[c] for c in everybody], np.int64) if self.has_population else records
        return Combinations(levels, codes, records, people)

    @property
    def lattice(self) -> Lattice:
        tops = tuple(levels.top for levels in self.combinations.levels)
        if self.linked and len(set(tops)) == 1:
            return Lattice((0,) * len(tops), tops, (tuple(range(len(tops))),))
        return Lattice((0,) * len(tops), tops)

    def sweep(
        self, if_method_known: bool = False, on_progress: Callable[[Progress], None] = lambda progress: None
    ) -> Sweep:
        top = self.lattice.top
        return payout_sweep(
            SweptSource(self.combinations, self.has_population, 3, self.lattice, top),
            SweptGame(self.game, self.gains, self.break_even, if_method_known),
            Control(),
            on_progress,
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """The population holds the source, or not quite."""
    attributes = tuple(draw(st.lists(inline(), min_size=1, max_size=2)))
    codes = st.tuples(*(st.integers(0, len(attribute.values) - 1) for attribute in attributes))
    records = Counter(draw(st.lists(codes, min_size=1, max_size=8)))
    has_population = draw(st.booleans())
    people = records + Counter(draw(st.lists(codes, max_size=12))) if has_population else Counter[Codes]()
    if has_population and draw(st.booleans()):
        people.pop(next(iter(records)), None)
    game = Game(draw(st.sampled_from([Decimal(12), Decimal("7.3")])), Decimal(1), Decimal(1), Decimal(2))
    gains = draw(
        st.lists(st.sampled_from(list(map(Decimal, ("0", "2", "3.7", "6", "12", "24", "50")))), min_size=1, max_size=2)
    )
    break_even = draw(st.sampled_from(BreakEven))
    return Case(
        attributes, records, people, has_population, game, tuple(sorted(set(gains))), break_even, draw(st.booleans())
    )


@dataclass(frozen=True)
class Tried:
    """A class at a transformation: its records, the payout of each, and whether it is attacked."""

    records: tuple[Codes, ...]
    payout: float
    attacked: bool
    pays: bool


class Brute:
    """All transformations, tried one after another on single records."""

    def __init__(self, case: Case, gain: Decimal, among: Among) -> None:
        self.case = case
        self.gain = gain
        self.levels = case.combinations.levels
        self.people = case.people if among is Among.POPULATION else case.records
        self.order = sorted(case.lattice, key=lambda x: (sum(x), x))
        self.tried = functools.cache(self._tried)

    def labels(self, codes: Codes, at: Transformation) -> Codes:
        return tuple(int(self.levels[j].groups[level][codes[j]]) for j, level in enumerate(at))

    def _tried(self, codes: Codes, at: Transformation) -> Tried:
        """The class of the combination."""
        labels = self.labels(codes, at)
        leaves = [int(self.levels[j].leaves[level][labels[j]]) for j, level in enumerate(at)]
        domains = [int(levels.domain_size) for levels in self.levels]
        whole, lost = math.prod(domains), math.prod(leaves)
        loss = math.log(lost) / math.log(whole) if whole > 1 else 0.0
        size = max(sum(n for c, n in self.people.items() if self.labels(c, at) == labels), 1)
        attacked = Fraction(self.gain) > Fraction(self.case.game.adversary_cost) * size
        benefit, attack = Fraction(self.case.game.publisher_benefit), Fraction(self.gain) / size if attacked else 0
        payout = float(benefit) * (1.0 - loss) - float(attack)
        sign = payout
        if lost in (1, whole):
            sign = float((benefit if lost == 1 else 0) - attack)
        else:
            # Whether an irrational payout is 0 is not for floating point to say.
            assume(abs(payout) > EQUAL)
        pays = sign >= 0 if self.case.break_even is BreakEven.KEEP else sign > 0
        records = tuple(c for c, n in self.case.records.items() if self.labels(c, at) == labels for _ in range(n))
        return Tried(records, payout, attacked, pays)

    def of_each(self, at: Transformation) -> Iterator[Tried]:
        """Per record, its class."""
        for codes in self.case.records.elements():
            yield self.tried(codes, at)

    def full_domain(self, no_attack: bool) -> tuple[float, int, int, Transformation]:
        best: tuple[float, int, int, Transformation] | None = None
        for at in self.order:
            kept = [t for t in self.of_each(at) if t.pays and not (no_attack and t.attacked)]
            payout = math.fsum(t.payout for t in kept)
            if best is None or payout > best[0] + EQUAL:
                best = (payout, len(kept), sum(t.attacked for t in kept), at)
        assert best is not None
        return best

    def record_level(self, no_attack: bool) -> tuple[float, int, int]:
        chosen: list[Tried] = []
        for codes in self.case.records.elements():
            best: Tried | None = None
            for at in self.order:
                tried = self.tried(codes, at)
                allowed = tried.pays and not (no_attack and tried.attacked)
                if allowed and (best is None or tried.payout > best.payout + EQUAL):
                    best = tried
            if best is not None:
                chosen.append(best)
        return math.fsum(t.payout for t in chosen), len(chosen), sum(t.attacked for t in chosen)

    def released_whole(self, at: Transformation) -> tuple[float, int, int]:
        each = list(self.of_each(at))
        return math.fsum(t.payout for t in each), len(each), sum(t.attacked for t in each)


@given(cases())
def test_every_point_is_what_trying_all_transformations_finds(case: Case) -> None:
    sweep = case.sweep()
    amongs = list(Among) if case.has_population else [Among.SOURCE]
    found = [(point.method, point.among, point.gain) for point in sweep.points]
    assert found == list(itertools.product(SweepMethod, amongs, case.gains))
    records = case.records.total() + 3
    assert (sweep.records, sweep.counted, sweep.lattice_size) == (records, case.lattice.size, case.lattice.size)
    for point in sweep.points:
        brute = Brute(case, point.gain, point.among)
        no_attack = point.method.name.endswith("NO_ATTACK")
        at: Transformation | None
        match point.method:
            case SweepMethod.SAFE_HARBOR:
                payout, released, attacked = brute.released_whole(case.lattice.top)
                at = case.lattice.top
            case SweepMethod.RECORD_LEVEL | SweepMethod.RECORD_LEVEL_NO_ATTACK:
                payout, released, attacked = brute.record_level(no_attack)
                at = None
            case _:
                payout, released, attacked, at = brute.full_domain(no_attack)
        assert point.payout == pytest.approx(payout, rel=EQUAL, abs=EQUAL)
        assert (point.suppressed, point.attacked, point.transformation) == (records - released, attacked, at)
        assert point.payout_if_method_known is None


@given(cases())
def test_a_point_is_the_optimum_of_a_search_for_its_gain(case: Case) -> None:
    combinations = case.combinations
    success = Success.JOURNALIST if case.has_population else Success.PROSECUTOR
    among = Among.POPULATION if case.has_population else Among.SOURCE
    for point in case.sweep().points:
        if point.method is not SweepMethod.FULL_DOMAIN or point.among is not among:
            continue
        counter = NumpyCounter(
            combinations.levels,
            combinations.codes,
            combinations.records,
            withheld=3,
            population=combinations.people if case.has_population else None,
        )
        game = replace(case.game, publisher_loss=point.gain, adversary_gain=point.gain)
        best = exact(
            Problem(
                case.lattice,
                counter,
                privacy_of([Profitability(success, case.break_even)], counter, None, game),
                quality_of(
                    PublisherPayoutModel(success), counter, [1.0] * len(combinations.levels), counter.records, game
                ),
                counter.records,
            ),
            Control(),
        ).best
        assert best is not None
        unpaid = float(case.game.publisher_benefit) * counter.records - point.payout
        assert best.score == pytest.approx(unpaid, rel=EQUAL)
        assert (best.transformation, best.suppressed) == (point.transformation, point.suppressed)


@given(cases())
def test_an_adversary_who_knows_the_method_never_makes_a_release_pay_more(case: Case) -> None:
    plain, known = case.sweep(), case.sweep(if_method_known=True)
    for before, after in zip(plain.points, known.points, strict=True):
        if before.method in (SweepMethod.RECORD_LEVEL, SweepMethod.RECORD_LEVEL_NO_ATTACK):
            assert after.payout_if_method_known is not None
            assert after.payout_if_method_known <= after.payout + EQUAL
        assert replace(after, payout_if_method_known=None) == before


@given(cases())
def test_counting_follows_everyone_if_asked_to(case: Case) -> None:
    for everyone in (False, True):
        combinations = case.combinations
        followed = range(len(combinations.records)) if everyone else np.flatnonzero(combinations.records)
        seen = set()
        for counted in counted_at_all(combinations, case.lattice, everyone):
            seen.add(counted.at)
            brute = Brute(case, Decimal(0), Among.POPULATION)
            labels = [brute.labels(tuple(int(c[i]) for c in combinations.codes), counted.at) for i in followed]
            assert [tuple(int(group[of]) for group in counted.groups) for of in counted.of] == labels
            assert len(set(labels)) == len(counted.people)
            for number, of in zip(followed, counted.of, strict=True):
                mates = [
                    i
                    for i in range(len(combinations.records))
                    if brute.labels(tuple(int(c[i]) for c in combinations.codes), counted.at)
                    == brute.labels(tuple(int(c[number]) for c in combinations.codes), counted.at)
                ]
                assert counted.people[of] == combinations.people[mates].sum()
                assert counted.records[of] == combinations.records[mates].sum()
        assert seen == set(case.lattice)


# --- by hand: a and b are one place, c another; four people each -----------------------------------------------------

PLACE = InlineLevels((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))


def by_hand(gains: Sequence[str], break_even: BreakEven = BreakEven.KEEP, bottom: int = 0) -> Sweep:
    values = ["a", "b", "c"]
    levels = attribute_levels(label_values(PLACE, ValueKind.TEXT, values, values), has_null=False)
    one, four = np.ones(3, np.int64), np.full(3, 4, np.int64)
    combinations = Combinations((levels,), (np.arange(3, dtype=np.int32),), one, four)
    game = Game(Decimal(10), Decimal(1), Decimal(1), Decimal(4))
    lattice = Lattice((bottom,), (2,))
    source = SweptSource(combinations, True, 0, lattice, (1,))
    return payout_sweep(source, SweptGame(game, [*map(Decimal, gains)], break_even), Control())


def points(sweep: Sweep, method: SweepMethod, among: Among) -> list[SweepPoint]:
    return [point for point in sweep.points if (point.method, point.among) == (method, among)]


def test_nobody_attacks_for_nothing_or_for_what_it_costs() -> None:
    sweep = by_hand(["0", "3", "4"])
    for point in sweep.points:
        assert point.attacked == 0
        assert point.suppressed == 0
        if point.method is not SweepMethod.SAFE_HARBOR:
            assert point.payout == 30.0
            assert point.transformation in (None, (0,))


def test_attacks_begin_strictly_above_their_cost() -> None:
    """1/4 of 16 is 4, what an attack costs; 1/4 of 17 is more."""
    before, after = points(by_hand(["16", "17"]), SweepMethod.FULL_DOMAIN, Among.POPULATION)
    assert (before.payout, before.attacked, before.transformation) == (30.0, 0, (0,))
    assert (after.payout, after.attacked, after.transformation) == (30 - 3 * 17 / 4, 3, (0,))


def test_record_level_generalizes_only_whom_it_pays_for() -> None:
    """At 32, attacks on a class of eight just do not pay: a and b are released as x, c is attacked or all is lost."""
    record_level = points(by_hand(["32"]), SweepMethod.RECORD_LEVEL, Among.POPULATION)[0]
    worth = 10 * (1 - math.log(2) / math.log(3))
    assert record_level.payout == pytest.approx(2 * worth + (10 - 32 / 4))
    assert (record_level.suppressed, record_level.attacked) == (0, 1)
    unattacked = points(by_hand(["32"]), SweepMethod.RECORD_LEVEL_NO_ATTACK, Among.POPULATION)[0]
    # c is safe at the top, where it is worth nothing and costs nothing.
    assert unattacked.payout == pytest.approx(2 * worth)
    assert (unattacked.suppressed, unattacked.attacked) == (0, 0)


@pytest.mark.parametrize(("break_even", "suppressed"), [(BreakEven.KEEP, 0), (BreakEven.SUPPRESS, 3)])
def test_what_pays_nothing_goes_as_asked(break_even: BreakEven, suppressed: int) -> None:
    """All twelve people together are safe: released as `*`, a record pays exactly nothing."""
    found = points(by_hand(["48"], break_even, bottom=2), SweepMethod.FULL_DOMAIN_NO_ATTACK, Among.POPULATION)[0]
    assert (found.payout, found.suppressed) == (0.0, suppressed)


def test_of_equal_payouts_the_least_levels_are_taken() -> None:
    """At 400 nothing pays at any level: all is suppressed at the bottom, as good as at any other."""
    found = points(by_hand(["400"]), SweepMethod.FULL_DOMAIN, Among.SOURCE)[0]
    assert (found.payout, found.suppressed, found.transformation) == (0.0, 3, (0,))


def test_safe_harbor_releases_what_does_not_pay_too() -> None:
    found = points(by_hand(["400"]), SweepMethod.SAFE_HARBOR, Among.POPULATION)[0]
    worth = 10 * (1 - math.log(2) / math.log(3))
    assert found.payout == pytest.approx(2 * (worth - 400 / 8) + (10 - 400 / 4))
    assert (found.suppressed, found.attacked, found.transformation) == (0, 3, (1,))


@given(cases())
def test_gains_that_memory_has_no_room_for_are_swept_one_after_another(case: Case) -> None:
    reports: list[Progress] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sweep_module, "MEMORY", 1)
        found = case.sweep(on_progress=reports.append)
    for one, other in zip(found.points, case.sweep().points, strict=True):
        assert one.payout == pytest.approx(other.payout, rel=EQUAL, abs=EQUAL)
        assert replace(one, payout=0.0) == replace(other, payout=0.0)
    assert found.counted == case.lattice.size
    assert (reports[-1].checked, reports[-1].lattice_size) == (case.lattice.size, case.lattice.size)


def test_a_cancelled_sweep_ends() -> None:
    case = Case(
        (), Counter(), Counter(), False, Game(*map(Decimal, (1, 1, 1, 1))), (Decimal(1),), BreakEven.KEEP, False
    )
    control = Control()
    control.cancel()
    source = SweptSource(case.combinations, False, 0, Lattice((), ()), None)
    swept = SweptGame(case.game, case.gains, case.break_even)
    with pytest.raises(CancelledError):
        payout_sweep(source, swept, control)
