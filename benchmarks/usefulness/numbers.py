"""Section: what an analyst gets by full-domain generalization, local recoding and microaggregation."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from benchmarks.section import Section
from benchmarks.usefulness.measures import accuracies, correlations_kept, erased, queries_answered
from benchmarks.usefulness.methods import SUPPRESSION_LIMIT, K, Read, releases
from benchmarks.usefulness.subjects import Subject, subjects

SECONDS = 20.0
"""Seconds of local recoding, on every table."""


def usefulness(shared: Path) -> Section:
    """Measures all releases of all tables."""
    rows = [row for subject in subjects(shared) for row in _rows(subject)]
    return Section(
        "The use of releases to an analyst",
        (
            f"k = {K}, at most {SUPPRESSION_LIMIT:.0%} suppressed, loss. Local recoding has {SECONDS:.0f} seconds.",
            table(
                ("table", "method", "queries", "correlations", "naive Bayes", "regression", "erased", "suppressed"),
                rows,
            ),
        ),
    )


def _rows(subject: Subject) -> Iterator[list[str]]:
    identity = tuple(np.eye(len(attribute.groups[0])) for attribute in subject.levels)
    source = Read(subject.codes, np.ones(len(subject.codes), np.bool_), identity)
    name = subject.name
    for method, read in (("the source", source), *releases(subject, SECONDS)):
        bayes, regression = accuracies(subject, read)
        yield [
            name,
            method,
            f"{queries_answered(subject, read):.0%}",
            f"{correlations_kept(subject, read):.0%}",
            f"{bayes:.1%}",
            f"{regression:.1%}",
            f"{erased(subject, read)} of {subject.codes.shape[1]}",
            f"{1 - read.kept.mean():.1%}",
        ]
        name = ""
