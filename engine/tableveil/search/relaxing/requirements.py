"""The requirements of a policy, one by one: its privacy models, the suppression limit, its limits of levels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from tableveil.errors import shortened
from tableveil.policy import (
    AttributePolicy,
    Choose,
    EventTable,
    Policy,
    RelatedTables,
    Success,
    SuppressedRecords,
    privacy,
)
from tableveil.policy.validate_search import level_field
from tableveil.privacy.steps import UNIT, levels, up
from tableveil.search.relaxing.parameters import Parameter, limit_parameter, model_parameters, number_parameter

DIGITS_OF_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a policy, by its field, with the value `asked` there, in words; empty for a model.

    `dropped` gives a policy without the requirement, which need not be one that a client could send; `parameters` are
    the fields by which it can be relaxed. `model` is the position of its privacy model, if it is one.
    """

    field: str
    dropped: Callable[[Policy], Policy]
    parameters: tuple[Parameter, ...] = ()
    model: int | None = None
    asked: str = ""

    def has(self, field: str) -> bool:
        """Whether a change of the field relaxes this requirement."""
        return field in {parameter.field for parameter in self.parameters} or field.startswith(f"{self.field}[")


def requirements_of(policy: Policy, tops: Sequence[int], records: int) -> list[Requirement]:
    """The requirements that can be relaxed or left out: limits of levels, then suppressed records, models, limits.

    `tops` are the tops of the hierarchies of all columns that have levels, `records` are all records of the source.
    """
    return [
        *_fixed_levels(policy),
        *_linked(policy),
        *_level_limits(policy, tops),
        *_kept(policy),
        *_models(policy, records),
        Requirement("suppression_limit", lambda policy: _suppressing_most(policy, records), (limit_parameter(policy),)),
        *_rows(policy),
    ]


def _models(policy: Policy, records: int) -> Iterator[Requirement]:
    choosing = policy.search.choose is Choose.ALL_MODELS
    # The requirement tried last is named if others conflict as well: people know k best. Models that may be left out
    # come even later than
    # k: the positions of others change without them.
    last = (privacy.KAnonymity, privacy.Inclusion)
    for i, model in sorted(
        enumerate(policy.privacy_models), key=lambda of: [isinstance(of[1], last), isinstance(of[1], privacy.Inclusion)]
    ):
        if choosing or not isinstance(model, privacy.SensitiveModel | privacy.SensitiveShare):
            parameters = tuple(model_parameters(policy, i, records, _follows(policy, model)))
            if isinstance(model, privacy.Inclusion):
                parameters = (_left_out(f"privacy_models[{i}]", _without_model(model)),)
            yield Requirement(f"privacy_models[{i}]", _without_model(model), parameters, i)


def _follows(policy: Policy, model: privacy.PrivacyModel) -> bool:
    """Whether everything that is valid with a stricter parameter of the model is valid with a more lenient one.

    Suppressed records that are kept have to meet the models together: fewer of them may not. Estimates, and sets of
    classes that pay together, need not improve with more classes; nor does a method to which more choice is no help.
    """
    if policy.suppressed_records is SuppressedRecords.KEEP or not policy.more_choice_helps:
        return False
    by_sample = isinstance(model, privacy.PopulationUniqueness) or _by_marketer(model)
    return not by_sample and not any(
        isinstance(other, privacy.PopulationUniqueness) or _by_marketer(other) for other in policy.privacy_models
    )


def _by_marketer(model: privacy.PrivacyModel) -> bool:
    return isinstance(model, privacy.Profitability | privacy.NoAttack) and model.success is Success.MARKETER


def _without_model(model: privacy.PrivacyModel) -> Callable[[Policy], Policy]:
    def dropped(policy: Policy) -> Policy:
        return replace(policy, privacy_models=tuple(other for other in policy.privacy_models if other != model))

    return dropped


def _left_out(field: str, dropped: Callable[[Policy], Policy]) -> Parameter:
    return Parameter(field, 1, lambda step: "", lambda policy, step: dropped(policy))


def _suppressing_most(policy: Policy, records: int) -> Policy:
    """All records but one may be suppressed: with all of them nothing would be released, and nothing required."""
    units = -(-(records - 1) * 10**DIGITS_OF_LIMIT // records)
    limit = Decimal(units).scaleb(-DIGITS_OF_LIMIT)
    return replace(policy, suppression_limit=max(policy.suppression_limit, limit))


def _rows(policy: Policy) -> Iterator[Requirement]:
    """The limit of removed rows of events."""
    if policy.related is not None:
        field, grid = "tables.rows_limit", up(policy.related.rows_limit, 1 - UNIT)
        parameter = number_parameter(field, grid, lambda policy, limit: _relating(policy, rows_limit=limit))
        yield Requirement(field, lambda policy: _relating(policy, rows_limit=Decimal(1)), (parameter,))


def _kept(policy: Policy) -> Iterator[Requirement]:
    if policy.suppressed_records is SuppressedRecords.KEEP:
        field = "suppressed_records.handling"
        parameter = Parameter(field, 1, lambda step: "BLANK", lambda policy, step: _blanking(policy))
        yield Requirement(field, _blanking, (parameter,), asked="KEEP, of suppressed records that hold together")


def _blanking(policy: Policy) -> Policy:
    """Dropping them would help as well, but only with another change: there would be no marker column then."""
    return replace(policy, suppressed_records=SuppressedRecords.BLANK)


# --- levels ---------------------------------------------------------------------------------------------------------


def _fixed_levels(policy: Policy) -> Iterator[Requirement]:
    if policy.search.levels:
        asked = "a level for every quasi-identifier"
        yield Requirement("search.levels", _without_levels, (_left_out("search.levels", _without_levels),), asked=asked)


def _without_levels(policy: Policy) -> Policy:
    return _searching(policy, levels=())


def other_levels(policy: Policy, tops: Sequence[int]) -> list[list[Parameter]]:
    """Per quasi-identifier, the other levels that `search.levels` may give it, each as a field with one more value.

    The nearest levels come first; of two equally near ones, the less general.
    """
    given = dict(policy.search.levels)
    choices: list[list[Parameter]] = []
    for attribute, top in zip(policy.quasi_identifiers, tops, strict=True):
        own = given[attribute.column]
        most = top if attribute.maximum_level is None else attribute.maximum_level
        others = [level for level in range(policy.least_level(attribute), most + 1) if level != own]
        others.sort(key=lambda level: (abs(level - own), level))
        choices.append([_level_of(attribute.column, level) for level in others])
    return choices


def _level_of(column: str, level: int) -> Parameter:
    def change(policy: Policy, step: int) -> Policy:
        given = tuple((name, level if name == column else old) for name, old in policy.search.levels)
        return _searching(policy, levels=given)

    return Parameter(level_field(column), 1, lambda step: str(level), change)


def _linked(policy: Policy) -> Iterator[Requirement]:
    for i, group in enumerate(policy.search.linked):
        field, dropped, asked = f"search.linked[{i}]", _unlinked(group), f"the same level for {len(group)} columns"
        yield Requirement(field, dropped, (_left_out(field, dropped),), asked=asked)


def _unlinked(group: tuple[str, ...]) -> Callable[[Policy], Policy]:
    return lambda policy: _searching(policy, linked=tuple(other for other in policy.search.linked if other != group))


def _level_limits(policy: Policy, tops: Sequence[int]) -> Iterator[Requirement]:
    for (place, (name, attribute)), top in zip(_places(policy), tops, strict=True):
        most = attribute.maximum_level
        if most is not None and most < top:
            yield _level_limit(place, name, "maximum_level", (most, top), policy.more_choice_helps)
        # Levels below are forbidden by `safe_harbor`, which is a requirement of its own.
        least = policy.least_level(replace(attribute, minimum_level=0))
        if attribute.minimum_level > least:
            own = attribute.minimum_level
            yield _level_limit(place, name, "minimum_level", (own, least), policy.more_choice_helps)


def _places(policy: Policy) -> Iterator[tuple[str, tuple[str, AttributePolicy]]]:
    """The paths of the columns that have levels, each with the entry of `leveled`."""
    events = () if policy.related is None else policy.related.events
    paths = {attribute.column: f"attributes[{i}]" for i, attribute in enumerate(policy.attributes)}
    paths |= {event.qualified(of.column): event.field(j) for event in events for j, of in enumerate(event.attributes)}
    return ((paths[name], (name, attribute)) for name, attribute in policy.leveled)


def _level_limit(place: str, column: str, name: str, ends: tuple[int, int], monotone: bool) -> Requirement:
    own, end = ends

    def change(policy: Policy, level: int) -> Policy:
        levels: dict[str, Any] = {name: level}

        def attributes(of: EventTable | Policy, called: Callable[[str], str] = str) -> tuple[AttributePolicy, ...]:
            return tuple(replace(each, **levels) if called(each.column) == column else each for each in of.attributes)

        policy = replace(policy, attributes=attributes(policy))
        events = () if policy.related is None else policy.related.events
        return _relating(policy, events=tuple(replace(of, attributes=attributes(of, of.qualified)) for of in events))

    field = f"{place}.{name}"
    parameter = number_parameter(field, levels(own, end), change, monotone)
    return Requirement(field, lambda policy: change(policy, end), (parameter,), asked=f"{own}, for {shortened(column)}")


def _relating(policy: Policy, **options: Any) -> Policy:
    methods = (replace(of, **options) if isinstance(of, RelatedTables) else of for of in policy.methods)
    return replace(policy, methods=tuple(methods))


def _searching(policy: Policy, **options: Any) -> Policy:
    return replace(policy, search=replace(policy.search, **options))
