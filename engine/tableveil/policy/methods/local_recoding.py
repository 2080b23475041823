"""Local recoding: its options in a policy, all that can be wrong with them, and what it works with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tableveil.errors import Fault, nearest, shortened
from tableveil.policy.methods.traits import Analysis, HandedOn, MethodTraits, Recoded, ReleaseNumber
from tableveil.policy.privacy import CLASS_LOCAL, KMap
from tableveil.policy.quality import ClassificationModel, EntropyModel, LossModel, PrecisionModel

if TYPE_CHECKING:
    from tableveil.policy.model import Policy


@dataclass(frozen=True, slots=True)
class LocalRecoding:
    """Every class of records has levels of its own, instead of one transformation for all.

    `most_levels` bounds, by column, at how many different levels the column may be released. `classes_of` is the number
    of a release whose classes are used again; None forms all anew.
    """

    most_levels: tuple[tuple[str, int], ...] = ()
    classes_of: ReleaseNumber | None = None


def check_local_recoding(policy: Policy, options: LocalRecoding) -> Iterator[Fault]:
    """Faults of a policy that asks for local recoding with what it cannot honour."""
    if policy.suppressed_records == "KEEP" and any(isinstance(model, KMap) for model in policy.privacy_models):
        hint = "Nobody has defined yet which people may be suppressed records where labels overlap."
        yield Fault("suppressed_records.handling", "KEEP", "DROP or BLANK, because of local_recoding with k_map", hint)
    yield from _check_most_levels(policy, options)


def _check_most_levels(policy: Policy, options: LocalRecoding) -> Iterator[Fault]:
    columns = [attribute.column for attribute in policy.quasi_identifiers]
    for column, most in options.most_levels:
        field = f"local_recoding.most_levels[{shortened(column)}]"
        if column not in columns:
            expected = "a quasi-identifier that is generalized"
            yield Fault(field, f"{shortened(column)}, which is none", expected, nearest(column, columns))
        elif most < 1:
            yield Fault(field, str(most), "at least 1")


LOCAL_RECODING = MethodTraits(
    name="local recoding",
    called="local_recoding",
    field="local_recoding",
    kind=LocalRecoding,
    check=check_local_recoding,
    recoded=Recoded.BY_COMBINATION,
    models=tuple(CLASS_LOCAL),
    models_hint="The meaning of others is not defined where labels overlap. Or leave out local_recoding.",
    quality=(LossModel, PrecisionModel, EntropyModel, ClassificationModel),
    search=("time_limit_seconds", "choose"),
    search_hint="Every class has levels of its own. most_levels holds a column at few levels.",
    refuses=(("game", "local_recoding"),),
    shows_suppressed=True,
    units=True,
    warehouses=True,
    hands_on=HandedOn.CLASSES,
    classes_of=lambda options: options.classes_of,
    analyses=frozenset({Analysis.FRONTIER, Analysis.CLASSIFICATION}),
)
