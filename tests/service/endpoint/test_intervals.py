"""Random questions on random releases: the intervals of the answers hold the truth."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks import discharges
from benchmarks.answers.released import RELEASED, Both, released
from benchmarks.discharges import demo_policy
from tableveil.policy import KAnonymity, Policy, Role
from tableveil.policy.methods.local_recoding import LocalRecoding

pytestmark = pytest.mark.long

QUESTIONS, ROWS = 60, 1_000

COLUMNS = ("age", "admission_date", "length_of_stay")
_FUNCTIONS = ("count", "share", "mean", "min", "max", "median")
_SLACK = 1e-9


@pytest.mark.parametrize("local", [False, True])
def test_intervals_hold_the_truth(local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discharges, "CACHE", tmp_path)
    random = Random(33 + local)
    with released(_policy(random, local=local), ROWS) as both:
        asked = [_asked(both, random, function) for function in _FUNCTIONS for _ in range(QUESTIONS // len(_FUNCTIONS))]
    wrong = [
        (told, low, truth, high)
        for low, truth, high, told in asked
        if (low is not None and low > truth + _SLACK) or (high is not None and truth - _SLACK > high)
    ]
    assert not wrong


def _policy(random: Random, *, local: bool) -> Policy:
    policy = demo_policy()
    attributes = []
    for attribute in policy.attributes:
        if attribute.column in COLUMNS:
            attribute = replace(attribute, minimum_level=random.choice([0, 0, 1, 2]))
        elif attribute.role is Role.QUASI_IDENTIFIER:
            attribute = replace(attribute, role=Role.IDENTIFYING, hierarchy=None, minimum_level=0)
        attributes.append(attribute)
    return replace(
        policy,
        attributes=tuple(attributes),
        privacy_models=(KAnonymity(random.choice([2, 3, 5, 10])),),
        suppression_limit=Decimal(0),
        methods=(LocalRecoding(),) if local else (),
    )


def _asked(both: Both, random: Random, function: str) -> tuple[Any, Any, Any, str]:
    """The ends of an answer, with the truth between them as a number, and the question."""
    column = random.choice(COLUMNS)
    # Both columns are released as they are, so that groups by them are exact.
    group = random.choice(["true", "diagnosis < 'F'", "diagnosis > 'M'", "charge > 20000", "charge < 5000"])
    labels = f"{column}, {column}_from, {column}_to"
    limits: tuple[object, ...] = ()
    if function in ("count", "share"):
        limits = _limits(random, column)
        call, parts = f"tv_{function}_between({labels}, $1, $2)", ("certain", "possible")
        within = f"count(*) FILTER (WHERE {column} >= coalesce($1, {column}) AND {column} <= coalesce($2, {column}))"
        truth = within if function == "count" else f"{within} / count({column})"
    else:
        call, parts = f"tv_{function}({labels})", ("low", "high")
        truth = f"{'avg' if function == 'mean' else function}({column})"
    ((answer,),) = both.rows(f"SELECT {call} FROM {RELEASED} WHERE {group}", *limits)
    ((true,),) = both.rows(f"SELECT {truth} FROM memory.main.source WHERE {group}", *limits)
    assert isinstance(answer, dict)
    low, high = (_number(answer[part]) for part in parts)
    return low, _number(true), high, f"{call} of {limits} where {group}"


def _limits(random: Random, column: str) -> tuple[object, object]:
    values: list[Any] = sorted(random.randrange(0, 110 if column == "age" else 40) for _ in range(2))
    if column == "admission_date":
        values = [date(2022, 1, 1) + timedelta(27 * value) for value in values]
    return random.choice([(values[0], values[1]), (values[0], None), (None, values[1])])


def _number(value: Any) -> Any:
    """A date or time as days."""
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, Decimal):
        return float(value)
    days = value.toordinal()
    return days + (value.hour * 3600 + value.minute * 60 + value.second) / 86_400 if hasattr(value, "hour") else days
