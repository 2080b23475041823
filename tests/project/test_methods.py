"""A method owns its slice: hardly any line of other code asks which method it is."""

import pytest

from tests.docs.test_development import touched
from tests.project.house import METHOD, METHOD_OTHERWISE, METHODS, lines_with


def test_few_lines_ask_for_the_method() -> None:
    """The lines left hand slices their options and columns. Ask the policy's method for a trait, or the plan."""
    lines, files = lines_with(METHOD)
    assert lines <= 25
    assert files <= 10


def test_hardly_any_line_asks_for_it_by_another_name() -> None:
    """Only the client's `--levels-of` does, which has no registry."""
    _, files = lines_with(METHOD_OTHERWISE)
    assert files <= 1


@pytest.mark.parametrize("name", METHODS)
def test_no_more_files_name_it(name: str) -> None:
    """The files left are registries, protos, and features that offer the method by name."""
    assert len(touched(METHODS[name])) <= METHODS[name].most
