"""The earlier releases that a new one is judged together with, and the classes that its records had there."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, collected, column, sql
from tableveil.classes import WITHOUT_ROW, EarlierClasses, Owners
from tableveil.counting import Earlier
from tableveil.counting.base import EARLIER
from tableveil.dictionary import PeopleDictionary
from tableveil.disclosure.new_keys import new_keys
from tableveil.errors import InvalidError, NotFoundError, Warned, shortened
from tableveil.lifecycle.ledger import named
from tableveil.policy import LeftBehind, Policy
from tableveil.privacy import sets_of_readers
from tableveil.source import Source
from tableveil.source.sketch import Sketch
from tableveil.state import persons, releases
from tableveil.state.sketches import RowsOfKeys, rows_like

FIELD = "release.together_with"

MOST_SETS = 200
"""The most sets of releases that are judged: every transformation is judged of each."""

_FEW = 7
"""So many releases have fewer sets, whatever they leave behind."""

_WITHOUT = "of which the ledger has no class of each person"
_WITH = (
    "releases of labels with a person_column of one row per person, or with a record_column; not of the record level, "
    "nor of aggregates"
)


def find_earlier(
    session: WarehouseSession,
    policy: Policy,
    source: Source,
    together_with: Sequence[int],
    numbered: PeopleDictionary | None = None,
) -> Earlier | None:
    """Stages the source's records with their classes in the releases; None if there are no releases.

    With a record column, the people are `numbered`.

    Raises:
        InvalidError: No record of a release is recognized, or some had other owners.
    """
    person = policy.person_column
    if not together_with or person is None:
        return None
    record = policy.record_column
    _check_identified(session, together_with, record)
    combinations = persons.combinations(session.ledger, together_with)
    identifiers = exp.select(*map(column, [person, record] if record else [person])).from_(source.with_all().table())
    rows = collected(session, "recognizable_people", identifiers)
    if record:
        _check_owners(session, together_with, rows, record, person)
    present = persons.recognize(session.ledger, together_with, EARLIER, rows, record or person, of_records=bool(record))
    session.lend(EARLIER)
    classes = np.stack([combinations[f"r{r}"] for r in range(len(together_with))], axis=1).astype(np.int64)
    records = combinations["records"].astype(np.int64)
    owned = None
    if record:
        assert numbered is not None, "whose a record is follows from the people's numbers"
        owners = persons.owners(session.ledger, together_with, numbered.table_name)
        owned = Owners(owners["code"], owners["person"], owners["records"])
    earlier_classes = EarlierClasses(tuple(together_with), classes, records, present, owners=owned)
    earlier_classes = replace(earlier_classes, together=_sets(earlier_classes, policy))
    by_code = f"SELECT code, CAST(count(*) AS BIGINT) AS n FROM {EARLIER} GROUP BY code"
    counted = session.embedded.arrays(sql(by_code))
    there = np.bincount(counted["code"].astype(np.intp), counted["n"], earlier_classes.combinations)[:-1]
    strangers = [
        release
        for r, release in enumerate(together_with)
        if earlier_classes.records[classes[:, r] >= 0].sum() and not there[classes[:, r] >= 0].sum()
    ]
    if strangers:
        nothing = f"no record has a {shortened(record)}" if record else f"nobody has a {shortened(person)}"
        of = "records, by the same record_column" if record else "people, by the same person_column"
        unknown_there = f"{named(strangers)}, in which {nothing} of the source"
        others = {*together_with} - {*strangers}
        raise _refused("TOGETHER_UNRECOGNIZED", unknown_there, f"releases of the same {of}", others)
    return Earlier(earlier_classes, record or person)


def find_new_keys(
    session: WarehouseSession, policy: Policy, sketch: Sketch | None, together_with: Sequence[int]
) -> tuple[Warned, ...]:
    """Says of which releases people seem to be in the source under keys that the releases do not know.

    Nothing is known of releases of which the ledger keeps no rows.

    Raises:
        InvalidError: There are some, and nobody may be left behind: of these people joint classes promise nothing.
    """
    mine = RowsOfKeys.of(sketch, policy.person_column) if sketch is not None and policy.person_column else None
    if mine is None:
        return ()
    earlier = rows_like(session.ledger, mine, together_with).items()
    evidence = {release: found for release, theirs in earlier if (found := new_keys(theirs, mine)) is not None}
    renewed = tuple(Warned(found.told(named([release])), count_of=found.rows) for release, found in evidence.items())
    if renewed and policy.release.left_behind is LeftBehind.REQUIRE:
        others = {*together_with} - evidence.keys()
        hint = "If they are the same people, load them under the keys that they had there. "
        raise _refused(
            "TOGETHER_NEW_KEYS", renewed[0], "people under the keys that they had there", others, _REPORT, hint
        )
    return renewed


def check_kept(session: WarehouseSession, together_with: Sequence[int]) -> None:
    """Raises `InvalidError` if the ledger keeps no classes of a release; one of others reads as if it were missing."""
    compared = releases.compared_releases(session.ledger).intersection(together_with)
    unknown = sorted({*together_with} - persons.with_classes(session.ledger, compared))
    if unknown:
        raise _refused("TOGETHER_UNKNOWN", f"{named(unknown)}, {_WITHOUT}", _WITH, {*together_with} - {*unknown})


def _check_identified(session: WarehouseSession, together_with: Sequence[int], record: str) -> None:
    """Raises `InvalidError` if the ledger finds records of some releases otherwise than those of the source."""
    of_records = persons.of_records(session.ledger, together_with)
    others = {*together_with} - of_records if record else of_records
    if others:
        kept = "people, not of records" if record else "records, not of people"
        actual = f"{named(sorted(others))}, of which the ledger has the classes of {kept}"
        expected = "releases without a record_column" if not record else "releases with a record_column"
        raise _refused("TOGETHER_UNKNOWN", actual, expected, {*together_with} - others)


def _check_owners(
    session: WarehouseSession, together_with: Sequence[int], rows: exp.Expr, record: str, person: str
) -> None:
    """Raises `InvalidError` if a record belongs to different people: nobody could say who is left behind."""
    moved = persons.of_others(session.ledger, together_with, rows, record, person)
    disputed = persons.of_several(session.ledger, together_with)
    if moved or disputed:
        actual = (
            f"{moved:,} records of the source whose {shortened(person)} is another one there"
            if moved
            else f"{disputed:,} records that belong to different people there"
        )
        disputed_there = f"{named(together_with)}, with {actual}"
        expected = "records that stay the same person's"
        raise _refused("TOGETHER_UNRECOGNIZED", disputed_there, expected, ())


def _sets(earlier: EarlierClasses, policy: Policy) -> tuple[tuple[int, ...], ...]:
    """The positions of the releases of readers for whom those left behind are judged as well, besides those of all.

    Raises:
        InvalidError: They are too many: each release that leaves few people behind can double them.
    """
    if policy.release.left_behind is not LeftBehind.REQUIRE:
        return ()
    _, *sets = islice(sets_of_readers(earlier, policy.privacy_models), MOST_SETS + 1)
    if len(sets) >= MOST_SETS:
        k = f"k = {policy.k or 1}"
        too_many = (
            f"{len(earlier.releases):,} releases that tell fewer than {k} people apart, in more than {MOST_SETS} "
        )
        too_many += "sets of them that do not follow from each other"
        expected = f"at most {MOST_SETS} sets that a reader may hold: those left behind are judged of each"
        raise _refused("TOGETHER_TOO_MANY", too_many, expected, earlier.releases[-_FEW:], _REPORT)
    return tuple(sorted(sets))


MOST_SIZE = 20
"""The largest size of combinations that are counted by size."""


@dataclass(frozen=True, slots=True)
class JointFigures:
    """The people whom some releases tell apart together, by the combinations of classes of their records.

    Sizes are numbers of people. Combinations with a row in the last release are joint classes, the others are left
    behind; `smallest` and `smallest_left_behind` are 0 if there are none. `sizes` has per size up to `MOST_SIZE` how
    many there are of both.
    """

    releases: tuple[int, ...]
    people: int
    smallest: int
    left_behind: int
    smallest_left_behind: int
    sizes: tuple[tuple[int, int, int], ...]


def joint_figures(session: Session, numbers: Sequence[int]) -> JointFigures:
    """The figures of some releases that the caller may see.

    Raises:
        InvalidError: They are fewer than two, or one keeps no classes of its people.
        NotFoundError: There is no such release.
    """
    wanted = sorted(set(numbers))
    seen = releases.seen_among(session.ledger, wanted)
    for number in wanted:
        if number not in seen or not releases.exists(session.ledger, number):
            raise NotFoundError.of("RELEASE_NOT_FOUND", "releases", f"releases/{number}", "a release")
    if len(wanted) < 2:
        raise InvalidError.of("TOGETHER_INVALID", "releases", f"{len(wanted):,} different ones", "two or more")
    unknown = sorted({*wanted} - persons.with_classes(session.ledger, wanted))
    if unknown:
        raise InvalidError.of("TOGETHER_UNKNOWN", "releases", f"{named(unknown)}, {_WITHOUT}", _WITH)
    of_records = persons.of_records(session.ledger, wanted)
    if of_records and len(of_records) < len(wanted):
        actual = f"{named(sorted(of_records))}, of which the ledger has the classes of records, not of people"
        raise InvalidError.of("TOGETHER_UNKNOWN", "releases", actual, "releases with a record_column, or without")
    combinations = persons.combinations(session.ledger, wanted)
    people, last = combinations["people"].astype(np.int64), combinations[f"r{len(wanted) - 1}"] != WITHOUT_ROW
    everybody, left_behind = persons.people_of(session.ledger, wanted)
    joint, left = (np.bincount(people[some], minlength=MOST_SIZE + 1) for some in (last, ~last))
    return JointFigures(
        releases=tuple(wanted),
        people=everybody,
        smallest=int(people[last].min(initial=people.sum())) if last.any() else 0,
        left_behind=left_behind,
        smallest_left_behind=int(people[~last].min(initial=people.sum())) if not last.all() else 0,
        sizes=tuple(
            (size, int(joint[size]), int(left[size])) for size in range(1, MOST_SIZE + 1) if joint[size] + left[size]
        ),
    )


_REPORT = " Or write left_behind: REPORT, which counts and tells."


def _refused(
    code: str, found: str, expected: str, others: Collection[int], further: str = "", first: str = ""
) -> InvalidError:
    """The error about some releases; the release can still be judged together with the others."""
    listed = ", ".join(f"releases/{number}" for number in sorted(others))
    hint = (
        f"Name the others, together_with: [{listed}], and say in repeat_reason why these are left out."
        if listed
        else "Leave out left_behind, and say in repeat_reason why the release is judged alone."
    )
    return InvalidError.of(code, FIELD, found, expected, first + hint + further)
