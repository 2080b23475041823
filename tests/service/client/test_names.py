"""Names of jobs and releases, in full or as numbers."""

import pytest

from tableveil.client.names import JOBS, RELEASES, resource_name
from tableveil.errors import InvalidError


@pytest.mark.parametrize("text", ["3", "jobs/3", "03"])
def test_number_or_full_name(text: str) -> None:
    assert resource_name(JOBS, text) == "jobs/3"


@pytest.mark.parametrize("text", ["", "x", "jobs/", "jobs/x", "releases/3", "-1", "3 ", "٣", "jobs/3/4", "/3/"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        resource_name(JOBS, text)
    assert caught.value.code == "NAME_INVALID"


def test_says_what_was_expected() -> None:
    with pytest.raises(InvalidError, match="`releases/` and a number"):
        resource_name(RELEASES, "jobs/3")
