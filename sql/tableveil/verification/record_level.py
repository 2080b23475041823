"""Checks a release at the record level: who could be meant by its labels, and what that pays.

This check does not cover whether these levels are the best of all.
"""

from dataclasses import replace

from tableveil.backend import WarehouseSession
from tableveil.policy import Policy
from tableveil.policy.methods.record_level import RECORD_LEVEL
from tableveil.verification.domains import count_losses
from tableveil.verification.game import check_played
from tableveil.verification.own_levels import chosen_labels, drop_own_levels, read_own_levels
from tableveil.verification.written import Written


def check_record_level(session: WarehouseSession, policy: Policy, source_records: int, written: Written) -> list[str]:
    """Faults of the rows; `judged_classes` has their classes."""
    problems, knows = read_own_levels(session, policy, written), RECORD_LEVEL.options(policy).adversary_knows_method
    if not problems:
        # The score of a choice against an adversary who knows the method is recomputed by `_check_inversion`.
        problems = _check_people(session, policy, source_records, replace(written, score=None) if knows else written)
        if knows:
            problems += _check_inversion(session, policy, source_records, written)
    drop_own_levels(session.embedded, written)
    return problems


def _check_people(session: WarehouseSession, policy: Policy, source_records: int, written: Written) -> list[str]:
    """Counts the people with the labels of each class, and judges attacks and payouts by that."""
    classes = (
        "(SELECT s.*, greatest(coalesce(k.people, 0), 1) AS people FROM said AS s LEFT JOIN counted AS k USING (class))"
    )
    levels = [f"c.l{i}" for i in range(len(written.labels))]
    count_losses(session, policy, written, classes, "played", levels)
    problems = check_played(session.embedded, policy, source_records, written)
    session.embedded.execute("DROP TABLE temp.main.played")
    return problems


def _check_inversion(session: WarehouseSession, policy: Policy, source_records: int, written: Written) -> list[str]:
    """Judges by the people who would be released with a row's labels at its levels."""
    keys = range(len(written.labels))
    labels = ", ".join(f"n{i}.label AS q{i}, g.l{i}" for i in keys)
    names = " ".join(f"JOIN names_{i} AS n{i} ON n{i}.id = g.i{i}" for i in keys)
    classes = (
        f"(SELECT {labels}, FALSE AS pool, g.size, greatest(g.people, 1) AS people FROM ("
        f"SELECT {', '.join(f'i{i}, l{i}' for i in keys)}, sum(records)::BIGINT AS size, sum(people)::BIGINT AS people "
        f"FROM ({chosen_labels(written)}) GROUP BY ALL HAVING sum(records) > 0) AS g {names})"
    )
    count_losses(session, policy, written, classes, "played", [f"c.l{i}" for i in keys])
    problems = check_played(session.embedded, policy, source_records, written)
    session.embedded.execute("DROP TABLE temp.main.played")
    return [f"against an adversary who knows the method, {problem}" for problem in problems]
