"""Reads files of reference cases: one JSON object per line, see reference/README.md beside the data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.problems import UnusableError


@dataclass(frozen=True, slots=True)
class Case:
    """A line: the settings of a run, its expected result, and how many transformations the reference tool checked.

    `settings` is the line's `case`, `expected` its `expected`, both as they stand there.
    """

    id: str
    place: str
    dataset: str
    quasi_identifiers: tuple[str, ...]
    settings: Mapping[str, Any]
    expected: Mapping[str, Any]
    reference_checks: int | None


def read_cases(path: Path, ids: str) -> list[Case]:
    """The cases of a file whose id matches the glob, in the file's order.

    Raises:
        UnusableError: the file cannot be read, a line of it is no case, or no id matches.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableError(f"{path}: cannot be read: {error}") from None
    lines = [(f"{path}, line {number}", line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    cases = [_case(line, place) for place, line in lines]
    matching = [case for case in cases if fnmatchcase(case.id, ids)]
    if not matching:
        raise UnusableError(f"{path}: none of its {len(cases)} cases has an id that matches '{ids}'")
    return matching


def _case(line: str, place: str) -> Case:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise UnusableError(f"{place}: no JSON: {error}") from None
    content = _typed(content, dict, place, "the line")
    settings = _typed(content.get("case"), dict, place, "case")
    reference = content.get("arx")
    checks = reference.get("transformations_checked") if isinstance(reference, dict) else None
    return Case(
        id=_typed(content.get("id"), str, place, "id"),
        place=place,
        dataset=_typed(settings.get("dataset"), str, place, "case.dataset"),
        quasi_identifiers=tuple(_typed(settings.get("qis"), str, place, "case.qis").split(",")),
        settings=settings,
        expected=_typed(content.get("expected"), dict, place, "expected"),
        reference_checks=checks if isinstance(checks, int) else None,
    )


def _typed(value: Any, type_: type, place: str, name: str) -> Any:
    if not isinstance(value, type_):
        wanted = "an object" if type_ is dict else "text"
        raise UnusableError(f"{place}: {name} is {'missing' if value is None else 'not ' + wanted}")
    return value
