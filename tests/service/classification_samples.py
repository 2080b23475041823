"""A classifier assessment as the store has it, for tests of what is made of one."""

from datetime import datetime

from tableveil.classification.model import Assessment, ClassifierComparison, ClassMeasures, Measures
from tableveil.policy import TableReference
from tableveil.requests.classification import Classifier
from tableveil.state.classifications import Classification

REQUEST = '{"classes":["i\\"ll"],"folds":5,"release":"releases/3"}'


def measures(
    accuracy: float, curve: tuple[tuple[float, float], ...] = ((0.0, 0.0), (0.25, 0.5), (1.0, 1.0))
) -> Measures:
    return Measures(
        accuracy=accuracy,
        brier=1 - accuracy,
        confusion=((5, 7), (2**40, 3)),
        classes=(ClassMeasures("no", 0.5, 0.25, 0.625, curve), ClassMeasures("ye\x1bs", None, 0.75, None, ())),
    )


def classification(number: int = 2, job: int = 4) -> Classification:
    return Classification(
        number=number,
        job=job,
        created_at=datetime(2024, 2, 29, 12, 30, 15, 123456),
        release=3,
        source=TableReference("clinic", "main", 'it"s; a table'),
        source_fingerprint="abc",
        records=2**40,
        sampled_records=50_000,
        suppressed_records=12,
        folds=5,
        published="",
        seconds=1.5,
        warnings=("é", "w"),
        request=REQUEST,
        assessments=(
            Assessment(
                class_column='i"ll',
                features=("age", 'z"ip'),
                class_labels=("no", "ye\x1bs"),
                records=50_000,
                folds=5,
                baseline=measures(0.5),
                comparisons=(
                    ClassifierComparison(Classifier.NAIVE_BAYES, measures(0.75), measures(0.625), 0.5),
                    ClassifierComparison(Classifier.RANDOM_FOREST, measures(0.5), measures(0.25), None),
                ),
            ),
            Assessment("other", ("age",), ("no", "ye\x1bs"), 50_000, 5, measures(0.25), ()),
        ),
    )
