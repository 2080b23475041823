"""The earlier releases that a new one is judged together with, and the classes that its people had there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, cast, collected, column, table
from tableveil.classes import EarlierClasses
from tableveil.counting import Earlier
from tableveil.counting.earlier import EARLIER
from tableveil.errors import InvalidError, shortened
from tableveil.policy import Policy
from tableveil.release.ledger import named
from tableveil.source import Source
from tableveil.state import persons, releases

FIELD = "release.together_with"


def find_earlier(
    session: WarehouseSession, policy: Policy, source: Source, together_with: Sequence[int]
) -> Earlier | None:
    """Stages the source's people with their classes in the releases; None if there are no releases.

    Raises:
        InvalidError: A release keeps no classes of its people, or none of its people is recognized.
    """
    person = policy.person_column
    if not together_with or person is None:
        return None
    kept = persons.with_classes(session.ledger, together_with)
    unknown = [release for release in together_with if release not in kept]
    if unknown:
        found = f"{_shown(session.embedded, unknown)}, of which the ledger has no class of each person"
        expected = "releases of one transformation for all records, with a person_column of one row per person"
        raise _refused("TOGETHER_UNKNOWN", found, expected)
    combinations = persons.combinations(session.ledger, together_with)
    people = exp.select(column(person)).from_(source.with_all().table())
    rows = collected(session, "recognizable_people", people)
    present = persons.recognize(session.ledger, together_with, EARLIER, rows, person)
    session.lend(EARLIER)
    classes = np.stack([combinations[f"r{r}"] for r in range(len(together_with))], axis=1).astype(np.int64)
    known = EarlierClasses(tuple(together_with), classes, combinations["people"].astype(np.int64), present)
    counted = session.embedded.arrays(
        exp.select(column("code"), alias(cast(exp.Count(this=exp.Star()), "BIGINT"), "n"))
        .from_(table(EARLIER))
        .group_by(column("code"))
    )
    there = np.bincount(counted["code"].astype(np.intp), counted["n"], known.combinations)[:-1]
    strangers = [
        release
        for r, release in enumerate(together_with)
        if known.people[classes[:, r] >= 0].sum() and not there[classes[:, r] >= 0].sum()
    ]
    if strangers:
        found = f"{_shown(session.embedded, strangers)}, in which nobody has a {shortened(person)} of the source"
        raise _refused("TOGETHER_UNRECOGNIZED", found, "releases of the same people, by the same person_column")
    return Earlier(known, person)


def _refused(code: str, found: str, expected: str) -> InvalidError:
    hint = f"List the others in {FIELD}, and say in repeat_reason why these are left out."
    return InvalidError.of(code, FIELD, found, expected, hint)


def _shown(session: Session, numbers: Sequence[int]) -> str:
    """The releases by name, but for those that the caller may not see."""
    seen = releases.seen_among(session.ledger, numbers)
    return named([number for number in numbers if number in seen]) or "a release that you may not see"
