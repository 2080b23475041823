"""Refuses what a policy's method does not work with, by the table of methods."""

from collections.abc import Iterator
from typing import Any

from tableveil.errors import Fault
from tableveil.policy.methods import SEARCH_OPTIONS, MethodTraits, methods_of
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.policy.model import Policy, SearchOptions, SuppressedRecords
from tableveil.policy.privacy import OF_EVENTS, PRIVACY_FIELDS
from tableveil.policy.quality import FIELDS, LossModel

_UNITS_HINT = "Name the column as person_column, if its values are to count in place of people."


def check_methods(policy: Policy) -> Iterator[Fault]:
    """Faults of several methods in one policy, and of all that any of them does not work with."""
    methods = methods_of(policy)
    for i, method in enumerate(methods):
        for other in methods[i + 1 :]:
            actual = f"{method.called} with {other.called}"
            yield Fault(method.field, actual, "one of them", "Remove one of them.")
        yield from _check_models(policy, method)
        yield from _check_quality(policy, method)
        for part, field in method.refuses:
            if getattr(policy, part) is not None:
                yield Fault(field, f"{part} with {method.called}", "one of them", "Remove one of them.")
        if policy.suppressed_records is SuppressedRecords.KEEP and not method.shows_suppressed:
            expected = f"DROP or BLANK, because of {method.called}"
            yield Fault("suppressed_records.handling", "KEEP", expected, method.shows_suppressed_hint)
        if policy.also_count and not method.units:
            yield Fault("also_count", f"columns with {method.called}", "nothing", _UNITS_HINT)
        yield from _check_search(policy.search, method)
        yield from method.check(policy, method.options(policy))


def _check_models(policy: Policy, method: MethodTraits[Any]) -> Iterator[Fault]:
    allowed = ", ".join(PRIVACY_FIELDS[kind] for kind in method.models)
    for i, model in enumerate(policy.privacy_models):
        if isinstance(model, OF_EVENTS) and method is not RELATED_TABLES:
            actual = f"{PRIVACY_FIELDS[type(model)]} without tables"
            yield Fault(f"privacy_models[{i}]", actual, "tables of people and their events, of which it holds")
        elif not isinstance(model, method.models):
            actual = f"{PRIVACY_FIELDS[type(model)]} with {method.called}"
            yield Fault(f"privacy_models[{i}]", actual, f"one of {allowed}", method.models_hint)


def _check_quality(policy: Policy, method: MethodTraits[Any]) -> Iterator[Fault]:
    model, allowed = policy.quality_model, ", ".join(FIELDS[kind] for kind in method.quality)
    if not method.quality and model != LossModel():
        hint = "Clusters are scored by their squared error."
        yield Fault("quality_model", f"a quality model with {method.called}", "nothing", hint)
    elif method.quality and not isinstance(model, method.quality):
        actual = f"{FIELDS[type(model)]} with {method.called}"
        yield Fault("quality_model", actual, f"one of {allowed}", f"Or leave out {method.called}.")


def _check_search(search: SearchOptions, method: MethodTraits[Any]) -> Iterator[Fault]:
    default = SearchOptions()
    given = [name for name in SEARCH_OPTIONS if getattr(search, name) != getattr(default, name)]
    given = [name for name in given if name not in method.search]
    if not method.search and set(given) - {"choose"}:
        yield Fault("search", f"options of a search with {method.called}", "nothing", method.search_hint)
    for name in given:
        if method.search or name == "choose":
            yield Fault(f"search.{name}", f"{name} with {method.called}", "nothing", method.search_hint)
