"""Nobody is singled out over releases judged together: all worlds of small registers say so."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

import numpy as np

from tableveil.classes import WITHOUT_ROW, EarlierClasses, EquivalenceClasses, JointCounter, NumpyCounter
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import KAnonymity
from tableveil.privacy import Conjunction, LeftBehindRule, sets_of_readers
from tableveil.privacy.k_anonymity import KAnonymityRule

ABSENT = -1
VALUES = 4
SHIFTS = (0, 1, 2)
"""At level l, the label of a value is the value shifted by so many bits."""

Register = tuple[int, ...]
"""Per person the value of the only quasi-identifier at one time, or ABSENT."""

Rows = tuple[int, ...]
"""Per person the label of the row in a release, or WITHOUT_ROW."""

Chain = tuple[int, ...]
"""The labels of somebody's rows in all releases: the adversary links them."""


def levels() -> AttributeLevels:
    groups = tuple(np.arange(VALUES, dtype=np.int32) >> shift for shift in SHIFTS)
    leaves = tuple(np.full(VALUES >> shift, float(1 << shift)) for shift in SHIFTS)
    return AttributeLevels(groups, (), leaves, float(VALUES), False, None)


def combination_levels(combinations: int) -> AttributeLevels:
    groups = (np.arange(combinations, dtype=np.int32),)
    return AttributeLevels(groups, (), (np.ones(combinations),), float(combinations), False, None)


def earlier_classes(releases: Sequence[Rows]) -> tuple[EarlierClasses, list[int]]:
    """The combinations of earlier classes, and the code of each person's."""
    chains = list(zip(*releases, strict=True))
    people = Counter(chain for chain in chains if set(chain) != {WITHOUT_ROW})
    known = sorted(people)
    codes = [known.index(chain) if chain in people else len(known) for chain in chains]
    classes = np.array(known, np.int64).reshape(len(known), len(releases))
    counts = np.array([people[chain] for chain in known], np.int64)
    return EarlierClasses(tuple(range(1, len(releases) + 1)), classes, counts, 0), codes


def judged_for_readers(known: EarlierClasses, k: int) -> EarlierClasses:
    """The earlier classes with the sets of releases that are judged as well."""
    _, *sets = sets_of_readers(known, [KAnonymity(k)])
    return replace(known, together=tuple(sets))


def joint_classes(register: Register, codes: Sequence[int], combinations: int, level: int) -> EquivalenceClasses:
    present = [person for person, value in enumerate(register) if value != ABSENT]
    counter = NumpyCounter(
        [levels(), combination_levels(combinations)],
        [np.array([register[p] for p in present], np.int32), np.array([codes[p] for p in present], np.int32)],
        np.ones(len(present), np.int64),
    )
    return JointCounter(counter).classes((level,))


def release(
    register: Register, earlier: Sequence[Rows], level: int, k: int, *, require: bool, of_readers: bool = True
) -> Rows:
    """Everybody's rows in a release that is judged together with the earlier ones."""
    known, codes = earlier_classes(earlier) if earlier else (None, [0] * len(register))
    combinations = known.combinations if known else 1
    classes = joint_classes(register, codes, combinations, level)
    rules = [KAnonymityRule(KAnonymity(k))]
    if known and require:
        known = judged_for_readers(known, k) if of_readers else known
        rule = Conjunction((*rules, LeftBehindRule(k, known)))
    else:
        rule = Conjunction(tuple(rules))
    kept = rule.releasable(classes)
    released = set(zip(classes.groups(0)[kept].tolist(), classes.groups(1)[kept].tolist(), strict=True))
    labels = [WITHOUT_ROW if value == ABSENT else value >> SHIFTS[level] for value in register]
    return tuple(label if (label, code) in released else WITHOUT_ROW for label, code in zip(labels, codes, strict=True))


def candidates(registers: Sequence[Register], at: Sequence[int], chains: Sequence[Chain]) -> list[list[int]]:
    """Per chain the people who could be it for an adversary who knows everybody's values and all sources."""
    return [
        [
            person
            for person in range(len(registers[0]))
            if all(
                label == WITHOUT_ROW or (register[person] != ABSENT and register[person] >> SHIFTS[level] == label)
                for label, register, level in zip(chain, registers, at, strict=True)
            )
        ]
        for chain in chains
    ]


def worlds(possible: Sequence[list[int]]) -> Iterator[tuple[int, ...]]:
    """Every way to give the chains to different people."""

    def extended(world: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(world) == len(possible):
            yield world
            return
        for person in possible[len(world)]:
            if person not in world:
                yield from extended((*world, person))

    return extended(())


def greatest_posterior(possible: Sequence[list[int]]) -> float:
    """The greatest chance with which a chain is somebody's, if all worlds are equally likely."""
    total, times = 0, Counter[tuple[int, int]]()
    for world in worlds(possible):
        total += 1
        times.update(enumerate(world))
    return max(times.values(), default=0) / max(total, 1)


def sequences(seed: int, number: int, *, require: bool) -> Iterator[tuple[float, float, int]]:
    """The posterior of who does not know how records were suppressed, that of who does, and k, per sequence."""
    random = Random(seed)
    for _ in range(number):
        k, people = random.choice((2, 2, 3)), random.randint(4, 7)
        registers: list[Register] = []
        releases: list[Rows] = []
        at: list[int] = []
        register = tuple(random.randrange(VALUES) for _ in range(people))
        for _ in range(random.choice((2, 2, 3))):
            # Some leave, some come back, some change.
            register = tuple(
                random.choice((ABSENT, value, random.randrange(VALUES))) if random.random() < 0.4 else value
                for value in register
            )
            level = random.randrange(len(SHIFTS))
            releases.append(release(register, releases, level, k, require=require))
            registers.append(register)
            at.append(level)
        everybody = list(zip(*releases, strict=True))
        chains = [chain for chain in everybody if set(chain) != {WITHOUT_ROW}]
        if chains:
            of_method = [[p for p, other in enumerate(everybody) if other == chain] for chain in chains]
            yield greatest_posterior(candidates(registers, at, chains)), greatest_posterior(of_method), k


def test_nobody_is_singled_out() -> None:
    seen = 0
    for posterior, of_method, k in sequences(1, 400, require=True):
        assert max(posterior, of_method) <= 1 / k + 1e-9
        seen += 1
    assert seen > 200


def test_joint_classes_alone_single_out() -> None:
    """The promise needs its second part: without it, many sequences isolate somebody."""
    found = [max(posterior, of_method) > 1 / k + 1e-9 for posterior, of_method, k in sequences(1, 400, require=False)]
    assert sum(found) > len(found) / 10


def test_sets_of_releases_that_were_judged_with_each_other() -> None:
    """For each set, nobody, k or all of a combination of its releases are left behind."""
    suppressed = 0
    for seed in range(100):
        random, k = Random(seed), 3
        people = random.randint(10, 40)
        earlier = [tuple(random.choice((WITHOUT_ROW, 0, 0, 0, 1)) for _ in range(people)) for _ in range(3)]
        known, codes = earlier_classes(earlier)
        sets = ((0,), (0, 1), (2,))
        register = tuple(random.choice((ABSENT, *range(VALUES), *range(VALUES))) for _ in range(people))
        classes = joint_classes(register, codes, known.combinations, 2)
        rules = (KAnonymityRule(KAnonymity(k)), LeftBehindRule(k, replace(known, together=sets)))
        kept = Conjunction(rules).releasable(classes)
        suppressed += int((~kept[classes.counts >= k]).sum())
        released = set(zip(classes.groups(0)[kept].tolist(), classes.groups(1)[kept].tolist(), strict=True))
        rows = [
            value != ABSENT and (value >> SHIFTS[2], code) in released
            for value, code in zip(register, codes, strict=True)
        ]
        for some in (*sets, (0, 1, 2)):
            chains = [tuple(earlier[r][person] for r in some) for person in range(people)]
            every = Counter(chain for chain in chains if set(chain) != {WITHOUT_ROW})
            left = Counter(chain for chain, row in zip(chains, rows, strict=True) if chain in every and not row)
            assert all(number >= k or number == every[chain] for chain, number in left.items()), (seed, some)
    assert suppressed > 0


@dataclass(frozen=True, slots=True)
class Release:
    """Everybody's rows, the positions of the earlier releases that it was judged together with, and if it requires."""

    rows: Rows
    judged: tuple[int, ...]
    require: bool


def chain(seed: int, *, of_readers: bool = True) -> tuple[int, list[Release]]:
    """Six months of a register: k, and releases by reason, REPORT and REQUIRE, of all earlier ones or of a list."""
    random = Random(seed)
    k, people, made = random.randint(2, 5), random.randint(10, 40), list[Release]()
    register = tuple(random.choice((ABSENT, *range(VALUES), *range(VALUES))) for _ in range(people))
    for month in range(6):
        mode = random.choice(("reason", "REPORT", "REPORT", "REQUIRE", "REQUIRE"))
        judged = tuple(range(month))
        if mode == "reason":
            judged = ()
        elif random.random() < 0.3:
            judged = tuple(earlier for earlier in judged if random.random() < 0.7)
        register = tuple(
            random.choice((ABSENT, value, random.randrange(VALUES))) if random.random() < 0.3 else value
            for value in register
        )
        earlier = [made[position].rows for position in judged]
        require = mode == "REQUIRE"
        rows = release(register, earlier, random.randrange(3), k, require=require, of_readers=of_readers)
        made.append(Release(rows, judged, require))
    return k, made


def told_apart(k: int, made: Sequence[Release], new: Release) -> list[tuple[int, ...]]:
    """The sets of earlier releases whose readers see the new one leave fewer than k people of a combination behind."""
    found = []
    for size in range(1, len(new.judged) + 1):
        for some in combinations(new.judged, size):
            stay, leave = Counter[Rows](), Counter[Rows]()
            for person, row in enumerate(new.rows):
                before = tuple(made[position].rows[person] for position in some)
                if set(before) != {WITHOUT_ROW}:
                    (leave if row == WITHOUT_ROW else stay)[before] += 1
            if any(number < k and stay[before] for before, number in leave.items()):
                found.append(some)
    return found


def test_readers_of_any_releases_see_nobody_left_behind() -> None:
    """By brute force: whatever was released before, and by what right, no reader of some of it sees few people leave.

    Judged for readers of all alone, many sequences tell somebody apart.
    """
    required = {True: 0, False: 0}
    failed = {True: 0, False: 0}
    for of_readers in (True, False):
        for seed in range(500 if of_readers else 100):
            k, made = chain(seed, of_readers=of_readers)
            for new in made:
                if new.require and new.judged:
                    required[of_readers] += WITHOUT_ROW in new.rows and len({*new.rows}) > 1
                    failed[of_readers] += bool(told_apart(k, made, new))
    assert failed[True] == 0
    assert required[True] > 300
    assert failed[False] > 10


def test_readers_of_releases_after_a_report() -> None:
    """Twenty people, four months: a reader of months 1, 3 and 4 would be left with one row."""
    one, two, three = (0,) * 20, (0,) * 6 + (1,) * 14, (0,) * 5 + (WITHOUT_ROW,) + (0,) * 7 + (WITHOUT_ROW,) * 7
    register = (ABSENT,) * 6 + (0,) * 14
    earlier = [one, two, three]
    assert release(register, earlier, 0, 5, require=True, of_readers=False).count(0) == 14
    assert release(register, earlier, 0, 5, require=True).count(0) == 7


def test_releases_that_were_all_required_are_one_set() -> None:
    """The price is paid by those who ask for less: fifty months that leave nobody few behind have one set to judge."""
    rows = [tuple(person // 10 % (2 + month % 3) for person in range(60)) for month in range(50)]
    known, _ = earlier_classes(rows)
    assert list(sets_of_readers(known, [KAnonymity(5)])) == [tuple(range(50))]
    # Three leave in the second month, and come again in no other: readers without one of two months are many more.
    few = [rows[0], (WITHOUT_ROW,) * 3 + rows[1][3:], *((WITHOUT_ROW,) * 3 + row[3:] for row in rows[2:])]
    known, _ = earlier_classes(few)
    assert len(list(sets_of_readers(known, [KAnonymity(5)]))) < 60
