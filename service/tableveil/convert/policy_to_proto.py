"""The message for a policy; the proto's defaults are left unset."""

from __future__ import annotations

from tableveil.convert.attributes import attribute_to_proto
from tableveil.convert.decimals import decimal_to_text
from tableveil.convert.enums import (
    CHOOSE,
    IF_EXISTS,
    LEFT_BEHIND,
    RELEASE_KINDS,
    ROLES,
    SEARCH_STRATEGIES,
    SUPPRESSED_RECORDS,
)
from tableveil.convert.fields import to_message
from tableveil.convert.game import game_to_proto
from tableveil.convert.methods import methods_to_proto
from tableveil.convert.names import load_name, release_name
from tableveil.convert.population import population_to_proto
from tableveil.convert.privacy import privacy_to_proto
from tableveil.convert.quality import quality_to_proto
from tableveil.convert.tables import table_to_proto
from tableveil.policy import (
    DEFAULT_RISK_THRESHOLDS,
    Choose,
    Documentation,
    Policy,
    ReleaseGuards,
    ReleaseTarget,
    SearchOptions,
    Strategy,
    SuppressedRecords,
)
from tableveil.v1 import policy_pb2


def policy_to_proto(policy: Policy) -> policy_pb2.Policy:
    """The message that `policy_from_proto` converts back to an equal policy."""
    message = policy_pb2.Policy(
        source=None if policy.source_query else table_to_proto(policy.source),
        source_query=policy.source_query,
        no_person_digests=policy.no_person_digests,
        record_column=policy.record_column,
        attributes=map(attribute_to_proto, policy.attributes),
        default_role=ROLES.to_proto(policy.default_role),
        privacy_models=map(privacy_to_proto, policy.privacy_models),
        suppression_limit=decimal_to_text(policy.suppression_limit) if policy.suppression_limit else "",
        quality_model=quality_to_proto(policy.quality_model),
        release=_release(policy.release),
        repeat_reason=policy.repeat_reason,
        population=None if policy.population is None else population_to_proto(policy.population),
        game=None if policy.game is None else game_to_proto(policy.game),
    )
    if policy.source_load is not None:
        message.source.load = load_name(policy.source_load)
    methods_to_proto(policy, message)
    if policy.person_column is None:
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


def _search(options: SearchOptions) -> policy_pb2.Search:
    limit = options.time_limit_seconds
    return policy_pb2.Search(
        time_limit_seconds="" if limit is None else decimal_to_text(limit),
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
        suppressed_by=target.suppressed_by,
    )
    if target.guards != ReleaseGuards():
        to_message(target.guards, message.guards)
    return message
