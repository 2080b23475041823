"""One value of another ward changes no answer to a steward who may not see it, whatever is asked and released."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from tests.service.access.twins import Asked, few_calls, first_calls, more_calls, outcome, settle, twins


def test_both_answer_alike(tmp_path: Path) -> None:
    compared(tmp_path, few_calls(), whole=False)


@pytest.mark.long
def test_both_answer_alike_to_all_calls(tmp_path: Path) -> None:
    compared(tmp_path, chain(first_calls(), more_calls()))


def compared(place: Path, calls: Iterable[Asked], *, whole: bool = True) -> None:
    with twins(place, differ=True, whole=whole) as houses:
        for one in calls:
            answers = []
            for house in houses:
                settle(house)
                answers.append(outcome(house, one))
            assert answers[0] == answers[1], one
