"""The check of each recoding: whether a release's models hold, by its own method, also at the record level."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tableveil.backend import WarehouseSession
from tableveil.policy import JobPart, Policy, Recoded
from tableveil.policy.methods.aggregated_columns import AGGREGATED_COLUMNS
from tableveil.policy.methods.record_level import RECORD_LEVEL
from tableveil.verification.aggregated import check_aggregated
from tableveil.verification.clustered import CLUSTERED, stage_clustered
from tableveil.verification.domains import count_losses
from tableveil.verification.game import check_played
from tableveil.verification.own_levels import chosen_labels, drop_own_levels, read_own_levels
from tableveil.verification.people import check_people, counts_people
from tableveil.verification.together import check_own_classes_of_people
from tableveil.verification.unchanged import check_unchanged
from tableveil.verification.written import Judged, Written


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


def check_method(judged: Judged) -> list[str]:
    """The faults of a release by its policy's method."""
    method = judged.policy.method
    return _OWN.get(method.name, _BY_RECODING[method.recoded])(judged)


def _by_labels(judged: Judged) -> list[str]:
    session, policy, written = judged.session, judged.policy, judged.written
    problems = check_people(session, policy, judged.source_records, written)
    if JobPart.UNCHANGED in policy.parts:
        problems += check_unchanged(judged)
    return problems


def _with_aggregates(judged: Judged) -> list[str]:
    return [*_by_labels(judged), *check_aggregated(judged)]


def _of_clusters(judged: Judged) -> list[str]:
    """Insensitive columns are not looked at again."""
    session, policy, written = judged.session, judged.policy, judged.written
    problems = []
    if written.people:
        problems = stage_clustered(session.embedded, policy, judged.quasi_identifiers, judged.marker, written)
    problems += check_people(session, policy, judged.source_records, written)
    session.embedded.execute(f"DROP TABLE IF EXISTS temp.main.{CLUSTERED}")
    return [*problems, *check_aggregated(judged)]


def _by_own_levels(judged: Judged) -> list[str]:
    session, policy, written = judged.session, judged.policy, judged.written
    problems = read_own_levels(session, policy, written, count_people=counts_people(policy))
    problems = problems or [
        *check_people(session, policy, judged.source_records, written, own_levels=True),
        *check_unchanged(judged, own_levels=True),
        *check_own_classes_of_people(session.embedded, policy, written),
    ]
    drop_own_levels(session.embedded, written)
    return problems


def _by_the_game(judged: Judged) -> list[str]:
    return check_record_level(judged.session, judged.policy, judged.source_records, judged.written)


_BY_RECODING: Mapping[Recoded, Callable[[Judged], list[str]]] = {
    Recoded.BY_VALUE: _by_labels,
    Recoded.BY_COMBINATION: _by_own_levels,
    Recoded.CLUSTERS: _of_clusters,
}
_OWN: Mapping[str, Callable[[Judged], list[str]]] = {
    AGGREGATED_COLUMNS.name: _with_aggregates,
    RECORD_LEVEL.name: _by_the_game,
}
"""The checks of methods that are judged otherwise than all others of their recoding."""
