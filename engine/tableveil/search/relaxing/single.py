"""Policies that relax one field of another policy, by as little as makes them feasible."""

from collections.abc import Iterator, Sequence
from functools import partial

from tableveil.errors import Change
from tableveil.policy import Policy
from tableveil.search.relaxing.requirements import requirements_of
from tableveil.search.relaxing.searching import Questions


def single_changes(
    policy: Policy, tops: Sequence[int], records: int, questions: Questions
) -> Iterator[tuple[Change, Policy]]:
    """Each change of the suppression limit or of a privacy model that suffices alone, with the changed policy.

    Args:
        policy: With a role for every column.
        tops: The tops of the quasi-identifiers' hierarchies, in policy order.
        records: All records of the source.
        questions: Answers as long as it has time.

    Raises:
        CancelledError: the questions' control was cancelled.
    """
    # The limit stands last, and every owner understands it.
    for requirement in reversed(requirements_of(policy, tops, records)):
        for parameter in requirement.parameters:
            if parameter.field.startswith(("attributes", "search")) or not parameter.last:
                continue
            strictest = questions.strictest(partial(parameter.applied, policy), parameter.last, parameter.monotone)
            if strictest.step is not None:
                yield (
                    Change(parameter.field, parameter.spelled(strictest.step)),
                    parameter.applied(policy, strictest.step),
                )
