"""Section: how well classifiers learn from the releases of reference cases, beside the reference's measurements."""

from pathlib import Path

from benchmarks.classification.adult import QUASI_IDENTIFIERS, Adult
from benchmarks.markdown import table
from benchmarks.search.in_memory import instances
from benchmarks.section import Section
from tableveil.classification.assess import assess
from tableveil.control import Control
from tableveil.requests.classification import ClassificationRequest, Classifier

TITLE = "Classification: accuracies beside the reference's"

CLASSIFIERS = {Classifier.LOGISTIC_REGRESSION: "logistic_regression", Classifier.NAIVE_BAYES: "naive_bayes"}
"""The classifiers that the reference measured, by the name in its results."""

FOLDS = 10
"""The number of folds in the reference's measurements."""


def accuracies(shared: Path) -> Section:
    """Assesses the transformations that the `f-` cases expect; says so if there is no data."""
    if not (shared / "data").is_dir():
        return Section(TITLE, (f"Skipped: there is no `{shared / 'data'}`.",))
    adult = Adult.open(shared / "data")
    rows = []
    for instance in instances(shared, ["f-*"]):
        expected = instance.case.expected
        at = tuple(expected["transformation"][name] for name in QUASI_IDENTIFIERS)
        asked = ClassificationRequest(None, (), classifiers=tuple(CLASSIFIERS), folds=FOLDS)
        assessment = assess(adult.records(at), asked, Control())
        for found in assessment.comparisons:
            theirs = expected["classification"][CLASSIFIERS[found.classifier]]
            zero_r, original, output = (theirs[f"accuracy_{what}"] for what in ("zeror", "input", "output"))
            relative = "undefined" if found.relative_accuracy is None else f"{found.relative_accuracy:.3f}"
            rows.append(
                [
                    f"{instance.case.id}, {found.classifier.replace('_', ' ').lower()}",
                    _both(assessment.baseline.accuracy, zero_r),
                    _both(found.original.accuracy, original),
                    _both(found.anonymized.accuracy, output),
                    f"{relative} / {(output - zero_r) / (original - zero_r):.3f}",
                    _both(found.original.brier, theirs["brier_input"]),
                    _both(found.anonymized.brier, theirs["brier_output"]),
                ]
            )
    return Section(
        TITLE,
        (
            "Ours / the reference's: 10 folds, all features categories, suppressed records evaluated on, not trained "
            "on. Folds are drawn differently, and the classifiers differ: the reference's logistic regression learns "
            "online; its naive Bayes is Bernoulli's over 1,000 hashed words, which counts every category that a record "
            "does not have. Relative accuracy is above 1 where a classifier learns better from generalized values.",
            table(("case", "ZeroR", "input", "output", "relative accuracy", "Brier, input", "Brier, output"), rows),
        ),
    )


def _both(ours: float, theirs: float) -> str:
    return f"{ours:.4f} / {theirs:.4f}"
