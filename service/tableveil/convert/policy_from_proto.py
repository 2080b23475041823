"""The policy in a message, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import cast

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from tableveil.convert.collect import Faults
from tableveil.convert.decimals import LONGEST_DECIMAL, decimal_from_text
from tableveil.convert.enums import (
    IF_EXISTS,
    NULL_HANDLING,
    RELEASE_KINDS,
    ROLES,
    SEARCH_STRATEGIES,
    SUPPRESSED_RECORDS,
)
from tableveil.convert.hierarchies import DEFAULT_SCHEMA, hierarchy_from_proto
from tableveil.convert.quality import quality_from_proto
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import SuppressionOnly
from tableveil.policy import (
    DEFAULT_RISK_THRESHOLDS,
    AttributePolicy,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    PrivacyModel,
    ReleaseKind,
    ReleaseTarget,
    Role,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    TableReference,
    validate_policy,
)
from tableveil.v1 import policy_pb2

# Plain digits, as docs promise: no exponents, signs of infinity, underscores or spaces, all of which Decimal reads.
# Far above what any table or person needs, far below what would occupy the server.
_MOST = {
    "attributes": 10_000,
    "privacy_models": 100,
    "risk_thresholds": 100,
    "search.levels": 10_000,
    "search.linked": 10_000,
}


def policy_from_proto(message: policy_pb2.Policy, *, before_upload: bool = False) -> tuple[Policy | None, list[Fault]]:
    """Converts a policy and checks it as far as can be without a database.

    Args:
        message: The policy.
        before_upload: True on the client, where a CSV hierarchy stands for the stored one it will become.

    Returns:
        The policy, or None if parts of it could not be converted; and all faults, in the order of the conversion, then
        those of `validate_policy`, also for the rest of a policy that could not be converted wholly.
    """
    faults = Faults()
    _check_unknown_fields(message, faults)
    too_many = False
    for name, entries in _entries(message).items():
        if entries > _MOST[name]:
            faults.add(name, f"{entries:,} entries", f"at most {_MOST[name]:,}")
            too_many = True
    if too_many:
        return None, faults.all()
    policy = _Reader(faults, before_upload).policy(message)
    converted = not faults
    faults.judged(validate_policy(policy))
    return policy if converted else None, faults.all()


def _entries(message: policy_pb2.Policy) -> dict[str, int]:
    """How long each of the lists in `_MOST` is."""
    linked = message.search.linked
    return {
        "attributes": len(message.attributes),
        "privacy_models": len(message.privacy_models),
        "risk_thresholds": len(message.risk_thresholds),
        "search.levels": len(message.search.levels),
        "search.linked": max(len(linked), sum(len(group.columns) for group in linked)),
    }


class _Reader:
    """Reads each part of the policy, and puts a placeholder where one cannot be read."""

    def __init__(self, faults: Faults, before_upload: bool) -> None:
        self._faults = faults
        self._before_upload = before_upload

    def policy(self, message: policy_pb2.Policy) -> Policy:
        default_role = self._role(message.default_role, "default_role")
        return Policy(
            source=table_from_proto(message.source),
            attributes=tuple(
                self._attribute(attribute, default_role, f"attributes[{i}]")
                for i, attribute in enumerate(message.attributes)
            ),
            default_role=default_role,
            person_column=self._person(message),
            privacy_models=self._privacy_models(message),
            suppression_limit=self._decimal(message.suppression_limit, "suppression_limit") or Decimal(0),
            suppressed_records=self._faults.enum(
                message.suppressed_records.handling,
                SUPPRESSED_RECORDS,
                "suppressed_records.handling",
                SuppressedRecords.DROP,
            ),
            marker_column=message.suppressed_records.marker_column,
            quality_model=quality_from_proto(message.quality_model, self._faults),
            search=self._search(message.search),
            risk_thresholds=self._risk_thresholds(message),
            release=self._release(message.release),
            repeat_reason=message.repeat_reason,
            request_id=message.request_id,
        )

    def _attribute(self, message: policy_pb2.Attribute, default_role: Role | None, path: str) -> AttributePolicy:
        role = self._role(message.role, f"{path}.role") if message.role else default_role
        if role is None:
            if not message.role:
                expected = f"one of {ROLES.names}"
                self._faults.add(f"{path}.role", "nothing", expected, "Or state a default_role.")
            # What is right for the column depends on its role, and so does whether it has a level.
            for guessed in (path, "search.levels", "search.linked"):
                self._faults.guess(guessed)
        hierarchy = None
        if message.HasField("hierarchy"):
            hierarchy = hierarchy_from_proto(
                message.hierarchy, message.column, f"{path}.hierarchy", self._faults, before_upload=self._before_upload
            )
            hierarchy = SuppressionOnly() if hierarchy is None else hierarchy
        return AttributePolicy(
            column=message.column,
            role=role or Role.INSENSITIVE,
            hierarchy=hierarchy,
            minimum_level=message.minimum_level,
            maximum_level=message.maximum_level if message.HasField("maximum_level") else None,
            weight=message.weight if message.HasField("weight") else 1.0,
            nulls=self._faults.enum(message.nulls, NULL_HANDLING, f"{path}.nulls", NullHandling.VALUE),
            acknowledged=message.acknowledged,
        )

    def _person(self, message: policy_pb2.Policy) -> str | None:
        match message.WhichOneof("person"):
            case "person_column":
                return message.person_column
            case "rows_are_people" if message.rows_are_people:
                return None
            case "rows_are_people":
                expected = "true, or the column that identifies the person as person_column"
                hint = "k counts people; several rows per person are not supported yet."
                self._faults.add("rows_are_people", "false", expected, hint)
            case _:
                expected = "the column that identifies the person, or rows_are_people: true"
                self._faults.add("person_column", "nothing", expected, "k counts people.")
        return None

    def _privacy_models(self, message: policy_pb2.Policy) -> tuple[PrivacyModel, ...]:
        models: list[PrivacyModel] = []
        for i, model in enumerate(message.privacy_models):
            if model.WhichOneof("kind") == "k_anonymity":
                models.append(KAnonymity(model.k_anonymity.k))
            else:
                kinds = ", ".join(policy_pb2.PrivacyModel.DESCRIPTOR.fields_by_name)
                self._faults.add(
                    f"privacy_models[{i}]", "nothing", f"one of {kinds}", "For example: k_anonymity: {k: 5}."
                )
                # The models after it have other indices here.
                self._faults.guess("privacy_models")
        return tuple(models)

    def _search(self, message: policy_pb2.Search) -> SearchOptions:
        return SearchOptions(
            time_limit_seconds=self._decimal(message.time_limit_seconds, "search.time_limit_seconds"),
            seed=message.seed,
            strategy=self._faults.enum(message.strategy, SEARCH_STRATEGIES, "search.strategy", Strategy.AUTO),
            # A map has no order of its own.
            levels=tuple(sorted(message.levels.items())),
            linked=tuple(tuple(group.columns) for group in message.linked),
        )

    def _risk_thresholds(self, message: policy_pb2.Policy) -> tuple[Decimal, ...]:
        if not message.risk_thresholds:
            return DEFAULT_RISK_THRESHOLDS
        thresholds = []
        for i, text in enumerate(message.risk_thresholds):
            field = f"risk_thresholds[{i}]"
            if not text:
                self._faults.add(field, "nothing", "an exact decimal above 0 and below 1")
            # A placeholder must be no other's repetition.
            threshold = self._decimal(text, field)
            thresholds.append(Decimal(i + 1).scaleb(-LONGEST_DECIMAL) if threshold is None else threshold)
        return tuple(thresholds)

    def _release(self, message: policy_pb2.ReleaseTarget) -> ReleaseTarget:
        return ReleaseTarget(
            schema=message.schema or DEFAULT_SCHEMA,
            name=message.name,
            kind=self._faults.enum(message.kind, RELEASE_KINDS, "release.kind", ReleaseKind.TABLE),
            if_exists=self._faults.enum(message.if_exists, IF_EXISTS, "release.if_exists", IfExists.FAIL),
        )

    def _role(self, number: int, field: str) -> Role | None:
        role = ROLES.from_proto(number)
        if number and role is None:
            self._faults.add_enum(field, number, ROLES)
        return role

    def _decimal(self, text: str, field: str) -> Decimal | None:
        """None for an empty text and for one that is no decimal."""
        found = decimal_from_text(text) if text else None
        if text and found is None:
            self._faults.add(field, shortened(text), "an exact decimal in plain digits, such as 0.05")
        return found


def table_from_proto(message: policy_pb2.TableReference) -> TableReference:
    """The reference in a message, with the default schema filled in."""
    return TableReference(message.catalog, message.schema or DEFAULT_SCHEMA, message.table)


def _check_unknown_fields(message: policy_pb2.Policy, faults: Faults) -> None:
    """Refuses what a newer client may ask for: a policy that is only partly understood protects less than it says."""
    known = policy_pb2.Policy()
    known.CopyFrom(message)
    # One call finds out that there are none, so that large hierarchies cost nothing.
    known.DiscardUnknownFields()
    if known.ByteSize() == message.ByteSize():
        return
    for path, number in _unknown_fields(message, ""):
        found = f"field number {number}, unknown to this server"
        faults.add(path or "policy", found, "fields that it knows", "Upgrade the server, or leave the field out.")


def _unknown_fields(message: Message, path: str) -> Iterator[tuple[str, int]]:
    unknown = UnknownFieldSet(message)
    yield from ((path, unknown[i].field_number) for i in range(len(unknown)))
    for field, value in message.ListFields():
        # The entries of a map hold no fields of their own that could be kept.
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            below = f"{path}.{field.name}" if path else field.name
            items = enumerate(cast(list[Message], value)) if field.is_repeated else ()
            for i, item in items:
                yield from _unknown_fields(item, f"{below}[{i}]")
            if not field.is_repeated:
                yield from _unknown_fields(value, below)
