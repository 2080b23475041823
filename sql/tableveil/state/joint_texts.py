"""Texts of jobs that depend on other releases than the job's own: only readers of all of these are told."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tableveil.backend import Ledger, Visibility
from tableveil.errors import Warned
from tableveil.privacy.guarantees import Guarantee
from tableveil.state.mapper import Table
from tableveil.state.seen import UNHIDDEN, Condition, either, evidence, reviewed

WHOLE = ""
"""Stands for all evidence of a release: it was judged together with others, so that each figure depends on them."""

LEFT_OUT = Warned(
    "It was judged together with other releases, of which you may not see all: its figures and warnings are left out."
)


@dataclass(frozen=True, slots=True)
class JointText:
    """A warning, a refusal, the name of a measure, or `WHOLE`; and the `releases` that it depends on."""

    text: str
    releases: tuple[int, ...]


_HIDDEN = "NOT coalesce(list_has_all(numbers, releases), false)"
"""The condition for texts of which not all releases are among those told."""

_TEXTS = Table("joint_texts", JointText, "job")


def insert(ledger: Ledger, job: int, texts: Sequence[JointText]) -> None:
    """Keeps the texts of a job; call it in the transaction that stores them."""
    _TEXTS.insert(ledger, texts, job)


def forget(ledger: Ledger, job: int) -> None:
    """Deletes the texts of a job that is deleted; call it in a transaction."""
    ledger.execute("DELETE FROM tableveil.joint_texts WHERE job = ?", [job])


def hidden(ledger: Ledger, jobs: Collection[int]) -> defaultdict[int, set[str]]:
    """The texts of each job that the ledger's reader is not told."""
    by_job: defaultdict[int, set[str]] = defaultdict(set)
    seen, values = either(evidence(ledger.visibility), reviewed(ledger.visibility))
    if (seen, values) == UNHIDDEN:
        return by_job
    rows = ledger.rows(
        f"WITH told AS MATERIALIZED (SELECT number FROM tableveil.releases WHERE {seen}), asked AS (SELECT job, text, "
        "unnest(releases) AS number FROM tableveil.joint_texts WHERE list_contains(?::BIGINT[], job)) "
        "SELECT DISTINCT job, text FROM asked ANTI JOIN told USING (number)",
        [*values, list(jobs)],
    )
    for job, text in rows:
        by_job[job].add(text)
    return by_job


def judged_with_seen(visibility: Visibility) -> Condition:
    """Results of jobs, but of those whose evidence as a whole depends on releases that are not all seen."""
    seen, values = either(evidence(visibility), reviewed(visibility))
    if (seen, values) == UNHIDDEN:
        return UNHIDDEN
    others = f"WITH {_told(seen)} SELECT job FROM tableveil.joint_texts, told WHERE text = '{WHOLE}' AND {_HIDDEN}"
    return f"job NOT IN ({others})", values


def _told(seen: str) -> str:
    return f"told AS MATERIALIZED (SELECT list(number) AS numbers FROM tableveil.releases WHERE {seen})"


def shown(texts: Sequence[Warned], hiding: Collection[str]) -> tuple[Warned, ...]:
    """The warnings that are not hidden."""
    return (LEFT_OUT,) if WHOLE in hiding else tuple(text for text in texts if text not in hiding)


def reached(guarantees: Sequence[Guarantee], hiding: Collection[str]) -> tuple[Guarantee, ...]:
    """The measures that are not hidden."""
    return () if WHOLE in hiding else tuple(one for one in guarantees if one.model not in hiding)
