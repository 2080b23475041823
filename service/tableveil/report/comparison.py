"""Two releases side by side: policies, levels, risk, loss, suppression, usefulness; what became finer or coarser."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from google.protobuf.json_format import MessageToDict

from tableveil import wording
from tableveil.convert import privacy_in_words
from tableveil.report.facts import treatment_of
from tableveil.report.model import Grid, Report, Section, Sentences
from tableveil.report.words import method_of, named
from tableveil.v1.policy_pb2 import Hierarchy, Policy
from tableveil.v1.release_service_pb2 import RELEASE_OBJECT_KIND_EVENTS, AttributeResult, Release
from tableveil.v1.utility_service_pb2 import UtilityReport
from tableveil.wording.methods import method_words

_NONE, _UNLABELLED = "none", "no quasi-identifier"

_Model = Mapping[str, Mapping[str, object]]

_STRONG = 0.1
"""Pairs of columns count as associated from this Cramér's V on."""


@dataclass(frozen=True, slots=True)
class Side:
    """A release, and its last utility report, if there is one."""

    release: Release
    utility: UtilityReport | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tables that have a column for each of two releases, and sentences about what cannot be compared."""

    title: str
    notes: tuple[str, ...]
    tables: tuple[Grid, ...]


def compared(first: Side, second: Side) -> Comparison:
    """Puts two releases side by side, with the figures that are equal too."""
    title = f"{first.release.name} and {second.release.name} compared"
    return Comparison(title, tuple(_notes(first, second)), tuple(_tables(first, second)))


def page(comparison: Comparison) -> Report:
    """The page of a comparison."""
    return Report(
        title=comparison.title,
        edition="For the owner of the tables.",
        opening=(Sentences(comparison.notes),),
        sections=tuple(
            Section("", one.caption, (replace(one, caption=f"{comparison.title}: {one.caption}"),))
            for one in comparison.tables
        ),
    )


def _tables(first: Side, second: Side) -> Iterator[Grid]:
    sides = (first.release, second.release)
    names = tuple(release.name for release in sides)
    owned = all(map(wording.has_evidence, sides))
    overview = (*_overview(*sides), *(_of_owners(*sides) if owned else ()))
    yield Grid("In short", ("", *names, "change"), overview)
    if owned:
        heads = ("quasi-identifier", *(f"level, {name}" for name in names), *(f"loss, {name}" for name in names))
        yield Grid("Quasi-identifiers", (*heads, "change"), tuple(_levels(*sides)))
    yield Grid("Risk after release", ("", *names, "change"), tuple(_risks(*sides)))
    numbers = frozenset({1, 2})
    if owned:
        yield Grid("Privacy that is reached", ("model", *names), tuple(_reached(*sides)), numbers)
    if first.utility is not None and second.utility is not None:
        yield Grid("Usefulness", ("", *names), tuple(_usefulness(first.utility, second.utility)), numbers)
    if owned:
        yield Grid("Policies: what differs", ("field", *names), tuple(_policies(*sides)))


def changes(earlier: Release, later: Release) -> Grid:
    """A report's line for each figure of a release beside an earlier one, whether it changed or not."""
    sides = (earlier, later)
    rows = (*_figures(*sides), *_treatments(*sides))
    return Grid(f"{later.name} beside {earlier.name}", ("", earlier.name, later.name, "change"), rows)


def _figures(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    yield _texts("privacy models", first, second, lambda one: named(one.policy.privacy_models))
    yield _texts("method", first, second, lambda one: method_of(one.policy))
    yield _texts("records of the source", first, second, lambda one: wording.count(one.records))
    yield _texts("suppressed records", first, second, lambda one: wording.count(one.suppressed_records))
    yield _texts("classes", first, second, lambda one: wording.count(one.classes))
    yield _texts("highest risk", first, second, lambda one: wording.share(one.risk_after.highest))
    yield _texts("average risk", first, second, lambda one: wording.share(one.risk_after.average))
    yield _texts("score", first, second, lambda one: f"{wording.score(one.score)} ({one.quality_model})")


def _treatments(earlier: Release, later: Release) -> Iterator[tuple[str, ...]]:
    before, after = ({result.column: result for result in one.attributes} for one in (earlier, later))
    for column in {**before, **after}:
        first, second = before.get(column), after.get(column)
        yield column, _treatment(first), _treatment(second), wording.change_of_labels(first, second)


def _treatment(result: AttributeResult | None) -> str:
    return _UNLABELLED if result is None else f"{treatment_of(result)}, loss {wording.share(result.loss)}"


def _notes(first: Side, second: Side) -> Iterator[str]:
    both = f"{first.release.name} and {second.release.name}"
    if first.release.source != second.release.source:
        yield f"{both} are releases of different tables: figures can differ because the people do."
    elif first.release.source_fingerprint != second.release.source_fingerprint:
        yield f"The table changed between {both}: figures can differ because the people do."
    owned = all(wording.has_evidence(side.release) for side in (first, second))
    if owned and not _scores_compare(first.release, second.release):
        yield f"Scores of {both} are not compared: quality models, hierarchies or loss ranges differ."
    for side in (first, second):
        if not wording.has_evidence(side.release):
            yield f"The evidence of {side.release.name} is its owner's: policies, levels and loss are not compared."
            continue
        if price := wording.price(side.release):
            yield f"{side.release.name}: {price}"
        if side.utility is None:
            name = side.release.name
            yield (
                f"The usefulness of {name} is not compared: it was not measured (`tableveil utility {name}` does it), "
                "or you may not see it."
            )


def _overview(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    """Facts that everybody sees who sees the releases."""
    yield _texts("released as", first, second, lambda release: wording.target_name(release.target))
    yield _texts("made", first, second, lambda release: wording.moment(release.create_time))
    yield _texts("public", first, second, wording.standing)
    yield _counts("released records", first.risk_by_size.records, second.risk_by_size.records)
    yield _counts("suppressed records", first.suppressed_records, second.suppressed_records)
    yield _counts("classes", first.classes, second.classes)
    events = [sum(of.rows for of in one.objects if of.kind == RELEASE_OBJECT_KIND_EVENTS) for one in (first, second)]
    if any(events):
        yield _counts("released rows of events", *events)


def _of_owners(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    """Facts that are evidence."""
    yield _texts("tables read", first, second, wording.tables_read)
    yield _counts("records of the table", first.records, second.records)
    yield _texts("method", first, second, lambda release: method_words(release.policy).name)
    yield _texts("privacy", first, second, _privacy)
    yield _texts("quality", first, second, lambda release: release.quality_model or _NONE)
    if _scores_compare(first, second):
        yield _line("score (less is better)", first.score, second.score, wording.score)
    yield _texts("proven optimal", first, second, lambda release: "yes" if release.proof.optimal else "no")


def _scores_compare(first: Release, second: Release) -> bool:
    """Whether scores mean the same: loss over wider ranges is less for the same labels."""
    return first.quality_model == second.quality_model and _hierarchies(first) == _hierarchies(second)


def _hierarchies(release: Release) -> dict[str, Hierarchy]:
    policy = release.policy
    return {wording.named_column(one, policy): one.hierarchy for one in policy.attributes if one.HasField("hierarchy")}


def _privacy(release: Release) -> str:
    return "; ".join(sorted(map(privacy_in_words, release.policy.privacy_models))) or _NONE


def _texts(name: str, first: Release, second: Release, told: Callable[[Release], str]) -> tuple[str, ...]:
    before, after = told(first), told(second)
    return name, before, after, "" if before == after else "differs"


def _counts(name: str, first: int, second: int) -> tuple[str, ...]:
    return _line(name, first, second, lambda number: wording.count(int(number)))


def _line(name: str, first: float, second: float, told: Callable[[float], str]) -> tuple[str, ...]:
    change = "" if first == second else "lower" if second < first else "higher"
    return name, told(first), told(second), change


def _levels(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    sides = [{result.column: result for result in release.attributes} for release in (first, second)]
    hierarchies = [_hierarchies(release) for release in (first, second)]
    for column in dict.fromkeys([*sides[0], *sides[1]]):
        before, after = (side.get(column) for side in sides)
        yield (
            column,
            *(_level(result) for result in (before, after)),
            *(wording.share(result.loss) if result else "" for result in (before, after)),
            wording.change_of_labels(
                before, after, of_one_hierarchy=hierarchies[0].get(column) == hierarchies[1].get(column)
            ),
        )


def _level(result: AttributeResult | None) -> str:
    if result is None:
        return _UNLABELLED
    if result.aggregation:
        return result.aggregation
    lowest = min((one.level for one in result.levels), default=result.level)
    return f"{lowest} to {result.level}" if lowest < result.level else f"{result.level} of {result.top_level}"


def _risks(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    before, after = first.risk_after, second.risk_after
    yield _line("highest", before.highest, after.highest, wording.share)
    yield _line("average", before.average, after.average, wording.share)
    sides = [
        {item.threshold: item.records / (risk.records or 1) for item in risk.records_at_risk}
        for risk in (before, after)
    ]
    yield _line("alone in their class", _unique(first), _unique(second), wording.share)
    for threshold in sides[0]:
        if threshold in sides[1]:
            name = f"records with more than {wording.share(float(threshold))}"
            yield _line(name, sides[0][threshold], sides[1][threshold], wording.share)


def _unique(release: Release) -> float:
    return release.risk_after.unique_records / (release.risk_after.records or 1)


def _reached(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    sides = [
        {(one.model, one.column, one.parameter): one.after for one in release.guarantees if one.HasField("after")}
        for release in (first, second)
    ]
    for model, column, parameter in dict.fromkeys([*sides[0], *sides[1]]):
        name = f"{model.replace('_', ' ')}{f' of {column}' if column else ''}: {parameter}"
        yield name, *(_number(side.get((model, column, parameter))) for side in sides)


def _number(value: float | None) -> str:
    if value is None:
        return _NONE
    if math.isinf(value):
        return "without bound"
    return wording.count(int(value)) if value.is_integer() else wording.score(value)


def _usefulness(first: UtilityReport, second: UtilityReport) -> Iterator[tuple[str, ...]]:
    yield "associations that are left", *(_associations_left(report) for report in (first, second))
    sides = [{column.column: column for column in report.columns} for report in (first, second)]
    for column in dict.fromkeys([*sides[0], *sides[1]]):
        counts = [wording.count(side[column].after.distinct) if column in side else _NONE for side in sides]
        yield f"{column}: different values", *counts


def _associations_left(report: UtilityReport) -> str:
    """The mean share of Cramér's V that is left, over the pairs that were associated in the source."""
    strong = [one for one in report.associations if one.measure == "cramers_v" and one.before >= _STRONG]
    left = [min(one.after / one.before, 1.0) if one.HasField("after") else 0.0 for one in strong]
    return wording.share(sum(left) / len(left)) if left else _NONE


def _policies(first: Release, second: Release) -> Iterator[tuple[str, ...]]:
    models = [MessageToDict(release.policy, preserving_proto_field_name=True) for release in (first, second)]
    aligned = _aligned(*(one.get("privacy_models", []) for one in models))
    sides = [dict(_fields(_named(release.policy, own))) for release, own in zip((first, second), aligned, strict=True)]
    for path in dict.fromkeys([*sides[0], *sides[1]]):
        before, after = (side.get(path, _NONE) for side in sides)
        if before != after:
            yield path, before, after


def _aligned(first: Sequence[_Model], second: Sequence[_Model]) -> tuple[list[_Model], list[_Model]]:
    """The models of both sides in an order in which equal ones have equal places among those of their kind."""
    common = [one for one in first if one in second]

    def ordered(side: Sequence[_Model]) -> list[_Model]:
        return [*common, *(one for one in side if one not in common)]

    return ordered(first), ordered(second)


def _named(policy: Policy, models: Sequence[_Model]) -> Mapping[str, object]:
    """The policy as nested values by name: its attributes by their columns, its models by their kinds and columns."""
    document = MessageToDict(policy, preserving_proto_field_name=True)
    document["attributes"] = {one.get("column", ""): one for one in document.get("attributes", [])}
    document["privacy_models"] = dict(_models(models))
    return document


def _models(models: Sequence[_Model]) -> Iterator[tuple[str, object]]:
    """Each model by a name that does not change when another one is inserted before it."""
    times: Counter[str] = Counter()
    for model in models:
        ((kind, parameters),) = model.items()
        name = f"{kind} of {parameters['column']}" if "column" in parameters else kind
        times[name] += 1
        yield name if times[name] == 1 else f"{name} ({times[name]})", parameters or "given"


def _fields(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and not value and path:
        # An empty message is an option that is chosen: local recoding, for example.
        yield path, "given"
    elif isinstance(value, Mapping):
        # By name: a map of a message has another order in each process.
        for name, part in sorted(value.items()):
            yield from _fields(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        for i, part in enumerate(value):
            yield from _fields(part, f"{path}[{i}]")
    else:
        yield path, wording.short(", ".join(map(str, value)) if isinstance(value, list) else str(value))
