"""Chooses a transformation for the training records of a fold alone, by the policy of the release."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, column, table
from tableveil.classification.model import Chosen
from tableveil.errors import InfeasibleError
from tableveil.features.columns import Sample, draw_sample
from tableveil.features.paired import Paired, pair
from tableveil.pipelines.assessed_release import Assessed, check_unchanged, count_again
from tableveil.pipelines.full_domain import chosen_plan
from tableveil.pipelines.work import JobContext, JobReport
from tableveil.policy import TableReference
from tableveil.source import Source

TRAINING = "training_records"


@dataclass(frozen=True, slots=True, eq=False)
class ChosenInside:
    """Given the training records, it searches among them as a job does among all.

    `paired` are the sampled records with their release, `most` and `seed` the parameters of the sample.
    """

    job: JobContext
    assessed: Assessed
    paired: Paired
    most: int
    seed: int

    def __call__(self, training: NDArray[np.bool_]) -> Chosen:
        """Per feature how every record would be released, and which of the training records are kept.

        Raises:
            InfeasibleError: no transformation of the training records meets the policy.
        """
        # A session of its own: temporary tables of dictionaries have fixed names.
        with self.job.database.session() as session:
            session.control = self.job.control
            with session.transaction():
                check_unchanged(session, self.assessed)
                sample = draw_sample(session, self.assessed.source, self.most, self.seed)
                source = _training_source(session, sample, training)
                try:
                    counted = count_again(session, self.assessed, source, self.assessed.policy)
                except InfeasibleError:
                    raise _infeasible() from None
            try:
                plan = chosen_plan(replace(self.job, session=session, report=JobReport()), counted)
            except InfeasibleError:
                raise _infeasible() from None
            chosen = pair(session, plan, sample, ())
            released = tuple(
                chosen.feature(name).released
                if chosen.aggregates(name)
                else self.paired.released_at(name, plan.transformation)
                for name in self.assessed.features
            )
            return released, chosen.kept & training


def _training_source(session: Session, sample: Sample, training: NDArray[np.bool_]) -> Source:
    """The records of the mask as a table of their own, which replaces the source."""
    columns = [column(source_column.name, "source") for source_column in sample.source.columns]
    with session.relation("trained_on", pa.table({"trained": np.flatnonzero(training)})):
        same = exp.EQ(this=column(sample.position, "source"), expression=column("trained", "t"))
        query = exp.select(*columns).from_(sample.table()).join(table("trained_on", alias="t"), on=same)
        session.stage(TRAINING, query)
    return replace(sample.source, reference=TableReference("temp", "main", TRAINING), subset="", query=None)


def _infeasible() -> InfeasibleError:
    return InfeasibleError.of(
        "FOLD_INFEASIBLE",
        "choose_inside_folds",
        "a fold for whose training records no transformation meets the policy of the release",
        "one for every fold",
        "Ask without it, for more folds, or for more records.",
    )
