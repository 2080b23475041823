"""The checks of a policy that need no database."""

from collections.abc import Iterator
from dataclasses import asdict

from tableveil.errors import Fault, shortened
from tableveil.policy import guards
from tableveil.policy.documentation import LONGEST_STATEMENT, says_something
from tableveil.policy.methods import methods_of
from tableveil.policy.model import NO_LIMIT, Policy, Role, SuppressedRecords
from tableveil.policy.privacy import Dominance, KAnonymity
from tableveil.policy.quality import FIELDS, WITH_PARTS
from tableveil.policy.validate_attributes import check_aggregations, check_attributes
from tableveil.policy.validate_classification import check_classification
from tableveil.policy.validate_game import check_game
from tableveil.policy.validate_methods import check_methods
from tableveil.policy.validate_population import check_population
from tableveil.policy.validate_privacy import check_privacy
from tableveil.policy.validate_search import check_search
from tableveil.policy.validate_together import check_together
from tableveil.policy.validate_told import check_told


def validate_policy(policy: Policy) -> list[Fault]:
    """All faults of a policy by itself, with field paths as in the proto; empty if there are none."""
    return [
        *_check_source_and_target(policy),
        *_check_names(policy),
        *_check_reason(policy),
        *check_attributes(policy),
        *_check_person(policy),
        *_check_units(policy),
        *check_privacy(policy),
        *check_population(policy),
        *check_game(policy),
        *check_methods(policy),
        *check_aggregations(policy),
        *_check_suppressed_records(policy),
        *_check_numbers(policy),
        *_check_quality(policy),
        *check_classification(policy),
        *check_search(policy),
        *check_together(policy),
        *_check_guards(policy),
        *check_told(policy),
        *_check_statements(policy),
    ]


def _check_source_and_target(policy: Policy) -> Iterator[Fault]:
    source = policy.source
    if policy.source_query:
        if source.table or source.catalog or source.schema not in ("", "main"):
            yield Fault("source_query", f"a query beside {shortened(str(source))}", "either a source or a source_query")
    elif not source.table and policy.related is not None:
        yield Fault("tables.people.table", "nothing", "the name of the table that has one row for each person")
    elif not source.table and not policy.bound_loads:
        yield Fault("source.table", "nothing", "the name of the table to anonymize, or a SELECT as source_query")
    stated: set[int] = set()
    for field, number in policy.bound_loads:
        if number in stated:
            yield Fault(field, f"loads/{number} once more", "each load once")
        stated.add(number)
    target = policy.release
    if not target.name:
        yield Fault("release.name", "nothing", "the name of the table or view to write")


def _check_reason(policy: Policy) -> Iterator[Fault]:
    target = policy.release
    reasons = {"repeat_reason": policy.repeat_reason, "release.publish_repeat_reason": target.publish_repeat_reason}
    for field, reason in reasons.items():
        if reason and not says_something(reason):
            actual = f"{len(reason):,} characters, none of them a letter or a digit"
            hint = "People read it in the ledger. Leave the field out where no reason is needed."
            yield Fault(field, actual, "the reason why these records are released once more", hint)
    for i, name in enumerate(target.publish):
        if name in target.publish[:i]:
            yield Fault(f"release.publish[{i}]", f"{shortened(name)} once more", "each target once")


def _check_guards(policy: Policy) -> Iterator[Fault]:
    """Faults of `release.guards`."""
    stated = policy.release.guards
    change = stated.maximum_record_change
    if stated.minimum_records < 0:
        yield Fault(f"{guards.FIELD}.minimum_records", f"{stated.minimum_records:,}", "0 or more records")
    if change is not None and not (change.is_finite() and change >= 0):
        expected = "a share of 0 or more: 0.2 allows a fifth more or less"
        yield Fault(f"{guards.FIELD}.maximum_record_change", f"{change}", expected)
    if change is not None and guards.Guard.FEWER_RECORDS in stated.off:
        hint = "A maximum_record_change takes the place of that guard."
        yield Fault(f"{guards.FIELD}.off", "FEWER_RECORDS beside a maximum_record_change", "one of them", hint)
    if policy.release.if_exists != "REPLACE":
        for name, given in (("maximum_record_change", change is not None), ("off", bool(stated.off))):
            if given:
                actual = f"{name} without if_exists: REPLACE"
                yield Fault(f"{guards.FIELD}.{name}", actual, "nothing to compare with, or REPLACE")
    columns = {attribute.column for attribute in policy.recognizing}
    for i, column in enumerate(stated.keep_columns):
        if column not in columns:
            expected = "a quasi-identifier: no other column is generalized"
            yield Fault(f"{guards.FIELD}.keep_columns[{i}]", shortened(column), expected)


def _check_statements(policy: Policy) -> Iterator[Fault]:
    """The texts for the report, and the threshold that it compares with the risk."""
    stated = {f"documentation.{name}": stated for name, stated in asdict(policy.documentation).items()}
    reasons = {f"attributes[{i}].reason": attribute.reason for i, attribute in enumerate(policy.attributes)}
    for field, text in (*stated.items(), *reasons.items()):
        if isinstance(text, str) and len(text) > LONGEST_STATEMENT:
            yield Fault(field, f"{len(text):,} characters", f"at most {LONGEST_STATEMENT:,}")
    threshold = policy.documentation.risk_threshold
    if threshold is not None and not (threshold.is_finite() and 0 < threshold <= 1):
        yield Fault("documentation.risk_threshold", str(threshold), "an exact decimal above 0, up to 1")


def _check_names(policy: Policy) -> Iterator[Fault]:
    """Names in a release must not contain the character that ends names in Arrow, since clients read it as Arrow."""
    names = {"release.name": policy.release.name, "suppressed_records.marker_column": policy.marker_column}
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is not Role.IDENTIFYING:
            names[f"attributes[{i}].column"] = attribute.column
    for field, name in names.items():
        if "\0" in name:
            yield Fault(field, f"{shortened(name)}, in which there is a null character", "a name without one")


def _check_person(policy: Policy) -> Iterator[Fault]:
    if policy.person_column is None:
        if policy.no_person_digests:
            yield Fault("no_person_digests", "true without a person_column", "a person_column whose values are kept")
        if policy.record_column:
            actual = f"{shortened(policy.record_column)} without a person_column"
            yield Fault("record_column", actual, "a person_column beside it", "The ledger keeps whose each record is.")
        return
    if not policy.person_column:
        instead = "" if policy.related is not None else ", or rows_are_people: true"
        yield Fault(policy.person_field, "nothing", f"the name of a column{instead}")
        return
    yield from _check_identifying(policy, policy.person_field, policy.person_column, "the person column")
    if not policy.record_column:
        return
    if policy.record_column == policy.person_column:
        hint = "Leave record_column out where every row is another person."
        yield Fault("record_column", "the person_column", "a column that identifies records", hint)
    else:
        yield from _check_identifying(policy, "record_column", policy.record_column, "the record column")
    if policy.no_person_digests:
        yield Fault("record_column", "a column beside no_person_digests", "one of them", "Nothing is kept of it then.")


def _check_identifying(policy: Policy, field: str, column: str, called: str) -> Iterator[Fault]:
    for i, attribute in enumerate(policy.attributes):
        if attribute.column == column and attribute.role is not Role.IDENTIFYING:
            hint = "Identifying columns are never released."
            yield Fault(f"attributes[{i}].role", f"{attribute.role} for {called}", "IDENTIFYING", hint)
    listed = any(attribute.column == column for attribute in policy.attributes)
    if not listed and policy.default_role not in (None, Role.IDENTIFYING):
        hint = "List the column with the role IDENTIFYING."
        yield Fault(field, f"the default role {policy.default_role}", "the role IDENTIFYING", hint)


def _check_units(policy: Policy) -> Iterator[Fault]:
    """Faults of the columns whose values count beside people."""
    taken = {policy.person_column: "the person_column", policy.record_column: "the record_column"}
    for i, name in enumerate(policy.also_count):
        field = f"also_count[{i}]"
        if not name:
            yield Fault(field, "nothing", "the name of a column, such as that of households")
        elif name in taken:
            yield Fault(field, f"{shortened(name)}, {taken[name]}", "a column of several people", "Remove it.")
        elif name in policy.also_count[:i]:
            yield Fault(field, f"{shortened(name)} once more", "each column once")
    if not policy.also_count:
        return
    if not any(isinstance(model, KAnonymity | Dominance) for model in policy.privacy_models):
        expected = "k_anonymity or dominance, which hold of these units then"
        yield Fault("also_count", "columns without a model that counts people", expected)
    if policy.release.left_behind is not None:
        hint = "Nobody counts the units that are left behind. Name the column as person_column to follow these instead."
        yield Fault("release.left_behind", f"{policy.release.left_behind} beside also_count", "one of them", hint)


def _check_suppressed_records(policy: Policy) -> Iterator[Fault]:
    handling, marker, field = policy.suppressed_records, policy.marker_column, "suppressed_records.marker_column"
    if handling is SuppressedRecords.DROP:
        if marker:
            hint = "Remove it, or set handling: BLANK to keep suppressed records as blank rows."
            yield Fault(field, f"{shortened(marker)} although suppressed records are dropped", "nothing", hint)
    elif not marker:
        hint = "It tells suppressed rows from released ones whose labels are all NULL."
        yield Fault(field, "nothing", "a name for the marker column", hint)
    elif marker.casefold() in {attribute.column.casefold() for attribute in policy.attributes}:
        yield Fault(field, f"{shortened(marker)}, a column of the source", "a name no column has")


def _check_numbers(policy: Policy) -> Iterator[Fault]:
    # Decimals raise an error when they are compared with NaN.
    if not (policy.suppression_limit.is_finite() and 0 <= policy.suppression_limit <= 1):
        yield Fault("suppression_limit", str(policy.suppression_limit), "an exact decimal from 0 to 1")
    for i, threshold in enumerate(policy.risk_thresholds):
        if not (threshold.is_finite() and 0 < threshold < 1):
            yield Fault(f"risk_thresholds[{i}]", str(threshold), "an exact decimal above 0 and below 1")
        elif threshold in policy.risk_thresholds[:i]:
            yield Fault(f"risk_thresholds[{i}]", str(threshold), "each threshold once")
    limit = policy.search.time_limit_seconds
    if limit not in (None, NO_LIMIT) and not (limit.is_finite() and 0 < limit <= 10**9):
        yield Fault("search.time_limit_seconds", str(limit), "seconds above 0, or none for no limit")


def _check_quality(policy: Policy) -> Iterator[Fault]:
    model = policy.quality_model
    kind = FIELDS[type(model)]
    factor = getattr(model, "factor", 0.0)
    if not 0 <= factor <= 1:
        hint = "0.5 counts generalization and suppression in full."
        yield Fault(f"quality_model.{kind}.factor", str(factor), "a number from 0 to 1", hint)
    if isinstance(model, WITH_PARTS) or not all(method.quality for method in methods_of(policy)):
        return
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is Role.QUASI_IDENTIFIER and attribute.weight != 1.0:
            actual = f"{attribute.weight} for {kind}, which has no parts per quasi-identifier that could be weighted"
            hint = f"Remove it, or choose one of {', '.join(FIELDS[each_kind] for each_kind in WITH_PARTS)}."
            yield Fault(f"attributes[{i}].weight", actual, "1", hint)
