"""The reasons for releases: why no neighbour of the transformation took its place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """The records that one privacy model rejects at a transformation, and those that no other one rejects.

    It `binds` if the transformation fails, and would be valid without it.
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

    They have `level` there. With step 0 and no columns it is the released transformation itself. `score` is None if the
    transformation fails: `records_over_limit` too many would be suppressed.
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
    """Why no neighbour took the transformation's place. If it is not `complete`, there was no time for some."""

    itself: Neighbour
    neighbours: tuple[Neighbour, ...]
    complete: bool
