"""Why releases are as they are, and no neighbour of their transformation took its place."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import astuple, dataclass

from tableveil.backend import Session
from tableveil.state.rows import insert_rows


@dataclass(frozen=True, slots=True)
class Rejection:
    """What one privacy model rejects at a transformation, and what of that no other does.

    It `binds` if the transformation is not valid, and would be without it.
    """

    privacy_model: str
    classes: int
    records: int
    only_classes: int
    only_records: int
    binds: bool


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The transformation one level less or more (`step`) on the columns, several if they are linked.

    They have `level` there. With step 0 and no columns it is the released transformation itself. `score` is None if it
    is not valid: `records_over_limit` too many would be suppressed.
    """

    columns: tuple[str, ...]
    step: int
    level: int | None
    classes: int
    rejected_classes: int
    suppressed_records: int
    records_over_limit: int
    score: float | None
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why not a neighbour. If not `complete`, there was no time for some."""

    itself: Neighbour
    neighbours: tuple[Neighbour, ...]
    complete: bool


def insert(session: Session, release: int, explanation: Explanation) -> None:
    """Writes it, but for whether it is complete; call it in the transaction that writes the release."""
    neighbours = list(enumerate([explanation.itself, *explanation.neighbours]))
    insert_rows(
        session,
        "release_explanations",
        [
            (
                *(release, position, list(found.columns), found.step, found.level, found.classes),
                *(found.rejected_classes, found.suppressed_records, found.records_over_limit, found.score),
            )
            for position, found in neighbours
        ],
    )
    rows = [(release, position, *astuple(one)) for position, found in neighbours for one in found.rejections]
    insert_rows(session, "release_rejections", rows)


def of_release(session: Session, release: int) -> Explanation | None:
    """That of a release; none for releases from before it was kept, and those that no search chose."""
    complete = session.value("SELECT explanation_complete FROM tableveil.releases WHERE number = ?", [release])
    if complete is None:
        return None
    rejections = defaultdict(list)
    for position, *row in session.rows(
        "SELECT position, privacy_model, classes, records, only_classes, only_records, binds "
        "FROM tableveil.release_rejections WHERE release = ? ORDER BY rowid",
        [release],
    ):
        rejections[position].append(Rejection(*row))
    rows = session.rows(
        "SELECT columns, step, level, classes, rejected_classes, suppressed_records, records_over_limit, score "
        "FROM tableveil.release_explanations WHERE release = ? ORDER BY position",
        [release],
    )
    itself, *neighbours = (
        Neighbour(tuple(columns), step, level, classes, rejected, suppressed, over, score, tuple(rejections[position]))
        for position, (columns, step, level, classes, rejected, suppressed, over, score) in enumerate(rows)
    )
    return Explanation(itself, tuple(neighbours), complete)
