"""The check of each recoding: whether a release's models hold, by labels, by levels of their own or by members."""

from collections.abc import Callable, Mapping

from tableveil.policy import JobPart, Recoded
from tableveil.policy.methods.aggregated_columns import AGGREGATED_COLUMNS
from tableveil.policy.methods.record_level import RECORD_LEVEL
from tableveil.verification.aggregated import check_aggregated
from tableveil.verification.clustered import CLUSTERED, stage_clustered
from tableveil.verification.judged import Judged
from tableveil.verification.own_levels import drop_own_levels, read_own_levels
from tableveil.verification.people import check_people, counts_people
from tableveil.verification.record_level import check_record_level
from tableveil.verification.together import check_own_classes_of_people
from tableveil.verification.unchanged import check_unchanged


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
