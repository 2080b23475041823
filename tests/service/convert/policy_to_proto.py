"""The message for a policy; the proto's defaults are left unset. Only tests and benchmarks need it."""

from collections.abc import Callable, Mapping
from typing import Any

from tableveil.convert.attributes import USUAL
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import (
    AGGREGATE_FUNCTIONS,
    CHOOSE,
    IF_EXISTS,
    LEFT_BEHIND,
    NULL_HANDLING,
    NULL_POSITIONS,
    ORDERS,
    RELEASE_KINDS,
    ROLES,
    SCALES,
    SEARCH_STRATEGIES,
    SUPPRESSED_RECORDS,
    enum_map,
)
from tableveil.convert.fields import to_message
from tableveil.convert.hierarchies import hierarchy_to_proto
from tableveil.convert.names import load_name, release_name, table_to_proto
from tableveil.policy import (
    DEFAULT_RISK_THRESHOLDS,
    METHODS,
    NO_LIMIT,
    PRIVACY_FIELDS,
    Aggregation,
    AttributePolicy,
    Choose,
    Documentation,
    Game,
    NullHandling,
    OrderBy,
    Orphans,
    Policy,
    Population,
    PrivacyModel,
    QualityModel,
    RelatedTables,
    ReleaseGuards,
    ReleaseTarget,
    Scale,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    ValueOrder,
)
from tableveil.policy.methods.differential_privacy import DifferentialPrivacy
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.policy.quality import FIELDS as QUALITY_FIELDS
from tableveil.v1 import policy_pb2


def policy_to_proto(policy: Policy) -> policy_pb2.Policy:
    """The message that `policy_from_proto` converts back to an equal policy."""
    message = policy_pb2.Policy(
        source=None if policy.source_query else table_to_proto(policy.source),
        source_query=policy.source_query,
        no_person_digests=policy.no_person_digests,
        record_column=policy.record_column,
        also_count=policy.also_count,
        attributes=map(_attribute, policy.attributes),
        default_role=ROLES.to_proto(policy.default_role),
        privacy_models=map(_privacy, policy.privacy_models),
        suppression_limit=decimal_to_text(policy.suppression_limit) if policy.suppression_limit else "",
        quality_model=_quality(policy.quality_model),
        release=_release(policy.release),
        repeat_reason=policy.repeat_reason,
        population=None if policy.population is None else _population(policy.population),
        game=None if policy.game is None else _game(policy.game),
    )
    if policy.source_load is not None:
        message.source.load = load_name(policy.source_load)
    if policy.source_loads:
        message.source.loads.extend(map(load_name, policy.source_loads))
    _methods(policy, message)
    if policy.related is not None:
        _related(policy, policy.related, message)
    elif policy.person_column is None:
        message.rows_are_people = True
    else:
        message.person_column = policy.person_column
    if policy.suppressed_records is not SuppressedRecords.DROP or policy.marker_column:
        message.suppressed_records.handling = SUPPRESSED_RECORDS.to_proto(policy.suppressed_records)
        message.suppressed_records.marker_column = policy.marker_column
    if policy.search != SearchOptions():
        message.search.CopyFrom(_search(policy.search))
    if policy.documentation != Documentation():
        to_message(policy.documentation, message.documentation)
    if policy.risk_thresholds != DEFAULT_RISK_THRESHOLDS:
        message.risk_thresholds.extend(map(decimal_to_text, policy.risk_thresholds))
    return message


def _related(policy: Policy, related: RelatedTables, message: policy_pb2.Policy) -> None:
    message.ClearField("source")
    people = policy_pb2.PeopleTable(
        schema=policy.source.schema, table=policy.source.table, key=policy.person_column or ""
    )
    message.tables.people.CopyFrom(people)
    for event in related.events:
        message.tables.events.add(
            name=event.name,
            schema=event.table.schema,
            table=event.table.table,
            person=event.person,
            orphans=enum_map(Orphans).to_proto(event.orphans),
        )
        for attribute in event.attributes:
            message.attributes.add().CopyFrom(_attribute(attribute))
            message.attributes[-1].table = event.name
    message.tables.rows_limit = decimal_to_text(related.rows_limit) if related.rows_limit else ""
    if related.most_rows_of_a_person is not None:
        message.tables.most_rows_of_a_person = related.most_rows_of_a_person
    if related.relative_time is not None:
        to_message(related.relative_time, message.tables.relative_time)


def _search(options: SearchOptions) -> policy_pb2.Search:
    limit = options.time_limit_seconds
    return policy_pb2.Search(
        time_limit_seconds="" if limit is None else "none" if limit == NO_LIMIT else decimal_to_text(limit),
        seed=options.seed,
        strategy=SEARCH_STRATEGIES.to_proto(None if options.strategy is Strategy.AUTO else options.strategy),
        levels=dict(options.levels),
        linked=[policy_pb2.LinkedColumns(columns=group) for group in options.linked],
        choose=CHOOSE.to_proto(None if options.choose is Choose.ALL_MODELS else options.choose),
    )


def _release(target: ReleaseTarget) -> policy_pb2.ReleaseTarget:
    message = policy_pb2.ReleaseTarget(
        schema=target.schema,
        name=target.name,
        kind=RELEASE_KINDS.to_proto(target.kind),
        if_exists=IF_EXISTS.to_proto(target.if_exists),
        publish=target.publish,
        publish_repeat_reason=target.publish_repeat_reason,
        label_columns=None if target.label_columns else False,
        class_id=target.class_id,
        together_with=[release_name(number) for number in target.together_with],
        left_behind=LEFT_BEHIND.to_proto(target.left_behind),
        close_open_ends=target.close_open_ends,
        estimates=target.estimates,
        suppressed_by=target.suppressed_by,
    )
    if target.guards != ReleaseGuards():
        to_message(target.guards, message.guards)
    return message


def _attribute(attribute: AttributePolicy) -> policy_pb2.Attribute:
    """The message for an attribute."""
    message = policy_pb2.Attribute(
        column=attribute.column,
        role=ROLES.to_proto(attribute.role),
        hierarchy=None if attribute.hierarchy is None else hierarchy_to_proto(attribute.hierarchy),
        maximum_level=attribute.maximum_level,
        acknowledged=attribute.acknowledged,
        order=None if attribute.order == ValueOrder() else _order(attribute.order),
        aggregation=None if attribute.aggregation is None else _aggregation(attribute.aggregation),
        reason=attribute.reason,
    )
    if attribute.elements is not None:
        to_message(attribute.elements, message.elements)
    if attribute.minimum_level:
        message.minimum_level = attribute.minimum_level
    if attribute.weight != 1.0:
        message.weight = attribute.weight
    if attribute.nulls is not (NullHandling.VALUE if attribute.aggregation is None else NullHandling.ERROR):
        message.nulls = NULL_HANDLING.to_proto(attribute.nulls)
    return message


def _order(order: ValueOrder) -> policy_pb2.ValueOrder:
    return policy_pb2.ValueOrder(
        by=ORDERS.to_proto(None if order.by is OrderBy.TYPE else order.by),
        values=order.values,
        nulls=NULL_POSITIONS.to_proto(order.nulls),
    )


def _aggregation(aggregation: Aggregation) -> policy_pb2.Aggregation:
    """The message for an aggregation."""
    function, scale = aggregation.function, aggregation.scale
    return policy_pb2.Aggregation(
        function=AGGREGATE_FUNCTIONS.to_proto(None if function is USUAL[scale] else function),
        scale=SCALES.to_proto(None if scale is Scale.NUMERIC else scale),
        grid="" if aggregation.grid is None else decimal_to_text(aggregation.grid),
        bottom_coding=aggregation.bottom_coding,
        top_coding=aggregation.top_coding,
    )


def _game(game: Game) -> policy_pb2.Game:
    """The message for a game."""
    message = policy_pb2.Game()
    to_message(game, message)
    return message


def _population(population: Population) -> policy_pb2.Population:
    """The message for a population."""
    message = policy_pb2.Population()
    if population.table is not None:
        message.table.CopyFrom(table_to_proto(population.table))
    if population.subset_column:
        message.subset_column = population.subset_column
    if population.size is not None:
        message.size = population.size
    if population.sampling_fraction is not None:
        message.sampling_fraction = decimal_to_text(population.sampling_fraction)
    return message


def _privacy(model: PrivacyModel) -> policy_pb2.PrivacyModel:
    """The message for a model."""
    message = policy_pb2.PrivacyModel()
    to_message(model, getattr(message, PRIVACY_FIELDS[type(model)]))
    return message


def _quality(model: QualityModel) -> policy_pb2.QualityModel:
    """The message for a model."""
    message = policy_pb2.QualityModel()
    to_message(model, getattr(message, QUALITY_FIELDS[type(model)]))
    return message


def _methods(policy: Policy, message: policy_pb2.Policy) -> None:
    for method in METHODS:
        if method.asked(policy) and method is not RELATED_TABLES:
            written = getattr(message, method.field)
            written.SetInParent()
            write: Callable[[Any, Any], None] = _WRITE.get(method.field, to_message)
            write(method.options(policy), written)


def _write_local_recoding(options: LocalRecoding, message: policy_pb2.LocalRecoding) -> None:
    message.most_levels.update(dict(options.most_levels))
    if options.classes_of is not None:
        message.classes_of = release_name(options.classes_of)


def _write_differential_privacy(options: DifferentialPrivacy, message: policy_pb2.DifferentialPrivacy) -> None:
    message.epsilon, message.delta = decimal_to_text(options.epsilon), decimal_to_text(options.delta)
    message.scheme.update(dict(options.scheme))
    if options.search_epsilon is not None:
        message.search_epsilon = decimal_to_text(options.search_epsilon)
    message.public_lists.extend(options.public_lists)
    message.people = options.people or 0


_WRITE: Mapping[str, Callable[[Any, Any], None]] = {
    "differential_privacy": _write_differential_privacy,
    "local_recoding": _write_local_recoding,
}
