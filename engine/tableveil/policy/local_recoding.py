"""Local recoding in a policy, and everything that can be wrong with asking for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tableveil.errors import Fault, nearest, shortened
from tableveil.policy.privacy import CLASS_LOCAL, PRIVACY_FIELDS, KMap, NTCloseness
from tableveil.policy.quality import FIELDS, ClassificationModel, EntropyModel, LossModel, PrecisionModel

if TYPE_CHECKING:
    from tableveil.policy.model import Policy

LARGEST_WEIGHT = 1e100
"""Sums of larger ones may be more than the largest number."""

_SCORED = (LossModel, PrecisionModel, EntropyModel, ClassificationModel)


@dataclass(frozen=True, slots=True)
class LocalRecoding:
    """Every class of records has levels of its own, instead of one transformation for all.

    `most_levels` bounds, by column, at how many different levels the column may be released. `classes_of` is the number
    of a release whose classes are used again; None forms all anew.
    """

    most_levels: tuple[tuple[str, int], ...] = ()
    classes_of: int | None = None


def check_local_recoding(policy: Policy) -> Iterator[Fault]:
    """Faults of a policy that asks for local recoding with what it cannot honour."""
    options = policy.local_recoding
    if options is None:
        return
    for i, model in enumerate(policy.privacy_models):
        if not isinstance(model, CLASS_LOCAL):
            known = ", ".join(PRIVACY_FIELDS[kind] for kind in CLASS_LOCAL)
            found = f"{PRIVACY_FIELDS[type(model)]} with local_recoding"
            hint = "Its meaning is not defined where labels overlap. Or leave out local_recoding."
            if isinstance(model, NTCloseness):
                hint = "Classes are chosen among the records with their labels: n of them are no natural group."
            yield Fault(f"privacy_models[{i}]", found, f"models that judge a class by its own records: {known}", hint)
    if not isinstance(policy.quality_model, _SCORED):
        expected = f"{', '.join(FIELDS[kind] for kind in _SCORED)}, which score classes of any labels"
        yield Fault("quality_model", f"{FIELDS[type(policy.quality_model)]} with local_recoding", expected)
    for name in ("record_level", "microaggregation", "game"):
        if getattr(policy, name) is not None:
            yield Fault("local_recoding", f"local_recoding with {name}", "one of them", "Remove one of them.")
    if policy.aggregated and policy.microaggregation is None:
        yield Fault("local_recoding", "local_recoding with aggregated columns", "one of them", "Remove one of them.")
    if policy.suppressed_records == "KEEP" and any(isinstance(model, KMap) for model in policy.privacy_models):
        hint = "Nobody has defined yet which people may be suppressed records where labels overlap."
        yield Fault("suppressed_records.handling", "KEEP", "DROP or BLANK, because of local_recoding with k_map", hint)
    for i, attribute in enumerate(policy.attributes):
        if LARGEST_WEIGHT < attribute.weight < math.inf:
            expected = f"at most {LARGEST_WEIGHT:g}, because local_recoding adds up all records"
            yield Fault(f"attributes[{i}].weight", str(attribute.weight), expected)
    search = policy.search
    for name, given in (("levels", search.levels), ("linked", search.linked), ("seed", search.seed)):
        if given:
            hint = "Every class has levels of its own. most_levels holds a column at few levels."
            yield Fault(f"search.{name}", f"{name} with local_recoding", "nothing", hint)
    if search.strategy != "AUTO":
        yield Fault("search.strategy", search.strategy, "AUTO, because local recoding has a method of its own")
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
