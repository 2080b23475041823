"""The target of a release for tests of other things than the columns beside labels, which test_labels.py looks at."""

from __future__ import annotations

from tableveil.policy import IfExists, ReleaseKind, ReleaseTarget


def plain_target(
    schema: str, name: str, kind: ReleaseKind = ReleaseKind.TABLE, if_exists: IfExists = IfExists.FAIL
) -> ReleaseTarget:
    """A target without these columns, so that rows are short."""
    return ReleaseTarget(schema, name, kind, if_exists, label_columns=False)
