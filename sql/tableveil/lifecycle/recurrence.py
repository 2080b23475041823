"""The evidence that the people of a source were in earlier releases: rows that recur, not values of a column alone."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from tableveil.backend import Session
from tableveil.disclosure.accident import SPARSE, AgreeingRows, agreement, key_bits, row_bits, significance_bits
from tableveil.disclosure.new_keys import NewKeys, no_old_keys
from tableveil.errors import listed, shortened
from tableveil.source.sketch import ROWS, Sketch
from tableveil.state import sketches
from tableveil.state.sketches import Likeness, RowPairs, RowsOfKeys, rows_like

_ENOUGH_BITS = 14
"""An event less likely than one in 2^14 = 16,384 is no accident."""

LEAST_SHARED = 0.05
"""Below this share of the smaller sample's values, two tables do not count as having common people."""

_DENSE = 0.9
"""Values that fill so much of the place where they lie number rows, and share so many with others that do."""

_MOST_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Resemblance:
    """The words of what releases have in common with a source: they stand `before` and `after` the releases' names.

    `of_rows` if rows recur: whole ones, or the values of a column in rows that agree.
    """

    before: str
    after: str = ""
    of_rows: bool = False

    def told(self, releases: str) -> str:
        """The evidence, with the names of the releases."""
        return f"{self.before} {releases}{self.after}"


def recurring(session: Session, sketch: Sketch, others: Collection[int]) -> Iterator[tuple[int, Resemblance]]:
    """The releases among others whose sources had these people, each with the evidence for it."""
    by_release = [
        (release, list(group))
        for release, group in groupby(
            sketches.alike(session.ledger, sketch, others), key=lambda likeness: likeness.release
        )
    ]
    enough = [each for _, group in by_release for each in group if each.filled is not None and _is_enough(each)]
    pairs = sketches.row_pairs(session.ledger, sketch, [(each.release, each.position, each.own) for each in enough])
    known = set[int]()
    for release, group in by_release:
        if any(each.filled is None for each in group):
            evidence = _by_values(group, sketch)
        else:
            of_release = {(position, own): rows for (of, position, own), rows in pairs.items() if of == release}
            evidence = _by_rows(group, sketch, of_release)
        if evidence is not None:
            known.add(release)
            yield release, evidence
    if mine := _rows_of_people(sketch):
        for release, theirs in rows_like(session.ledger, mine, {*others} - known).items():
            again = no_old_keys(theirs, mine)
            if again is not None and again.rows >= LEAST_SHARED * min(again.new, again.gone):
                yield release, _of_new_keys(again)


def _rows_of_people(sketch: Sketch) -> RowsOfKeys | None:
    """The rows of the column in which most values are in one record."""
    kept = [sample for sample in sketch.samples if sample.cells is not None]
    likest = max(kept, key=lambda sample: np.count_nonzero(sample.records == 1), default=None)
    return None if likest is None else RowsOfKeys.of(sketch, likest.column)


def _of_new_keys(again: NewKeys) -> Resemblance:
    """No key says that they are the same people, so that a statement may say that they are others."""
    before = f"{again.rows:,} of {again.new:,} rows{' sampled' * again.sampled} have the same {again.same} as one of"
    return Resemblance(f"{before} {again.gone:,} in", f", and by chance {again.chance} would")


def numbering(sketch: Sketch, person: str) -> Sketch | None:
    """The sketch of the person column alone, if it numbers rows; else None."""
    own = [each for each in sketch.samples if each.column.casefold() == person.casefold()][:1]
    if not own or own[0].filled is None or own[0].filled < _DENSE:
        return None
    return replace(sketch, samples=tuple(own))


def numbered_alike(session: Session, own: Sketch, others: Collection[int]) -> dict[int, str]:
    """The releases among others that have a column of the name that the one in `own` has, with numbers that are shared.

    Both number rows, so the part that is shared, in words, says nothing of whether the people are the same.
    """
    found: dict[int, str] = {}
    for each in sketches.alike(session.ledger, own, others):
        dense = each.filled is not None and min(each.filled) >= _DENSE
        smaller = min(each.theirs.total(), each.mine.total())
        if dense and each.their_column.casefold() == each.column.casefold() and each.values >= _DENSE * smaller:
            part, before, after = _part(each)
            found.setdefault(
                each.release, f"{part} values of {shortened(each.column)} {before} releases/{each.release}{after}"
            )
    return found


def _is_enough(likeness: Likeness) -> bool:
    return likeness.values >= LEAST_SHARED * min(likeness.theirs.total(), likeness.mine.total())


def _by_rows(group: Sequence[Likeness], sketch: Sketch, pairs: dict[tuple[int, int], RowPairs]) -> Resemblance | None:
    """Values of people that recur, in rows that agree or as none would by chance; or whole rows."""
    columns = len({sample.column for sample in sketch.samples} - {ROWS})
    of_keys = [each for each in group if each.column != ROWS and _is_enough(each)]
    best: tuple[float, Likeness, AgreeingRows | None] | None = None
    for each in of_keys:
        rows = pairs.get((each.position, each.own))
        same = None if rows is None else agreement(rows)
        bits = key_bits(each) + (same.bits if same is not None else 0.0) - math.log2(columns * each.their_columns)
        if bits >= _ENOUGH_BITS and (best is None or (same is not None, bits) > (best[2] is not None, best[0])):
            best = bits, each, same
    if best is not None:
        return _of_key(best[1], best[2], sketch)
    for each in group:
        if each.column == ROWS and _is_enough(each) and not _rows_differ_by_numbers(of_keys, pairs):
            bits = row_bits(each, sketch.records, _shared_by_chance(group, sketch))
            if bits >= _ENOUGH_BITS:
                part, before, after = _part(each)
                return Resemblance(f"{part} different rows {before}", after, of_rows=True)
    return None


def _rows_differ_by_numbers(of_keys: Sequence[Likeness], pairs: dict[tuple[int, int], RowPairs]) -> bool:
    """Whether values number the rows of both tables, or are their dates, while other columns say whether people recur.

    Whole rows differ by such values alone: they recur where columns that go together do.
    """
    silent = {
        (each.their_column, each.column)
        for each in of_keys
        if (rows := pairs.get((each.position, each.own))) is not None and rows.tell_nothing
    }
    return any(
        all(10 * sizes[1] >= 9 * sizes.total() for sizes in (each.mine, each.theirs))
        and max(each.filled or ()) >= SPARSE
        and (each.their_column, each.column) not in silent
        for each in of_keys
    )


def _shared_by_chance(group: Sequence[Likeness], sketch: Sketch) -> float:
    """How often a row is in the other table if columns have nothing to do with each other."""
    records = sketch.records, group[0].their_records
    alike = dict.fromkeys((sample.column for sample in sketch.samples if sample.column != ROWS), 0.0)
    for each in group:
        if each.column != ROWS:
            alike[each.column] = max(alike[each.column], each.pairs * 2.0**each.scale / math.prod(records))
    return min(1.0, max(records) * math.prod(alike.values()))


def _of_key(likeness: Likeness, rows: AgreeingRows | None, sketch: Sketch) -> Resemblance:
    part, before, after = _part(likeness)
    names = shortened(likeness.their_column if "here" in after else likeness.column)
    if likeness.their_column.casefold() != likeness.column.casefold():
        after += f", in {shortened(likeness.column if 'here' in after else likeness.their_column)}"
    if rows is not None:
        same = [shortened(sketch.samples[j].column) for _, j in rows.columns]
        after += f", and {rows.agreeing:,} of {rows.rows:,} rows that share one have the same {listed(same)}"
    return Resemblance(f"{part} values of {names} {before}", after, of_rows=rows is not None)


def _part(likeness: Likeness) -> tuple[str, str, str]:
    """The part of the smaller table's values that the other has, with the words around the releases' names."""
    theirs, mine = likeness.theirs.total(), likeness.mine.total()
    smaller = min(theirs, mine)
    part = f"all {smaller:,}" if likeness.values >= smaller else f"{likeness.values:,} of the {smaller:,}"
    part += " sampled" * (likeness.scale > 0)
    return (part, "in", " recur here") if theirs <= mine else (part, "here are in", "")


def _by_values(group: Sequence[Likeness], sketch: Sketch) -> Resemblance | None:
    """Values that recur in as many records as they would not by chance: the rule where nobody kept rows."""
    own_columns = sum(sample.column != ROWS for sample in sketch.samples)
    bits: dict[str, float] = {}
    best: dict[str, Likeness] = {}
    for likeness in group:
        if not likeness.shared or _share(likeness) < LEAST_SHARED:
            continue
        pairs = 1 if likeness.column == ROWS or _is_whole(likeness) else likeness.their_columns * own_columns
        weighed = significance_bits(likeness, sketch.records) - math.log2(pairs)
        if weighed > bits.get(likeness.column, 0.0):
            bits[likeness.column], best[likeness.column] = weighed, likeness
    of_rows = bits.pop(ROWS, 0.0)
    # Columns whose values recur equally may be one column in two codes: they count once.
    if sum({round(each, 3) for each in bits.values()}) >= _ENOUGH_BITS:
        alone = " (by its values alone: the ledger keeps no rows of that release)"
        return Resemblance(_shared_by([best[name] for name in bits]), alone)
    if of_rows >= _ENOUGH_BITS:
        return Resemblance(f"{_percent(best[ROWS])} % of the rows are as in", of_rows=True)
    return None


def _is_whole(likeness: Likeness) -> bool:
    """Whether all values were counted, and are shared."""
    return likeness.scale == 0 and _is_equal(likeness)


def _is_equal(likeness: Likeness) -> bool:
    return likeness.shared == likeness.theirs == likeness.mine


def _share(likeness: Likeness) -> float:
    return likeness.shared.total() / min(likeness.theirs.total(), likeness.mine.total())


def _percent(likeness: Likeness) -> int:
    return math.floor(100 * likeness.shared.total() / likeness.mine.total())


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
