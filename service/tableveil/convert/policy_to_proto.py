"""The message for a policy; what the proto would default to is left unset."""

from __future__ import annotations

from decimal import Decimal

from tableveil.convert.enums import (
    IF_EXISTS,
    NULL_HANDLING,
    RELEASE_KINDS,
    ROLES,
    SEARCH_STRATEGIES,
    SUPPRESSED_RECORDS,
)
from tableveil.convert.hierarchies import hierarchy_to_proto
from tableveil.convert.quality import quality_to_proto
from tableveil.policy import (
    DEFAULT_RISK_THRESHOLDS,
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    PrivacyModel,
    ReleaseTarget,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    TableReference,
)
from tableveil.v1 import policy_pb2


def policy_to_proto(policy: Policy) -> policy_pb2.Policy:
    """The message that `policy_from_proto` converts back to an equal policy."""
    message = policy_pb2.Policy(
        source=table_to_proto(policy.source),
        attributes=map(_attribute, policy.attributes),
        default_role=ROLES.to_proto(policy.default_role),
        privacy_models=map(_privacy_model, policy.privacy_models),
        suppression_limit=decimal_to_text(policy.suppression_limit) if policy.suppression_limit else "",
        quality_model=quality_to_proto(policy.quality_model),
        release=_release(policy.release),
        repeat_reason=policy.repeat_reason,
        request_id=policy.request_id,
    )
    if policy.person_column is None:
        message.rows_are_people = True
    else:
        message.person_column = policy.person_column
    if policy.suppressed_records is not SuppressedRecords.DROP or policy.marker_column:
        message.suppressed_records.handling = SUPPRESSED_RECORDS.to_proto(policy.suppressed_records)
        message.suppressed_records.marker_column = policy.marker_column
    if policy.search != SearchOptions():
        message.search.CopyFrom(_search(policy.search))
    if policy.risk_thresholds != DEFAULT_RISK_THRESHOLDS:
        message.risk_thresholds.extend(map(decimal_to_text, policy.risk_thresholds))
    return message


def table_to_proto(table: TableReference) -> policy_pb2.TableReference:
    """The message for a table's name."""
    return policy_pb2.TableReference(catalog=table.catalog, schema=table.schema, table=table.table)


def decimal_to_text(number: Decimal) -> str:
    """The decimal in plain digits: str() would give small ones an exponent."""
    return f"{number:f}"


def _attribute(attribute: AttributePolicy) -> policy_pb2.Attribute:
    message = policy_pb2.Attribute(
        column=attribute.column,
        role=ROLES.to_proto(attribute.role),
        hierarchy=None if attribute.hierarchy is None else hierarchy_to_proto(attribute.hierarchy),
        maximum_level=attribute.maximum_level,
        acknowledged=attribute.acknowledged,
    )
    if attribute.minimum_level:
        message.minimum_level = attribute.minimum_level
    if attribute.weight != 1.0:
        message.weight = attribute.weight
    if attribute.nulls is not NullHandling.VALUE:
        message.nulls = NULL_HANDLING.to_proto(attribute.nulls)
    return message


def _privacy_model(model: PrivacyModel) -> policy_pb2.PrivacyModel:
    match model:
        case KAnonymity(k):
            return policy_pb2.PrivacyModel(k_anonymity=policy_pb2.KAnonymity(k=k))
        case _:
            raise NotImplementedError(type(model))


def _search(options: SearchOptions) -> policy_pb2.Search:
    limit = options.time_limit_seconds
    return policy_pb2.Search(
        time_limit_seconds="" if limit is None else decimal_to_text(limit),
        seed=options.seed,
        strategy=SEARCH_STRATEGIES.to_proto(None if options.strategy is Strategy.AUTO else options.strategy),
        levels=dict(options.levels),
        linked=[policy_pb2.LinkedColumns(columns=group) for group in options.linked],
    )


def _release(target: ReleaseTarget) -> policy_pb2.ReleaseTarget:
    return policy_pb2.ReleaseTarget(
        schema=target.schema,
        name=target.name,
        kind=RELEASE_KINDS.to_proto(target.kind),
        if_exists=IF_EXISTS.to_proto(target.if_exists),
    )
