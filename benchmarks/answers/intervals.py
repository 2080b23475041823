"""Section: random questions on random releases; the intervals of the answers against the source."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from benchmarks.answers.released import RELEASED, Both, released
from benchmarks.discharges import demo_policy
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.policy import KAnonymity, Policy, Role
from tableveil.policy.methods.local_recoding import LocalRecoding

QUESTIONS = 10_000
RELEASES = 20
ROWS = 3_000

COLUMNS = ("age", "admission_date", "length_of_stay")
_FUNCTIONS = ("count", "share", "mean", "min", "max", "median")
_SLACK = 1e-9


def intervals(questions: int = QUESTIONS, releases: int = RELEASES, rows: int = ROWS) -> Section:
    """Asks as many questions of each release, every other one by local recoding. Nothing is suppressed in them."""
    random = Random(33)
    asked, held, closed = Counter[str](), Counter[str](), Counter[str]()
    wrong: list[str] = []
    for number in range(releases):
        with released(_policy(random, local=number % 2 == 1), rows) as both:
            for _ in range(questions // releases):
                function = random.choice(_FUNCTIONS)
                low, truth, high, told = _asked(both, random, function)
                asked[function] += 1
                closed[function] += low is not None and high is not None
                if (low is None or low <= truth + _SLACK) and (high is None or truth - _SLACK <= high):
                    held[function] += 1
                else:
                    wrong.append(f"{told}: {truth} is not in [{low}, {high}]")
    total, right = asked.total(), held.total()
    return Section(
        "Intervals that hold the truth",
        (
            f"{total:,} random questions on {releases} releases of {rows:,} generated discharges, by random policies, "
            "every other one by local recoding.",
            table(
                ("function", "questions", "intervals with both ends", "that hold the truth"),
                [[f"tv_{name}", f"{asked[name]:,}", f"{closed[name]:,}", f"{held[name]:,}"] for name in _FUNCTIONS],
            ),
            f"{right:,} of {total:,} intervals hold the truth; goal: all: {verdict(right == total)}.",
            *wrong[:10],
        ),
        sound=right == total,
    )


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
