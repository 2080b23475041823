"""The verification recounts those left behind of any of the earlier releases: against all sets of releases."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from tableveil.backend import Session
from tableveil.classes import WITHOUT_ROW
from tableveil.errors import InvalidError
from tableveil.policy import KAnonymity, LeftBehind, Policy
from tableveil.verification.together import check_together
from tableveil.verification.written import Written
from tests.engine.privacy.test_left_behind import Release, chain, earlier_classes, told_apart
from tests.service.jobs.managed import OF_KNOWN_PEOPLE

judged = import_module("tableveil.lifecycle.together")

SEEDS = 6
"""Some of these sequences tell somebody apart if readers of all releases alone are judged for."""


def problems(session: Session, k: int, made: Sequence[Release], new: Release, owners: Sequence[int] = ()) -> list[str]:
    """The problems of one of some releases, of which the ledger keeps the classes of people, or of records."""
    rows = [
        (number, person, label, owners[person] if owners else None)
        for number, release in enumerate(made, 1)
        for person, label in enumerate(release.rows)
        if label != WITHOUT_ROW
    ]
    columns = dict(zip(("release", "digest", "class", "person"), zip(*rows, strict=True), strict=True))
    session.execute("DELETE FROM tableveil.release_persons")
    with session.relation("kept", pa.table(columns)):
        session.execute("INSERT INTO tableveil.release_persons SELECT release, digest, class, person FROM kept")
    policy = SimpleNamespace(
        k=k,
        privacy_models=(KAnonymity(k),),
        record_column="visit" if owners else "",
        release=SimpleNamespace(left_behind=LeftBehind.REQUIRE if new.require else LeftBehind.REPORT),
    )
    together: Any = SimpleNamespace(
        release=made.index(new) + 1, together_with=tuple(position + 1 for position in new.judged)
    )
    return check_together(session, cast("Policy", policy), cast("Written", together))


@pytest.mark.parametrize("of_readers", [True, False])
def test_it_finds_all_who_are_told_apart(session: Session, of_readers: bool) -> None:
    found = 0
    for seed in range(SEEDS):
        k, made = chain(seed, of_readers=of_readers)
        for new in made:
            if new.judged and new.require:
                wanted = bool(told_apart(k, made, new))
                assert bool(problems(session, k, made, new)) == wanted, (seed, new.judged)
                found += wanted
    assert bool(found) != of_readers


def test_it_counts_the_people_of_records(session: Session) -> None:
    """By brute force: records are few people's who leave, and others of the same classes stay."""
    found = []
    for seed in range(40):
        random, records, k = Random(seed), 24, 2
        owners = [random.randrange(14) for _ in range(records)]
        made = [
            Release(tuple(random.choice((WITHOUT_ROW, 0, 0, 0)) for _ in range(records)), (), require=False)
            for _ in range(3)
        ]
        # Joint classes are of enough people, or nobody stays.
        new = Release(tuple(random.choice((0, WITHOUT_ROW)) for _ in range(records)), (0, 1, 2), require=True)
        few = []
        for some in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            before = [tuple(made[r].rows[record] for r in some) for record in range(records)]
            for combination in {*before} - {(WITHOUT_ROW,) * len(some)}:
                of = [record for record in range(records) if before[record] == combination]
                leave = {owners[record] for record in of if new.rows[record] == WITHOUT_ROW}
                stay = [record for record in of if new.rows[record] != WITHOUT_ROW]
                few += [some] if stay and 0 < len(leave) < k else []
        told = [problem for problem in problems(session, k, [*made, new], new, owners) if "behind" in problem]
        assert bool(told) == bool(few), seed
        found.append(bool(few))
    assert 4 < sum(found) < 36


def test_eight_months_of_report_have_a_way_on() -> None:
    """Everybody is away in other months: no set of releases follows from a larger one."""
    rows = [tuple(WITHOUT_ROW if person >> month & 1 else 0 for person in range(256)) for month in range(8)]
    of_eight, of_seven = (earlier_classes(rows[:months])[0] for months in (8, 7))
    target = replace(OF_KNOWN_PEOPLE.release, left_behind=LeftBehind.REQUIRE)
    policy = replace(OF_KNOWN_PEOPLE, release=target, privacy_models=(KAnonymity(200),))
    assert len(judged._sets(of_seven, policy)) == 2**7 - 2
    with pytest.raises(InvalidError) as refused:
        judged._sets(of_eight, policy)
    assert refused.value.code == "TOGETHER_TOO_MANY"
    (fault,) = refused.value.faults
    assert "8 releases that tell fewer than k = 200 people apart" in fault.found
    assert "together_with: [releases/2, releases/3, releases/4, " in fault.hint
    assert "left_behind: REPORT" in fault.hint
    reporting = replace(policy, release=replace(target, left_behind=LeftBehind.REPORT))
    assert judged._sets(of_eight, reporting) == ()
