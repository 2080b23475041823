"""Section: which quality model's score best predicts the accuracy of classifiers trained on a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.classification.adult import CLASS, DATASET, QUASI_IDENTIFIERS, Adult, K
from benchmarks.markdown import table
from benchmarks.models import Models
from benchmarks.search.in_memory import problem_of
from benchmarks.section import Section, verdict
from tableveil.classification.cross_validation import Folds, Version, assign_folds, predicted
from tableveil.control import Control
from tableveil.lattice import Transformation
from tableveil.policy import (
    AmbiguityModel,
    AverageClassSizeModel,
    ClassificationModel,
    DiscernibilityModel,
    EntropyModel,
    HeightModel,
    KAnonymity,
    KLDivergenceModel,
    LossModel,
    PrecisionModel,
    QualityModel,
)
from tableveil.requests.classification import Classifier
from tableveil.search import Problem, exact

TITLE = "Classification: what quality models tell of classifiers"

OURS = "classification"

LENIENT = "classification, suppressed 0.25"
"""About the error of ZeroR, the best guess where nothing is known of a record: 1 - 0.751 of the records."""

MODELS: Mapping[str, QualityModel] = {
    OURS: ClassificationModel((CLASS,)),
    LENIENT: ClassificationModel((CLASS,), suppressed_penalty=0.25),
    "loss": LossModel(),
    "entropy": EntropyModel(),
    "precision": PrecisionModel(),
    "height": HeightModel(),
    "discernibility": DiscernibilityModel(),
    "average class size": AverageClassSizeModel(),
    "ambiguity": AmbiguityModel(),
    "KL divergence": KLDivergenceModel(),
}

LIMIT = Decimal("0.05")
"""The suppression limit of the reference cases."""

CLASSIFIERS = (Classifier.LOGISTIC_REGRESSION, Classifier.NAIVE_BAYES)
"""The first decides whether the goals are met."""

VALID = 300
"""The fewest transformations within the limit: the lattice is sampled until there are so many."""

FOLDS = 5
SEED = 0

WITHIN = 0.02
"""The tolerance of relative accuracy, below the best one found within the limit."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A transformation: how many records it suppresses, and its score by every model."""

    at: Transformation
    suppressed: int
    scores: Mapping[str, float]


def correlation(shared: Path) -> Section:
    """Draws transformations, scores them by every model and trains classifiers; says so if there is no data."""
    if not (shared / "data").is_dir():
        return Section(TITLE, (f"Skipped: there is no `{shared / 'data'}`.",))
    problems = {name: _problem(shared / "data", model) for name, model in MODELS.items()}
    drawn = _drawn(problems)
    at = {each.at: number for number, each in enumerate(drawn)}
    optima = {}
    for name, problem in problems.items():
        best = exact(problem, Control()).best
        assert best is not None, "the top suppresses nobody"
        if at.setdefault(best.transformation, len(drawn)) == len(drawn):
            drawn.append(_scored(problems, best.transformation))
        optima[name] = at[best.transformation]
    relative = _relative_accuracies(Adult.open(shared / "data"), list(at))
    within = np.array([each.suppressed <= problems[OURS].suppressible for each in drawn])
    everywhere = np.ones(len(drawn), np.bool_)
    rows, firsts = [], {}
    for name, optimum in optima.items():
        scores = np.array([each.scores[name] for each in drawn])
        coefficients = [_agreement(scores, relative, chosen) for chosen in (within, everywhere)]
        firsts[name] = coefficients[0][0]
        rows.append(
            [
                name,
                *(f"{coefficient:.3f}" for of_set in coefficients for coefficient in of_set),
                *(f"{accuracy:.3f}" for accuracy in relative[:, optimum]),
            ]
        )
    ahead = firsts[OURS] > max(first for name, first in firsts.items() if name not in (OURS, LENIENT))
    best, found = relative[0, within].max(), relative[0, optima[OURS]]
    near = found >= best * (1 - WITHIN)
    names = [classifier.replace("_", " ").lower() for classifier in CLASSIFIERS]
    headers = [
        "model",
        *(f"{name}, {where}" for where in ("within the limit", "all") for name in names),
        *(f"{name}, at the optimum" for name in names),
    ]
    return Section(
        TITLE,
        (
            f"{len(drawn)} of {problems[OURS].lattice.size:,} transformations of {DATASET}, k = {K}, drawn with a "
            f"fixed seed, and the optimum of every model at a suppression limit of {LIMIT:.0%}; "
            f"{np.count_nonzero(within)} are within that limit, so that a search chooses between them. Spearman's "
            f"correlation of the score, by which less is better, with the measured relative accuracy ({FOLDS} folds), "
            "so that 1 is a perfect model; and the relative accuracy of each model's optimum.",
            table(headers, sorted(rows, key=lambda row: -float(row[1]))),
            f"Within the limit, {OURS} is ahead of the others by {names[0]}: {verdict(ahead)}. Its optimum is within "
            f"{WITHIN:.0%} of the best relative accuracy found there ({found:.3f}, {best:.3f}): {verdict(near)}. The "
            f"best found at any suppression is {relative[0].max():.3f}, with "
            f"{drawn[int(relative[0].argmax())].suppressed:,} records suppressed.",
            "Beyond the limit the default score and the accuracy part: a suppressed record costs half a record that is "
            "told wrong, but a classifier loses little by not having been trained on it, and is evaluated on every "
            "record, suppressed or not. Where much may be suppressed, what ZeroR tells wrong is the better penalty.",
        ),
        sound=ahead and near,
    )


def _problem(data: Path, model: QualityModel) -> Problem:
    models = Models(privacy=(KAnonymity(K),), quality=model, suppression_limit=LIMIT)
    return problem_of(data, DATASET, QUASI_IDENTIFIERS, models)


def _drawn(problems: Mapping[str, Problem]) -> list[_Drawn]:
    """From all of the lattice, until enough are within the limit."""
    lattice = list(problems[OURS].lattice)
    drawn: list[_Drawn] = []
    missing = VALID
    for number in np.random.default_rng(SEED).permutation(len(lattice)):
        if missing == 0:
            break
        drawn.append(_scored(problems, lattice[number]))
        missing -= drawn[-1].suppressed <= problems[OURS].suppressible
    return drawn


def _scored(problems: Mapping[str, Problem], at: Transformation) -> _Drawn:
    classes = problems[OURS].counter.classes(at)
    kept = classes.counts >= K
    scores = {name: problem.quality.assess(at, classes, kept).score[0] for name, problem in problems.items()}
    return _Drawn(at, int(classes.counts[~kept].sum()), scores)


def _relative_accuracies(adult: Adult, transformations: Sequence[Transformation]) -> NDArray[np.float64]:
    """One row per classifier, one column per transformation."""
    folds = Folds(adult.classes, len(adult.labels), assign_folds(adult.classes, FOLDS, SEED))

    def accuracies(version: Version) -> NDArray[np.float64]:
        told = predicted(folds, lambda trained: version, CLASSIFIERS, SEED)
        return np.array([_accuracy(adult, told[classifier]) for classifier in CLASSIFIERS])

    baseline = _accuracy(adult, folds.baseline())
    finest = adult.values((0,) * len(adult.levels))
    original = accuracies(Version.of(finest, np.ones(len(adult.classes), np.bool_)))
    anonymized = np.array([accuracies(adult.released(at)) for at in transformations])
    relative: NDArray[np.float64] = (anonymized.T - baseline) / (original[:, None] - baseline)
    return relative


def _accuracy(adult: Adult, told: NDArray[np.float64]) -> float:
    return float((told.argmax(axis=1) == adult.classes).mean())


def _agreement(scores: NDArray[np.float64], relative: NDArray[np.float64], chosen: NDArray[np.bool_]) -> list[float]:
    """Per classifier, 1 if the lower score always has the higher accuracy."""
    return [float(-spearmanr(scores[chosen], of[chosen]).statistic) for of in relative]
