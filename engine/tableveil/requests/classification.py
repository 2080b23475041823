"""The request of a classifier assessment of a release, and its checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tableveil.errors import Fault, shortened

DEFAULT_FOLDS = 10
MOST_FOLDS = 100
DEFAULT_MAX_RECORDS = 50_000
MOST_RECORDS = 1_000_000
MOST_CLASS_COLUMNS = 20
MOST_FEATURES = 200
LARGEST_SEED = 2**32 - 1
"""The largest seed that scikit-learn accepts."""


class Classifier(StrEnum):
    """A method; naive Bayes is Gaussian for numbers and categorical for categories, the others are scikit-learn's."""

    LOGISTIC_REGRESSION = "LOGISTIC_REGRESSION"
    NAIVE_BAYES = "NAIVE_BAYES"
    DECISION_TREE = "DECISION_TREE"
    RANDOM_FOREST = "RANDOM_FOREST"


@dataclass(frozen=True, slots=True)
class ClassificationRequest:
    """How well classifiers that are trained on `release`, a number, predict each of the columns `classes`.

    No `features` means all quasi-identifiers. At most `max_records` records are looked at, drawn by the `seed`.
    `choose_inside_folds` chooses a transformation for each fold's training records instead of taking the released one.
    `publish` also writes the figures beside the release.
    """

    release: int | None
    classes: tuple[str, ...]
    features: tuple[str, ...] = ()
    classifiers: tuple[Classifier, ...] = tuple(Classifier)
    folds: int = DEFAULT_FOLDS
    seed: int = 0
    max_records: int = DEFAULT_MAX_RECORDS
    choose_inside_folds: bool = False
    publish: bool = False


def check_classification_request(request: ClassificationRequest) -> Iterator[Fault]:
    """Faults of a request by itself, with field paths as in the proto."""
    if request.release is None:
        yield Fault("release", "nothing", "the name of a release, such as releases/3")
    if not request.classes:
        hint = "Name what classifiers are to tell, such as a diagnosis: a sensitive or insensitive column."
        yield Fault("classes", "none", "at least one column", hint)
    seen: set[str] = set()
    for field, names, most in (
        ("classes", request.classes, MOST_CLASS_COLUMNS),
        ("features", request.features, MOST_FEATURES),
    ):
        if len(names) > most:
            yield Fault(field, f"{len(names)} of them", f"at most {most}")
        for i, name in enumerate(names):
            if not name:
                yield Fault(f"{field}[{i}]", "nothing", "the name of a column")
            elif name.casefold() in seen:
                hint = "A class is predicted from columns other than itself."
                yield Fault(f"{field}[{i}]", f"{shortened(name)} more than once", "each column once", hint)
            seen.add(name.casefold())
    for i, classifier in enumerate(request.classifiers):
        if classifier in request.classifiers[:i]:
            yield Fault(f"classifiers[{i}]", str(classifier), "each classifier once")
    if not 2 <= request.folds <= MOST_FOLDS:
        yield Fault("folds", str(request.folds), f"a number from 2 to {MOST_FOLDS}, or 0 for {DEFAULT_FOLDS}")
    if not 0 <= request.seed <= LARGEST_SEED:
        yield Fault("seed", str(request.seed), f"a number from 0 to {LARGEST_SEED}")
    if not 2 <= request.max_records <= MOST_RECORDS:
        expected = f"a number from 2 to {MOST_RECORDS}, or 0 for {DEFAULT_MAX_RECORDS}"
        yield Fault("max_records", str(request.max_records), expected)
