"""The evidence of a release as parts of a report: source, columns, models, suppression, utility."""

import math
from collections import Counter
from collections.abc import Iterator

from tableveil import wording
from tableveil.report.facts import PublicColumn, PublicFacts, treatment_of
from tableveil.report.model import Grid, Part, Sentences, Terms, Words, shares
from tableveil.report.public import exposure_grid, labels, models
from tableveil.report.reached import asked, reached
from tableveil.report.utility import ABOUT_RATES, changes, moved_rates
from tableveil.report.words import NOT_STATED, ROLES, columns_of_lists, identifying, of_people, role_of, stated
from tableveil.v1 import policy_pb2
from tableveil.v1.classification_service_pb2 import ClassificationReport, Classifier
from tableveil.v1.release_service_pb2 import AttributeResult, Guarantee, Release, SuppressedLabel
from tableveil.v1.utility_service_pb2 import ColumnUtility, Spread, UtilityReport
from tableveil.wording.distinct import before_and_after
from tableveil.wording.exposures import counted

MOST_CHARTS = 12
"""Columns whose distribution is drawn; the others are named."""

MOST_LABELS = 3
"""Labels of a column, by their suppressed records."""

_ELSEWHERE = ("average_risk", "sample_uniqueness")
"""Models whose figures stand among the risks."""

MOST_CHANGES = 15
"""Pairs of columns whose association changed most."""


def columns(facts: PublicFacts, release: Release) -> Iterator[Part]:
    """Every column, also those that are not released; and the reasons for their roles."""
    policy = {wording.named_column(attribute, release.policy): attribute for attribute in release.policy.attributes}
    results = {result.column: result for result in release.attributes}
    rows = [_column(one, policy.get(one.name), results.get(one.name)) for one in facts.columns]
    for name, attribute in policy.items():
        if becomes := identifying(attribute, release.policy):
            rows.append((name, ROLES["IDENTIFYING"], becomes, "", "", ""))
    names = ("column", "role", "treatment", "loss", "different values", "labels")
    yield Grid("Columns of the source", names, tuple(rows), frozenset({3, 4}))
    yield Words(
        "Loss is the average share of a hierarchy that a record's label covers: 0 is nothing, 100 % everything. "
        "Labels are those of most records; only quasi-identifiers have any."
    )
    yield from _exposures(facts, release)
    reasons = tuple((name, stated(one.reason)) for name, one in policy.items() if one.reason)
    if reasons:
        yield Words("Why columns have their roles:")
        yield Terms(reasons)
    if others := [name for name, one in policy.items() if not one.reason]:
        others_have = "the others have theirs" if reasons else "columns have their roles"
        yield Words(f"Why {others_have} is {NOT_STATED}: {', '.join(others)}.")


def _exposures(facts: PublicFacts, release: Release) -> Iterator[Part]:
    shown = counted(release.exposures)
    if shown:
        yield exposure_grid(shown)
        yield Words(
            "Somebody is found who is alone by what is known. Values follow that other people with a person's own "
            "values have, and nearly nobody else."
        )
    elif any(role_of(one, release.policy) in ("SENSITIVE", "INSENSITIVE") for one in of_people(release.policy)):
        yield Words("Nobody counted who could be found: another version made this release, or rows are elsewhere.")


def _column(
    public_column: PublicColumn, attribute: policy_pb2.Attribute | None, result: AttributeResult | None
) -> tuple[str, ...]:
    treatment = public_column.treatment if result is None else treatment_of(result)
    if result is not None and not result.aggregation:
        treatment = f"{treatment} of {result.top_level}"
    if result is not None and result.hierarchy:
        treatment = f"{treatment}; {result.hierarchy}"
    treatment += public_column.days
    if attribute is not None and attribute.acknowledged:
        treatment = f"{treatment}; acknowledged: checks that would refuse it were overruled"
    return (
        public_column.name,
        ROLES.get(public_column.role, public_column.role),
        treatment,
        "" if result is None else wording.share(result.loss),
        "" if result is None else before_and_after(result),
        labels(public_column.labels),
    )


def guarantees(release: Release) -> Iterator[Part]:
    """Every model with what is reached of it: those that the policy asks for, then the others that have a figure."""
    # Joint classes stand beside the releases.
    figures = [one for one in release.guarantees if not one.model.startswith("joint_k")]
    wanted = [one for one in figures if asked(one, release.policy)]
    yield models(release.policy.privacy_models, columns_of_lists(release.policy))
    if not release.guarantees:
        yield Words("The version that made this release kept no figures of what is reached.")
        return
    yield _reached("Reached of these models", wanted)
    others = [
        one
        for one in figures
        if one not in wanted and one.model not in _ELSEWHERE and one.HasField("after") and math.isfinite(one.after)
    ]
    if others:
        yield _reached("Reached of models that the policy does not ask for", others)
    yield Words(
        "The figures are the strictest parameters that hold: more is stricter for k and l, less for share, threshold, "
        "c, t, delta, beta and chance. t, delta and beta are against the source; where released rows stand "
        "beside them, against these alone, as a recipient measures them."
    )


def _reached(caption: str, found: list[Guarantee]) -> Grid:
    rows = tuple(
        (
            one.model.replace("_", " "),
            one.column,
            one.parameter,
            reached(one.before) if one.HasField("before") else "",
            reached(one.after) if one.HasField("after") else "",
        )
        for one in found
    )
    return Grid(caption, ("model", "of", "parameter", "before", "after"), rows, frozenset({3, 4}))


def suppressed(release: Release) -> Iterator[Part]:
    """Which labels of single columns were suppressed most."""
    if not release.suppressed_records:
        return
    if not release.suppressed_labels:
        yield Words("Nothing tells of which labels the suppressed records would have been.")
        return
    rows = tuple(
        (
            one.column,
            wording.short(one.label) if one.HasField("label") else "NULL",
            wording.count(one.suppressed),
            wording.share(one.suppressed / one.records if one.records else 0.0),
        )
        for one in _first_of_each(release)
    )
    caption = f"Suppressed records by the released labels of single columns, up to {MOST_LABELS} of each"
    yield Grid(caption, ("column", "label", "suppressed", "of the records with the label"), rows, frozenset({2, 3}))


def _first_of_each(release: Release) -> Iterator[SuppressedLabel]:
    """The first labels of each column, which have the most suppressed records."""
    listed: Counter[str] = Counter()
    for one in release.suppressed_labels:
        listed[one.column] += 1
        if listed[one.column] <= MOST_LABELS:
            yield one


def utility(report: UtilityReport | None, classification: ClassificationReport | None) -> Iterator[Part]:
    """The information that is left, as somebody measured it."""
    if report is not None:
        yield from _distributions(report)
        yield from _associations(report)
        if report.rates:
            yield from (moved_rates(report), Words(ABOUT_RATES))
        yield Sentences((f"Measured by {report.name}.", *report.notes))
    if classification is not None:
        yield from _classifiers(classification)


def _distributions(report: UtilityReport) -> Iterator[Part]:
    if not any(one.before.bins for one in report.columns):
        # The notes say why.
        return
    drawn = [one for one in report.columns if _comparable(one)][:MOST_CHARTS]
    for one in drawn:
        names = [bin_.label for bin_ in one.before.bins if bin_.HasField("label")]
        series = tuple(
            (word, tuple(_shares(spread).get(name, 0.0) for name in names))
            for word, spread in (("before", one.before), ("after", one.after))
        )
        yield shares(f"{one.column} before and after", "value", tuple(map(wording.short, names)), series)
    left = [one.column for one in report.columns if one not in drawn]
    if left:
        yield Words(
            f"Not drawn: {', '.join(left)}. A report draws up to {MOST_CHARTS} columns whose values before and after "
            "can stand on one axis; the page of tableveil utility has all."
        )


def _comparable(column: ColumnUtility) -> bool:
    before = {bin_.label for bin_ in column.before.bins if bin_.HasField("label")}
    after = {bin_.label for bin_ in column.after.bins if bin_.HasField("label")}
    return bool(before) and after <= before


def _shares(spread: Spread) -> dict[str, float]:
    return {bin_.label: bin_.records / (spread.records or 1) for bin_ in spread.bins if bin_.HasField("label")}


def _associations(report: UtilityReport) -> Iterator[Part]:
    if rows := changes(report, MOST_CHANGES):
        names = ("columns", "measure", "before", "after")
        shown = tuple(row[: len(names)] for row in rows)
        yield Grid("Associations that changed most", names, shown, frozenset({2, 3}))


def _classifiers(classification_report: ClassificationReport) -> Iterator[Part]:
    rows = tuple(
        (
            assessment.class_column,
            wording.enum_word(Classifier.Name(one.classifier), "CLASSIFIER_"),
            f"{assessment.baseline.accuracy:.3f}",
            f"{one.original.accuracy:.3f}",
            f"{one.anonymized.accuracy:.3f}",
        )
        for assessment in classification_report.assessments
        for one in assessment.comparisons
    )
    names = ("class", "classifier", "most frequent class", "trained on the source", "trained on the release")
    yield Grid(f"Accuracy of classifiers ({classification_report.name})", names, rows, frozenset({2, 3, 4}))
