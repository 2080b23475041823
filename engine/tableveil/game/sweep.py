"""The payout sweep: how much each method pays, as the adversary's gain and the publisher's loss grow together.

Each transformation's classes are counted once for all methods, and for as many gains as memory has room for.
`tableveil.game` does not export this module, because it builds on `tableveil.search`, which builds on the game.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tableveil.classes.blocks import sums_at
from tableveil.control import SECONDS_BETWEEN_REPORTS, Control, Progress, Stopped
from tableveil.game.assignment import (
    SUPPRESSED,
    Assignment,
    Choice,
    Combinations,
    in_order,
    payouts_against,
    pre_image_sizes,
)
from tableveil.game.counting import CountedClasses, counted_at_all
from tableveil.game.payout import InformationLoss, Stakes
from tableveil.game.record_level import BestOfAll, best_transformations
from tableveil.lattice import Lattice, Transformation
from tableveil.numeric.rounding import SLACK, rounded
from tableveil.policy import BreakEven, Game


@dataclass(frozen=True, slots=True)
class FullDomainPayout:
    """A transformation, the payout of releasing at it, and how many records are released and attacked.

    `key` orders transformations: first by the part of all records' benefit that is not paid, then by the sum of levels,
    then by the levels.
    """

    transformation: Transformation
    payout: float
    released: int
    attacked: int
    key: tuple[float, int, Transformation]


class BestFullDomain:
    """The best transformation considered so far, for several stakes at once.

    Whether a record pays depends on its class only, so records are suppressed class by class.
    """

    def __init__(self, stakes: Sequence[Stakes], choice: Choice) -> None:
        self._stakes = tuple(stakes)
        self._choice = choice
        self._best: list[FullDomainPayout | None] = [None] * len(self._stakes)

    def consider(self, counted: CountedClasses, loss: NDArray[np.float64]) -> None:
        """Considers one more transformation: its classes, and the information loss of each one's records."""
        lost = float(counted.records @ loss)
        for i, stakes in enumerate(self._stakes):
            best = self._best[i]
            # The payout without any attack is an upper bound of the payout.
            if best is not None and stakes.benefit * lost * (1.0 - SLACK) > best.key[0]:
                continue
            payout = self._at(stakes, counted, loss)
            if best is None or payout.key < best.key:
                self._best[i] = payout

    def best(self) -> list[FullDomainPayout]:
        """The best transformation per stakes; at least one was considered."""
        return [best for best in self._best if best is not None]

    def _at(self, stakes: Stakes, counted: CountedClasses, loss: NDArray[np.float64]) -> FullDomainPayout:
        attacked = stakes.attacked(counted.people)
        kept = self._choice.releasable(stakes, loss, counted.people)
        records = counted.records[kept]
        payout = float(records @ stakes.payouts(loss, counted.people)[kept])
        unpaid = rounded(stakes.benefit * int(counted.records.sum()) - payout)
        key = (unpaid, sum(counted.at), counted.at)
        return FullDomainPayout(counted.at, payout, int(records.sum()), int(records[attacked[kept]].sum()), key)


MEMORY = 512 << 20
"""Bytes of the assignments that are made at once; if there are more, everything is counted again for the rest."""

BYTES_PER_CHOICE = 32
"""Approximate bytes that an assignment takes per combination."""


class SweepMethod(StrEnum):
    """How records are de-identified.

    `FULL_DOMAIN`: all at the one transformation that pays most, without the records that do not pay.
    `FULL_DOMAIN_NO_ATTACK`: like `FULL_DOMAIN`, without the records on which an attack pays. `RECORD_LEVEL`: every
    combination of values at the transformation that pays most for it. `RECORD_LEVEL_NO_ATTACK`: like `RECORD_LEVEL`,
    among the transformations at which no attack pays. `SAFE_HARBOR`: all records at the Safe Harbor levels, attacked or
    not.
    """

    FULL_DOMAIN = "FULL_DOMAIN"
    FULL_DOMAIN_NO_ATTACK = "FULL_DOMAIN_NO_ATTACK"
    RECORD_LEVEL = "RECORD_LEVEL"
    RECORD_LEVEL_NO_ATTACK = "RECORD_LEVEL_NO_ATTACK"
    SAFE_HARBOR = "SAFE_HARBOR"


FULL_DOMAIN = (SweepMethod.FULL_DOMAIN, SweepMethod.FULL_DOMAIN_NO_ATTACK)
RECORD_LEVEL = (SweepMethod.RECORD_LEVEL, SweepMethod.RECORD_LEVEL_NO_ATTACK)
NO_ATTACK = (SweepMethod.FULL_DOMAIN_NO_ATTACK, SweepMethod.RECORD_LEVEL_NO_ATTACK)


class Among(StrEnum):
    """The table in which the adversary looks for a person: success has 1 / (records that share the labels)."""

    SOURCE = "SOURCE"
    POPULATION = "POPULATION"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The payout of a method at one gain.

    Attributes:
        gain: The adversary's gain per successful attack, which is also the publisher's loss.
        method: How the records are de-identified.
        among: The table in which the adversary looks.
        payout: The payout of all records of the source together; suppressed records pay nothing.
        suppressed: Suppressed records, including withheld ones.
        attacked: Released records on which an attack pays.
        transformation: The transformation of the whole release; None for record-level methods.
        payout_if_method_known: The payout of a record-level release if the adversary inverts the method; None if not
            asked for.
    """

    gain: Decimal
    method: SweepMethod
    among: Among
    payout: float
    suppressed: int
    attacked: int
    transformation: Transformation | None
    payout_if_method_known: float | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """All points, by method, table looked in, and gain.

    `records` is N, withheld ones included, and `benefit` the worth of one unchanged record. `counted` of the
    `lattice_size` transformations were counted.
    """

    points: tuple[SweepPoint, ...]
    records: int
    benefit: Decimal
    lattice_size: int
    counted: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SweptSource:
    """The counted source of a sweep.

    `combinations` are those of the source and, if it `has_population`, of the population: then there are points for
    people who are counted there, too. `withheld` records of the source are suppressed at every transformation. The
    `lattice` has those that may be released. `safe_harbor` is the one that Safe Harbor asks for, which need not be in
    the lattice; None leaves it out.
    """

    combinations: Combinations
    has_population: bool
    withheld: int
    lattice: Lattice
    safe_harbor: Transformation | None


@dataclass(frozen=True, slots=True)
class SweptGame:
    """The games of a sweep: the benefit and cost of `game`, whose gain and loss are each of `gains` in turn.

    `gains` are at least 0, in ascending order; at gains up to the cost nobody attacks. `break_even` says whether
    records that pay exactly nothing are released. `if_method_known` adds the payouts of record-level releases against
    an adversary who knows the method. `methods` are those to sweep; Safe Harbor only if the source has it, too.
    """

    game: Game
    gains: Sequence[Decimal]
    break_even: BreakEven
    if_method_known: bool = False
    methods: Sequence[SweepMethod] = tuple(SweepMethod)


def payout_sweep(
    source: SweptSource,
    swept: SweptGame,
    control: Control,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Sweep:
    """Sweeps the gains; `on_progress` is called with the number of transformations counted.

    Raises:
        UncountableError: A domain is measured instead of counted.
        CancelledError: `control` was cancelled.
    """
    combinations, lattice = source.combinations, source.lattice
    started = reported = control.now()
    stakes = [Stakes.of(replace(swept.game, publisher_loss=gain, adversary_gain=gain)) for gain in swept.gains]
    amongs = tuple(Among) if source.has_population else (Among.SOURCE,)
    at_once = _at_once(len(RECORD_LEVEL) * len(amongs) * np.count_nonzero(combinations.records))
    starts = range(0, len(stakes), at_once)
    counted = 0
    paid: dict[tuple[SweepMethod, Among], list[_Paid]] = {}
    for start in starts:
        some = stakes[start : start + at_once]
        adversaries = [
            _Against(among, combinations, lattice, some, swept.break_even, swept.methods) for among in amongs
        ]
        for read_counted in counted_at_all(combinations, lattice):
            control.raise_if_cancelled()
            for against in adversaries:
                against.consider(read_counted)
            counted += 1
            if control.now() - reported > SECONDS_BETWEEN_REPORTS:
                on_progress(Progress(counted // len(starts), lattice.size, None, None, None))
                reported = control.now()
        for against in adversaries:
            for method, by_gain in against.paid(source.safe_harbor, control, swept.if_method_known).items():
                paid.setdefault((method, against.among), []).extend(by_gain)
    on_progress(Progress(counted // len(starts), lattice.size, None, None, None))
    records = int(combinations.records.sum()) + source.withheld
    return Sweep(
        points=tuple(
            SweepPoint(gain, method, among, each.payout, records - each.released, each.attacked, each.at, each.known)
            for method, among in itertools.product(SweepMethod, amongs)
            if (method, among) in paid
            for gain, each in zip(swept.gains, paid[method, among], strict=True)
        ),
        records=records,
        benefit=swept.game.publisher_benefit,
        lattice_size=lattice.size,
        counted=counted // len(starts),
        seconds=control.now() - started,
    )


def _at_once(combinations: int) -> int:
    """The number of stakes for which so many combinations can be assigned transformations at once."""
    return max(1, MEMORY // (BYTES_PER_CHOICE * max(combinations, 1)))


@dataclass(frozen=True, slots=True)
class _Paid:
    """A method's payouts at one gain, at one transformation or several; `known`: if the adversary knows the method."""

    payout: float
    released: int
    attacked: int
    at: Transformation | None = None
    known: float | None = None


class _Against:
    """The payouts of each method against an adversary who looks in the source, or in the population."""

    def __init__(
        self,
        among: Among,
        combinations: Combinations,
        lattice: Lattice,
        stakes: Sequence[Stakes],
        break_even: BreakEven,
        methods: Sequence[SweepMethod],
    ) -> None:
        self.among = among
        self._combinations = combinations if among is Among.POPULATION else _of_source(combinations)
        self._lattice = lattice
        self._stakes = stakes
        self._safe_size = max(each.safe_size for each in stakes)
        self._loss = InformationLoss(combinations.levels)
        transformations = in_order(lattice)
        self._choices = {method: Choice(break_even, no_attack=method in NO_ATTACK) for method in methods}
        self._full_domain = {
            method: BestFullDomain(stakes, choice) for method, choice in self._choices.items() if method in FULL_DOMAIN
        }
        self._record_level = {
            method: BestOfAll(combinations.levels, transformations, stakes, choice)
            for method, choice in self._choices.items()
            if method in RECORD_LEVEL
        }

    def consider(self, counted: CountedClasses) -> None:
        """Considers one more transformation of the lattice."""
        seen = counted if self.among is Among.POPULATION else replace(counted, people=counted.records)
        seen = self._merged(seen)
        loss = self._loss.at(seen.at, seen.groups)
        for full_domain in self._full_domain.values():
            full_domain.consider(seen, loss)
        for record_level in self._record_level.values():
            record_level.consider(seen)

    def _merged(self, counted: CountedClasses) -> CountedClasses:
        """Merges classes that pay equally at all stakes: few are left, so that many gains take little longer than one.

        The merged classes lose the same information; an attack on them succeeds among equally many people, or pays at
        no stakes.
        """
        safe = min(self._safe_size, int(counted.people.max(initial=0)))
        people = np.minimum(counted.people, safe)
        loss = np.unique(self._loss.at(counted.at, counted.groups), return_inverse=True)[1]
        kinds, first, kind = np.unique(loss * (safe + 1) + people, return_index=True, return_inverse=True)
        groups = tuple(group[first] for group in counted.groups)
        return CountedClasses(
            counted.at, kind[counted.of], groups, sums_at(kind, counted.records, len(kinds)), people[first]
        )

    def paid(
        self, safe_harbor: Transformation | None, control: Control, if_method_known: bool
    ) -> dict[SweepMethod, list[_Paid]]:
        """The payouts per method and stakes, once all transformations were considered."""
        paid = {
            method: [_Paid(best.payout, best.released, best.attacked, best.transformation) for best in search.best()]
            for method, search in self._full_domain.items()
        }
        for method in self._record_level:
            paid[method] = self._against_inversion(method, control) if if_method_known else self._by_record(method)
        if safe_harbor is not None and SweepMethod.SAFE_HARBOR in self._choices:
            paid[SweepMethod.SAFE_HARBOR] = self._all_at(safe_harbor)
        return paid

    def _by_record(self, method: SweepMethod) -> list[_Paid]:
        records = self._combinations.records
        records = records[records > 0]
        assignments = self._record_level[method].assignments(len(records))
        return [
            _assigned(assignment, stakes, records) for assignment, stakes in zip(assignments, self._stakes, strict=True)
        ]

    def _against_inversion(self, method: SweepMethod, control: Control) -> list[_Paid]:
        """Adds the payouts of the same releases if the method is known, which needs everybody's labels."""
        records = self._combinations.records
        at_once = _at_once(len(records))
        paid: list[_Paid] = []
        for start in range(0, len(self._stakes), at_once):
            some = self._stakes[start : start + at_once]
            try:
                assignments = best_transformations(
                    self._combinations, self._lattice, some, self._choices[method], control, everyone=True
                )
            except Stopped:
                control.raise_if_cancelled()
                raise
            for assignment, stakes in zip(assignments, some, strict=True):
                sizes = pre_image_sizes(self._combinations, assignment)
                payouts = payouts_against(self._combinations, assignment, stakes, sizes)
                payout = float(records @ payouts)
                paid.append(replace(_assigned(assignment, stakes, records), known=payout))
        return paid

    def _all_at(self, transformation: Transformation) -> list[_Paid]:
        """Releases everything at one transformation, whatever it pays."""
        (counted,) = counted_at_all(self._combinations, Lattice(transformation, transformation))
        records, people = counted.records, counted.people
        loss = self._loss.at(counted.at, counted.groups)
        return [
            _Paid(
                float(records @ stakes.payouts(loss, people)),
                int(records.sum()),
                int(records[stakes.attacked(people)].sum()),
                transformation,
            )
            for stakes in self._stakes
        ]


def _assigned(assignment: Assignment, stakes: Stakes, records: NDArray[np.int64]) -> _Paid:
    """The payout of a record-level release for these records of each combination."""
    released = assignment.chosen != SUPPRESSED
    attacked = released & stakes.attacked(assignment.sizes)
    return _Paid(float(records @ assignment.payouts), int(records[released].sum()), int(records[attacked].sum()))


def _of_source(combinations: Combinations) -> Combinations:
    """The combinations of the source, which is its own population."""
    there = combinations.records > 0
    records = combinations.records[there]
    return Combinations(combinations.levels, tuple(codes[there] for codes in combinations.codes), records, records)
