"""Whether the records of a source were released before, and the reasons for thinking so."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from tableveil.backend import Session, WarehouseSession
from tableveil.errors import InvalidError, shortened
from tableveil.policy import Policy
from tableveil.policy.reason import says_something
from tableveil.release.accident import surprise
from tableveil.release.way_out import way_out
from tableveil.source import Fingerprint, Source
from tableveil.source.sketch import ROWS, Sketch
from tableveil.source.tables import recorded
from tableveil.state import ledger_gaps, publications, releases, sketches
from tableveil.state.releases import Release
from tableveil.state.sketches import Likeness

_ENOUGH_BITS = 14
"""An event less likely than one in 2^14 = 16,384 is no accident."""

LEAST_SHARED = 0.05
"""Below this share of the smaller sample's values, two tables do not count as having common people."""

_MOST_RELEASES = 5
_MOST_COLUMNS = 3
_MOST_REASONS = 3


def check_ledger(
    session: WarehouseSession, policy: Policy, source: Source, fingerprint: Fingerprint | None
) -> tuple[int, ...]:
    """The releases, ascending, that the policy judges this one together with.

    Raises `InvalidError` if the records were released before, other than in these, and the policy gives no reason.

    They were released before if one of the tables was, or equal rows, or if rows or the values of columns equal those
    of an earlier source too often for an accident. Without a fingerprint only tables are compared. Where the ledger
    went back in time nobody knows, so that the first release of each source needs a reason then. The readers of a
    target need one as well if such a release was published there.
    """
    reasoned, target = says_something(policy.repeat_reason), policy.release
    judged = target.left_behind is not None
    if not judged and reasoned and (not target.publish or says_something(target.publish_repeat_reason)):
        return ()
    earlier = releases.earlier_releases(
        session.ledger, recorded(session, source.tables), fingerprint.rows if fingerprint else None
    )
    alike = (
        list(_same_people(session.embedded, fingerprint.sketch, earlier)) if fingerprint and fingerprint.sketch else []
    )
    known = {*earlier, *(release for release, _ in alike)}
    together = sorted(target.together_with or known) if judged else []
    if not reasoned:
        _check_unreleased(session, policy, source, earlier, alike, together, rows=fingerprint is not None)
    for name in target.publish:
        check_readers(session.embedded, name, target.publish_repeat_reason, known, "release.publish_repeat_reason")
    return tuple(together)


def releases_of_same_people(session: Session, release: Release) -> set[int]:
    """The other releases that are known to be of the same people, by the rules of `check_ledger`."""
    tables = release.source_tables or (release.source,)
    earlier = releases.earlier_releases(session.ledger, tables, release.source_fingerprint)
    sketch = sketches.find(session.ledger, release.number)
    alike = _same_people(session, sketch, earlier) if sketch else ()
    return {*earlier, *(number for number, _ in alike)} - {release.number}


def check_readers(session: Session, target: str, reason: str, known: Collection[int], field: str) -> None:
    """Raises `InvalidError` if one of the `known` releases was published to a target and there is no reason.

    The known releases are those of the same people.
    """
    if says_something(reason):
        return
    published = publications.known_at(session.ledger, target, known)
    seen = releases.seen_among(session.ledger, published)
    if published:
        shown = named([number for number in published if number in seen]) or "a release that you may not see"
        raise InvalidError.of(
            "REPEATED_PUBLICATION",
            field,
            f"none, although readers of {shortened(target)} have {shown} of the same people",
            "the reason why they may have another one",
            "Two releases of the same people can together tell apart what each alone hides: state the reason, or "
            "publish it to other readers.",
        )


def _check_unreleased(
    session: WarehouseSession,
    policy: Policy,
    source: Source,
    earlier: Sequence[int],
    alike: Sequence[tuple[int, str]],
    together: Collection[int],
    *,
    rows: bool,
) -> None:
    known = {*earlier, *(release for release, _ in alike)}
    asked = known.difference(together)
    seen = releases.seen_among(session.ledger, asked)
    came = f"came from {'this source' if source.query is None else 'tables that it reads'}"
    of_tables = [release for release in earlier if release in seen]
    why = [f"{named(of_tables)} {came}"] if of_tables else []
    gap = ledger_gaps.latest(session.ledger)
    if gap is not None and not any(number > gap.after for number in known):
        why.append(f"the ledger went back in time: {gap}")
    by_reason: defaultdict[str, list[int]] = defaultdict(list)
    for release, reason in alike:
        if release in seen:
            by_reason[reason].append(release)
    why += [f"{reason} {named(numbers)}" for reason, numbers in by_reason.items()]
    if not seen.issuperset(asked):
        why.append("there is a release of these records that you may not see")
    if why:
        raise InvalidError.of(
            "REPEATED_RELEASE",
            "repeat_reason",
            f"none, although {'; '.join(why[:_MOST_REASONS])}{'; …' if len(why) > _MOST_REASONS else ''}",
            "the reason why these records are released once more",
            way_out(session, policy, source, asked, rows=rows),
        )


def _same_people(session: Session, sketch: Sketch, known: Collection[int]) -> Iterator[tuple[int, str]]:
    """Other releases whose sources had these people, each with the evidence for it."""
    own_columns = sum(sample.column != ROWS for sample in sketch.samples)
    for release, found in groupby(sketches.alike(session.ledger, sketch, known), key=lambda likeness: likeness.release):
        bits: dict[str, float] = {}
        best: dict[str, Likeness] = {}
        for likeness in found:
            pairs = 1 if likeness.column == ROWS or _is_whole(likeness) else likeness.their_columns * own_columns
            weighed = surprise(likeness, sketch.records) - math.log2(pairs) if _share(likeness) >= LEAST_SHARED else 0.0
            if weighed > bits.get(likeness.column, 0.0):
                bits[likeness.column], best[likeness.column] = weighed, likeness
        of_rows = bits.pop(ROWS, 0.0)
        # Columns whose values recur equally may be one column in two codes: they count once.
        if sum({round(each, 3) for each in bits.values()}) >= _ENOUGH_BITS:
            yield release, _shared_by([best[name] for name in bits])
        elif of_rows >= _ENOUGH_BITS:
            yield release, f"{_percent(best[ROWS])} % of the rows are as in"


def _is_whole(likeness: Likeness) -> bool:
    """Whether all values were counted, and are shared."""
    return likeness.scale == 0 and _is_equal(likeness)


def _is_equal(likeness: Likeness) -> bool:
    return likeness.shared == likeness.theirs == likeness.mine


def _share(likeness: Likeness) -> float:
    return likeness.shared.total() / min(likeness.theirs.total(), likeness.mine.total())


def _percent(likeness: Likeness) -> int:
    return math.floor(100 * likeness.shared.total() / likeness.mine.total())


def named(numbers: Sequence[int]) -> str:
    """The names of some releases, for people; not of all if they are many."""
    names = ", ".join(f"releases/{number}" for number in numbers[:_MOST_RELEASES])
    return f"{names}, …" if len(numbers) > _MOST_RELEASES else names


def _shared_by(columns: Sequence[Likeness]) -> str:
    """Names the columns that share most."""
    if equal := [likeness.column for likeness in columns if _is_equal(likeness)]:
        return f"{_listed(equal)} as in"
    most = max(map(_percent, columns))
    names = [likeness.column for likeness in columns if _percent(likeness) == most]
    return f"{most} % of the values of {_some(names)} are as in"


def _listed(columns: Sequence[str]) -> str:
    if len(columns) == 1:
        return f"the column {_some(columns)} has the same values"
    return f"{_some(columns)} have the same values"


def _some(columns: Sequence[str]) -> str:
    names = ", ".join(map(shortened, columns[:_MOST_COLUMNS]))
    return f"{names} and {len(columns) - _MOST_COLUMNS:,} more" if len(columns) > _MOST_COLUMNS else names
