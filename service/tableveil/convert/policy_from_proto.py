"""The policy in a message, or all of its faults."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from tableveil.convert import enums
from tableveil.convert.attributes import attribute_from_proto
from tableveil.convert.collect import Faults
from tableveil.convert.decimals import LONGEST_DECIMAL
from tableveil.convert.fields import from_message
from tableveil.convert.names import DEFAULT_SCHEMA, UNBOUND, canonical_json, loads_of, policy_from_json, unbound
from tableveil.convert.population import population_from_proto
from tableveil.convert.privacy import privacy_from_proto
from tableveil.convert.related import check_said_already, columns_by_table, people_table, related_from_proto
from tableveil.errors import Fault, InternalError, InvalidError, shortened
from tableveil.policy import (
    DEFAULT_RISK_THRESHOLDS,
    METHODS,
    NO_LIMIT,
    Choose,
    Documentation,
    Game,
    IfExists,
    LossModel,
    MethodTraits,
    Policy,
    PrivacyModel,
    QualityModel,
    RelatedTables,
    ReleaseGuards,
    ReleaseKind,
    ReleaseTarget,
    SearchOptions,
    SensitiveModel,
    Strategy,
    SuppressedRecords,
    validate_policy,
)
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.policy.quality import FIELDS
from tableveil.v1 import policy_pb2


def methods_from_proto(message: policy_pb2.Policy, faults: Faults) -> tuple[Any, ...]:
    """The options of each method that a policy asks for, but for related tables; faults are added to `faults`."""
    return tuple(
        from_message(method.kind, getattr(message, method.field), method.field, faults)
        for method in methods_stated(message)
        if method is not RELATED_TABLES
    )


def methods_stated(message: policy_pb2.Policy) -> tuple[MethodTraits[Any], ...]:
    """The methods that a policy asks for by their fields."""
    stated = {field.name for field, _ in message.ListFields()}
    return tuple(method for method in METHODS if method.field in stated)


def leave_out(message: policy_pb2.Policy, method: MethodTraits[Any]) -> None:
    """Takes a method out of a policy, with its options."""
    fields: Message = message
    fields.ClearField(method.field)


def lists_of_methods(message: policy_pb2.Policy) -> Iterator[tuple[str, str, int]]:
    """The lists in the options of a policy's methods: what they are, their fields, and their lengths."""
    for field in filter(None, (method.field for method in METHODS)):
        for listed, entries in getattr(message, field).ListFields():
            if listed.is_repeated:
                yield "method", f"{field}.{listed.name}", len(entries)


_MODELS = {name: model for model, name in FIELDS.items()}


def quality_from_proto(message: policy_pb2.QualityModel, faults: Faults) -> QualityModel:
    """The model in a policy's `quality_model`, loss if it names none; faults are added to `faults`."""
    kind = message.WhichOneof("kind")
    if kind is None:
        return LossModel()
    return from_message(_MODELS[kind], getattr(message, kind), f"quality_model.{kind}", faults)


def game_from_proto(message: policy_pb2.Game, faults: Faults) -> Game:
    """The game in a policy's `game`; faults are added to `faults`."""
    return from_message(Game, message, "game", faults)


# Far above the needs of any table or person, far below the number that would occupy the server.
_MOST = {
    "attributes": 10_000,
    "privacy_models": 100,
    "risk_thresholds": 100,
    "source.loads": 1_000,
    "search.levels": 10_000,
    "search.linked": 10_000,
    "method": 10_000,
    "order.values": 1_000_000,
    "quality_model.classification": 1_000,
}


ALL = "ALL"
"""Names all earlier releases of the same people."""


def policy_from_proto(message: policy_pb2.Policy, *, before_upload: bool = False) -> tuple[Policy | None, list[Fault]]:
    """Converts a policy and runs all checks that need no database.

    Args:
        message: The policy.
        before_upload: True on the client, where a CSV hierarchy stands for the stored one it will become.

    Returns:
        The policy, or None if parts of it could not be converted; and all faults: first those of the conversion, then
        those of `validate_policy`, which also judges the rest of a policy that could be converted only in part.
    """
    faults = Faults()
    _check_unknown_fields(message, faults)
    unreadable = False
    for name, field, entries in _entries(message):
        if entries > _MOST[name]:
            faults.add(field, f"{entries:,} entries", f"at most {_MOST[name]:,}")
            unreadable = True
    for field, reference in _other_tables(message):
        for load_field, name in loads_of(reference):
            faults.add(f"{field}.{load_field}", shortened(name), UNBOUND)
            unreadable = True
    if unreadable:
        return None, faults.all()
    policy = _Reader(faults, before_upload).policy(message)
    converted = not faults
    faults.judged(validate_policy(policy))
    return policy if converted else None, faults.all()


def given_reason(document: str, repeat_reason: str, other_people: Sequence[str] = ()) -> tuple[Policy, str]:
    """The policy in the ledger's document of a release, and the document, with another reason unless that is empty.

    And with other releases of other people, if any are named.

    Raises:
        InvalidError: the reason is none.
        InternalError: This version cannot read it.
    """
    if not repeat_reason and not other_people:
        return stored_policy(document), document
    message = policy_from_json(document)
    message.repeat_reason = repeat_reason or message.repeat_reason
    if other_people:
        message.other_people[:] = other_people
    policy, faults = policy_from_proto(message)
    if policy is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the trial cannot be promoted by that reason", faults)
    return policy, canonical_json(message)


def stored_policy(document: str) -> Policy:
    """The policy in the ledger's document of a release.

    Raises:
        InternalError: This version cannot read it.
    """
    try:
        policy, _ = policy_from_proto(policy_from_json(document))
    except json_format.ParseError:
        # Its own text quotes the document.
        policy = None
    if policy is None:
        raise InternalError("STORED_POLICY_UNREADABLE", "this version cannot read the policy of the release")
    return policy


def _entries(message: policy_pb2.Policy) -> Iterator[tuple[str, str, int]]:
    """The paths and lengths of the lists in `_MOST`."""
    linked = message.search.linked
    yield "attributes", "attributes", len(message.attributes)
    yield "privacy_models", "privacy_models", len(message.privacy_models)
    yield "risk_thresholds", "risk_thresholds", len(message.risk_thresholds)
    yield "source.loads", "source.loads", len(message.source.loads)
    yield "search.levels", "search.levels", len(message.search.levels)
    yield from lists_of_methods(message)
    yield "search.linked", "search.linked", max(len(linked), sum(len(group.columns) for group in linked))
    for name in ("classes", "features"):
        field = f"quality_model.classification.{name}"
        yield "quality_model.classification", field, len(getattr(message.quality_model.classification, name))
    for i, attribute in enumerate(message.attributes):
        yield "order.values", f"attributes[{i}].order.values", len(attribute.order.values)


def _other_tables(message: policy_pb2.Policy) -> Iterator[tuple[str, policy_pb2.TableReference]]:
    """The paths and references of all tables but the source."""
    yield "population.table", message.population.table
    for i, attribute in enumerate(message.attributes):
        path = f"attributes[{i}].hierarchy"
        yield f"{path}.table.table", attribute.hierarchy.table.table
        yield f"{path}.safe_harbor_zip.population", attribute.hierarchy.safe_harbor_zip.population


class _Reader:
    """Reads each part of the policy, and puts a placeholder where a part cannot be read."""

    def __init__(self, faults: Faults, before_upload: bool) -> None:
        self._faults = faults
        self._before_upload = before_upload

    def policy(self, message: policy_pb2.Policy) -> Policy:
        default_role = self._faults.enum_or_none(message.default_role, enums.ROLES, "default_role")
        every = tuple(
            attribute_from_proto(
                attribute, default_role, f"attributes[{i}]", self._faults, before_upload=self._before_upload
            )
            for i, attribute in enumerate(message.attributes)
        )
        of_people, of_events = columns_by_table(message, every, self._faults)
        related: tuple[RelatedTables, ...] = ()
        if message.HasField("tables"):
            check_said_already(message, self._faults)
            related = (related_from_proto(message, every, of_events, self._faults),)
        return Policy(
            source=people_table(message) if related else unbound(message.source),
            source_load=self._faults.load(message.source.load, "source.load") if message.source.load else None,
            source_loads=tuple(
                number
                for i, name in enumerate(message.source.loads)
                if (number := self._faults.load(name, f"source.loads[{i}]")) is not None
            ),
            source_query=message.source_query,
            no_person_digests=message.no_person_digests,
            record_column=message.record_column,
            also_count=tuple(message.also_count),
            attributes=of_people,
            default_role=default_role,
            person_column=message.tables.people.key if related else self._person(message),
            privacy_models=self._privacy_models(message),
            suppression_limit=self._faults.decimal(message.suppression_limit, "suppression_limit") or Decimal(0),
            suppressed_records=self._faults.enum(
                message.suppressed_records.handling,
                enums.SUPPRESSED_RECORDS,
                "suppressed_records.handling",
                SuppressedRecords.DROP,
            ),
            marker_column=message.suppressed_records.marker_column,
            quality_model=quality_from_proto(message.quality_model, self._faults),
            search=self._search(message.search),
            risk_thresholds=self._risk_thresholds(message),
            release=replace(
                self._release(message.release), events=tuple(event.name for each in related for event in each.events)
            ),
            repeat_reason=message.repeat_reason,
            other_people=tuple(
                number
                for i, name in enumerate(message.other_people)
                if (number := self._faults.release(name, f"other_people[{i}]")) is not None
            ),
            population=(
                population_from_proto(message.population, self._faults) if message.HasField("population") else None
            ),
            game=game_from_proto(message.game, self._faults) if message.HasField("game") else None,
            documentation=from_message(Documentation, message.documentation, "documentation", self._faults),
            methods=(*related, *methods_from_proto(message, self._faults)),
        )

    def _person(self, message: policy_pb2.Policy) -> str | None:
        match message.WhichOneof("person"):
            case "person_column":
                return message.person_column
            case "rows_are_people" if message.rows_are_people:
                return None
            case "rows_are_people":
                expected = "true, or the column that identifies the person as person_column"
                hint = "k counts people: let a source_query make one row of each person's."
                self._faults.add("rows_are_people", "false", expected, hint)
            case _:
                expected = "the column that identifies the person, or rows_are_people: true"
                self._faults.add("person_column", "nothing", expected, "k counts people.")
        return None

    def _privacy_models(self, message: policy_pb2.Policy) -> tuple[PrivacyModel, ...]:
        models: list[PrivacyModel] = []
        for i, entry in enumerate(message.privacy_models):
            path = f"privacy_models[{i}]"
            model = privacy_from_proto(entry, path, self._faults)
            if model is None:
                # The models after it have other indices here, and the search might choose by it.
                self._faults.guess("privacy_models")
                self._faults.guess("search.choose")
                continue
            models.append(model)
            if isinstance(model, SensitiveModel) and _role_is_unclear(message, model.column):
                for name in ("column", "distance"):
                    self._faults.guess(f"{path}.{entry.WhichOneof('kind')}.{name}")
        return tuple(models)

    def _search(self, message: policy_pb2.Search) -> SearchOptions:
        return SearchOptions(
            time_limit_seconds=self._time_limit(message.time_limit_seconds, "search.time_limit_seconds"),
            seed=message.seed,
            strategy=self._faults.enum(message.strategy, enums.SEARCH_STRATEGIES, "search.strategy", Strategy.AUTO),
            # A map has no order of its own.
            levels=tuple(sorted(message.levels.items())),
            linked=tuple(tuple(group.columns) for group in message.linked),
            choose=self._faults.enum(message.choose, enums.CHOOSE, "search.choose", Choose.ALL_MODELS),
        )

    def _time_limit(self, text: str, field: str) -> Decimal | None:
        return NO_LIMIT if text == "none" else self._faults.decimal(text, field)

    def _risk_thresholds(self, message: policy_pb2.Policy) -> tuple[Decimal, ...]:
        if not message.risk_thresholds:
            return DEFAULT_RISK_THRESHOLDS
        thresholds = []
        for i, text in enumerate(message.risk_thresholds):
            field = f"risk_thresholds[{i}]"
            if not text:
                self._faults.add(field, "nothing", "an exact decimal above 0 and below 1")
            # A placeholder must not repeat another value.
            threshold = self._faults.decimal(text, field)
            thresholds.append(Decimal(i + 1).scaleb(-LONGEST_DECIMAL) if threshold is None else threshold)
        return tuple(thresholds)

    def _release(self, message: policy_pb2.ReleaseTarget) -> ReleaseTarget:
        return ReleaseTarget(
            schema=message.schema or DEFAULT_SCHEMA,
            name=message.name,
            kind=self._faults.enum(message.kind, enums.RELEASE_KINDS, "release.kind", ReleaseKind.TABLE),
            if_exists=self._faults.enum(message.if_exists, enums.IF_EXISTS, "release.if_exists", IfExists.FAIL),
            publish=tuple(message.publish),
            publish_repeat_reason=message.publish_repeat_reason,
            label_columns=message.label_columns if message.HasField("label_columns") else True,
            class_id=message.class_id,
            together_with=self._together_with(message.together_with),
            left_behind=self._faults.enum_or_none(message.left_behind, enums.LEFT_BEHIND, "release.left_behind"),
            guards=from_message(ReleaseGuards, message.guards, "release.guards", self._faults),
            close_open_ends=message.close_open_ends,
            suppressed_by=tuple(message.suppressed_by),
            estimates=message.estimates,
        )

    def _together_with(self, names: Sequence[str]) -> tuple[int, ...]:
        if list(names) == [ALL]:
            return ()
        numbers = (self._faults.release(name, f"release.together_with[{i}]") for i, name in enumerate(names))
        return tuple(number for number in numbers if number is not None)


def _role_is_unclear(message: policy_pb2.Policy, column: str) -> bool:
    """Whether the column might be sensitive: its role is missing, or cannot be read."""
    listed = [attribute for attribute in message.attributes if attribute.column == column]
    if not listed:
        return bool(message.default_role) and enums.ROLES.from_proto(message.default_role) is None
    return any(enums.ROLES.from_proto(attribute.role or message.default_role) is None for attribute in listed)


def _check_unknown_fields(message: policy_pb2.Policy, faults: Faults) -> None:
    """Refuses unknown fields of newer clients: a policy that is only partly understood protects less than it says."""
    empty = policy_pb2.Policy()
    empty.CopyFrom(message)
    # One call shows that there are none, so that large hierarchies cost nothing.
    empty.DiscardUnknownFields()
    if empty.ByteSize() == message.ByteSize():
        return
    for path, number in _unknown_fields(message, ""):
        actual = f"field number {number}, unknown to this server"
        faults.add(path or "policy", actual, "fields that it knows", "Upgrade the server, or leave the field out.")


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
