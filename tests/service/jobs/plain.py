"""The target of a release for tests of other things than the columns beside labels, which test_labels.py looks at."""

from typing import Any

from tableveil.policy import IfExists, ReleaseKind, ReleaseTarget


def plain_target(
    schema: str, name: str, kind: ReleaseKind = ReleaseKind.TABLE, if_exists: IfExists = IfExists.FAIL, **others: Any
) -> ReleaseTarget:
    """A target without these columns, so that rows are short, and a release takes two thirds of the time."""
    return ReleaseTarget(schema, name, kind, if_exists, **{"label_columns": False, **others})
