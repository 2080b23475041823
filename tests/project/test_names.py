"""Names: no two public classes share one."""

from __future__ import annotations

from tests.project.house import classes


def test_no_two_public_classes_share_a_name() -> None:
    assert sorted(name for name, number in classes().items() if number > 1) == []
