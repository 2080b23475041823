"""Nobody's records are singled out over releases judged together: all worlds of small registers of visits say so."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest

from tableveil.classes import (
    WITHOUT_ROW,
    EarlierClasses,
    EquivalenceClasses,
    JointCounter,
    NumpyCounter,
    Owners,
    SensitiveColumn,
    SensitiveRows,
)
from tableveil.policy import Dominance, KAnonymity, PrivacyModel
from tableveil.privacy import Conjunction, Facts, left_behind_rule, privacy_of
from tests.engine.privacy.test_left_behind import (
    ABSENT,
    SHIFTS,
    VALUES,
    Chain,
    Register,
    Rows,
    candidates,
    combination_levels,
    earlier_classes,
    levels,
    worlds,
)


def with_owners(
    known: EarlierClasses, codes: Sequence[int], owners: Sequence[int], register: Register
) -> EarlierClasses:
    """The earlier classes with the owners of the records, of whom those of the source come first."""
    numbers = numbered(owners, register)
    entries = Counter(
        (code, numbers[owner]) for code, owner in zip(codes, owners, strict=True) if code < len(known.records)
    )
    combinations, people = np.array([*entries], np.int64).reshape(-1, 2).T
    owned = Owners(combinations, people, np.array([*entries.values()], np.int64))
    return EarlierClasses(known.releases, known.classes, known.records, 0, owners=owned)


def numbered(owners: Sequence[int], register: Register) -> dict[int, int]:
    there = {owner for owner, value in zip(owners, register, strict=True) if value != ABSENT}
    return {owner: number for number, owner in enumerate([*sorted(there), *sorted({*owners} - there)])}


def joint_counter(register: Register, codes: Sequence[int], combinations: int, owners: Sequence[int]) -> JointCounter:
    """Counts joint classes and the people in them; every record is a row of its own."""
    present = [record for record, value in enumerate(register) if value != ABSENT]
    numbers = numbered(owners, register)
    people = np.array([numbers[owners[record]] for record in present], np.int32)
    column = SensitiveColumn("", np.bincount(people).astype(np.int64), protected=False, people=True)
    ones = np.ones(len(present), np.int64)
    return JointCounter(
        NumpyCounter(
            [levels(), combination_levels(combinations)],
            [np.array([register[p] for p in present], np.int32), np.array([codes[p] for p in present], np.int32)],
            ones,
            sensitive=[(column, SensitiveRows(np.arange(len(present)), people, ones))],
        )
    )


def release(
    register: Register,
    earlier: Sequence[Rows],
    owners: Sequence[int],
    level: int,
    models: Sequence[PrivacyModel],
    *,
    require: bool,
) -> Rows:
    """The records' rows in a release that is judged together with the earlier ones."""
    known, codes = earlier_classes(earlier) if earlier else (None, [0] * len(register))
    counter = joint_counter(register, codes, known.combinations if known else 1, owners)
    classes: EquivalenceClasses = counter.classes((level,))
    rules = privacy_of(models, counter).rules
    if known and require:
        known = with_owners(known, codes, owners, register)
        rules = (*rules, left_behind_rule(models, Facts(counter), known))
    kept = Conjunction(rules).releasable(classes)
    released = set(zip(classes.groups(0)[kept].tolist(), classes.groups(1)[kept].tolist(), strict=True))
    labels = [WITHOUT_ROW if value == ABSENT else value >> SHIFTS[level] for value in register]
    return tuple(label if (label, code) in released else WITHOUT_ROW for label, code in zip(labels, codes, strict=True))


def greatest(possible: Sequence[list[int]], owners: Sequence[int]) -> tuple[float, int]:
    """The greatest chance with which a chain is a record of somebody's, and the least number of possible owners."""
    total, times = 0, Counter[tuple[int, int]]()
    for world in worlds(possible):
        total += 1
        times.update((chain, owners[record]) for chain, record in enumerate(world))
    of_chain = Counter(chain for chain, _ in times)
    return max(times.values()) / total, min(of_chain.values())


Judged = tuple[float, int, int, Fraction]


def sequences(seed: int, number: int, *, require: bool) -> Iterator[Judged]:
    """The greatest chance and the fewest owners, of all worlds and of the method's; with k and the share."""
    random = Random(seed)
    for _ in range(number):
        k, records = random.choice((2, 2, 3)), random.randint(4, 7)
        owners = [random.randrange(max(k, records - random.randrange(3))) for _ in range(records)]
        share = random.choice((Decimal(1), Decimal("0.5"), Decimal("0.5")))
        models: list[PrivacyModel] = [KAnonymity(k), *([Dominance(share)] if share < 1 else [])]
        registers: list[Register] = []
        releases: list[Rows] = []
        at: list[int] = []
        register = tuple(random.randrange(VALUES) for _ in range(records))
        for _ in range(random.choice((2, 2, 3))):
            register = tuple(
                random.choice((ABSENT, value, random.randrange(VALUES))) if random.random() < 0.4 else value
                for value in register
            )
            if set(register) == {ABSENT}:
                break
            level = random.choice((1, 2, 2))
            releases.append(release(register, releases, owners, level, models, require=require))
            registers.append(register)
            at.append(level)
        everybody: list[Chain] = list(zip(*releases, strict=True))
        chains = [chain for chain in everybody if set(chain) != {WITHOUT_ROW}]
        if chains:
            of_method = [[p for p, other in enumerate(everybody) if other == chain] for chain in chains]
            found = [greatest(possible, owners) for possible in (candidates(registers, at, chains), of_method)]
            yield max(chance for chance, _ in found), min(people for _, people in found), k, Fraction(share)


def holds(chance: float, people: int, k: int, share: Fraction) -> bool:
    return people >= k and chance <= share + 1e-9


def test_every_row_has_k_possible_owners() -> None:
    """And with dominance, nobody is the owner of a row with a chance above the share."""
    found = list(sequences(1, 500, require=True))
    assert [judged for judged in found if not holds(*judged)] == []
    assert sum(share < 1 for *_, share in found) > 100
    assert len(found) > 250


@pytest.mark.long
def test_joint_classes_alone_single_out() -> None:
    """The promise needs its second part for records, too."""
    found = [holds(*judged) for judged in sequences(1, 500, require=False)]
    assert found.count(False) > len(found) / 20


def test_readers_who_lack_some_releases() -> None:
    """Any releases that were all judged with each other are as safe as all, for readers who know what is suppressed."""
    checked = 0
    for seed in range(150):
        random = Random(seed)
        records = random.randint(12, 30)
        owners = [random.randrange(records // 2) for _ in range(records)]
        models: list[PrivacyModel] = [KAnonymity(3), Dominance(Decimal("0.4"))]
        releases: list[Rows] = []
        for _ in range(4):
            register = tuple(random.choice((ABSENT, *range(VALUES), *range(VALUES))) for _ in range(records))
            releases.append(release(register, releases, owners, 2, models, require=True))
        for number in range(1, 5):
            for some in combinations(releases, number):
                linked: dict[Chain, Counter[int]] = {}
                for owner, chain in zip(owners, zip(*some, strict=True), strict=True):
                    linked.setdefault(chain, Counter())[owner] += 1
                linked.pop((WITHOUT_ROW,) * number, None)
                for people in linked.values():
                    checked += 1
                    assert len(people) >= 3, seed
                    assert max(people.values()) <= Fraction(2, 5) * people.total(), seed
    assert checked > 150


def test_sets_of_releases_that_were_judged_with_each_other() -> None:
    """For each set none, all, or records of k people are left, of whom nobody has more than the share."""
    suppressed = 0
    for seed in range(60):
        random = Random(seed)
        records = random.randint(20, 60)
        models: list[PrivacyModel] = [KAnonymity(3), Dominance(Decimal("0.4"))]
        owners = [random.randrange(records // 2) for _ in range(records)]
        earlier = [tuple(random.choice((WITHOUT_ROW, 0, 0, 0, 1)) for _ in range(records)) for _ in range(3)]
        known, codes = earlier_classes(earlier)
        sets = ((0,), (0, 1), (2,))
        register = tuple(random.choice((ABSENT, *range(VALUES), *range(VALUES))) for _ in range(records))
        counter = joint_counter(register, codes, known.combinations, owners)
        known = replace(with_owners(known, codes, owners, register), together=sets)
        classes = counter.classes((1,))
        alone = privacy_of(models, counter)
        rule = left_behind_rule(models, Facts(counter), known)
        kept = Conjunction((*alone.rules, rule)).releasable(classes)
        suppressed += int((alone.releasable(classes) & ~kept).sum())
        released = set(zip(classes.groups(0)[kept].tolist(), classes.groups(1)[kept].tolist(), strict=True))
        rows = [
            value != ABSENT and (value >> SHIFTS[1], code) in released
            for value, code in zip(register, codes, strict=True)
        ]
        for some in (*sets, (0, 1, 2)):
            chains = [tuple(earlier[r][record] for r in some) for record in range(records)]
            for chain in {*chains} - {(WITHOUT_ROW,) * len(some)}:
                every = [record for record in range(records) if chains[record] == chain]
                left = Counter(owners[record] for record in every if not rows[record])
                enough = len(left) >= 3 and max(left.values()) <= Fraction(2, 5) * left.total()
                assert enough or left.total() in (0, len(every)), (seed, some)
    assert suppressed > 0
