"""Checks the curve of what known rows tell, and the public facts: both counted again from the written tables."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session
from tableveil.policy import KAnonymity, KnownFacts, Policy
from tableveil.verification.text import quoted
from tableveil.verification.written import Written

_KNOWN = 5
_SAMPLE = 1000


def check_known_rows(
    session: Session, policy: Policy, source_people: int, written: Written, removed: Sequence[tuple[int, int]]
) -> list[str]:
    """Faults of the curve and of the facts, if these are told; it needs the tables of `check_related`."""
    problems = []
    k = max((model.k for model in policy.privacy_models if isinstance(model, KAnonymity)), default=1)
    if written.curve is not None:
        said = session.rows(
            f"SELECT known_rows, people, below_k, alone, sample FROM {quoted(*written.curve)} ORDER BY known_rows"
        )
        if said != _curve(session, k):
            problems.append("the table of known rows does not say what the rows say")
    return [*problems, *_check_facts(session, policy, source_people, written, removed, k)]


def _curve(session: Session, k: int) -> list[tuple[int, int, int, int, int]]:
    """Per number of known rows: people with so many, of how many of a sample fewer than k keys fit and one, its size.

    The sample has the least keys, which are random.
    """
    session.stage(
        "related_sizes",
        "SELECT person, any_value(key) AS key, sum(rows)::BIGINT AS rows "
        "FROM related_facts JOIN related_people USING (person) GROUP BY person",
    )
    numbers = range(1, _KNOWN + 1)
    counts = session.row(f"SELECT {', '.join(f'count(*) FILTER (rows >= {t})' for t in numbers)} FROM related_sizes")
    each = (f"(SELECT * FROM related_sizes WHERE rows >= {t} ORDER BY key LIMIT {_SAMPLE})" for t in numbers)
    session.stage(
        "related_sampled", f"SELECT row_number() OVER (ORDER BY key) - 1 AS place, * FROM ({' UNION '.join(each)})"
    )
    sizes = session.arrays("SELECT rows FROM related_sampled ORDER BY place")["rows"]
    fitting = _fitting(session, len(sizes))
    for name in ("sizes", "sampled"):
        session.execute(f"DROP TABLE temp.main.related_{name}")
    curve = []
    for t, people in zip(numbers, counts, strict=True):
        keys = fitting[np.flatnonzero(sizes >= t)[:_SAMPLE], t - 1]
        curve.append((t, people, int((keys < k).sum()), int((keys == 1).sum()), len(keys)))
    return curve


def _fitting(session: Session, sampled: int) -> NDArray[np.int64]:
    """How many keys of their class fit the first row, the first two rows, … of each sampled person.

    A row needs as many rows of its label as there are up to it. Rows are in the order of digests.
    """
    session.stage(
        "related_needs",
        "SELECT *, count(*) OVER (PARTITION BY place, label ORDER BY i) AS least, "
        "dense_rank() OVER (ORDER BY class, label) - 1 AS fact FROM ("
        "SELECT *, row_number() OVER (PARTITION BY place ORDER BY md5(concat(key, ' ', nr, ' ', own))) - 1 AS i FROM ("
        "SELECT p.place, p.key, r.nr, r.class, r.label, "
        "row_number() OVER (PARTITION BY r.nr, r.person ORDER BY r.place) - 1 AS own "
        f"FROM related_rows AS r JOIN related_sampled AS p USING (person))) QUALIFY i < {_KNOWN}",
    )
    needs = session.arrays("SELECT place, fact, least FROM related_needs ORDER BY place, i")
    facts = session.arrays(
        "SELECT fact::INTEGER AS fact, p.place AS person, rows FROM related_facts "
        "JOIN (SELECT DISTINCT class, label, fact FROM related_needs) USING (class, label) "
        "JOIN related_people AS p USING (person) ORDER BY fact"
    )
    session.execute("DROP TABLE temp.main.related_needs")
    starts = np.searchsorted(facts["fact"], np.arange(needs["fact"].max(initial=-1) + 2))
    has = np.zeros(facts["person"].max(initial=-1) + 1, np.bool_)
    fitting = np.zeros((sampled, _KNOWN), np.int64)
    i, before = 0, -1
    for place, fact, least in zip(needs["place"], needs["fact"], needs["least"], strict=True):
        of = slice(starts[fact], starts[fact + 1])
        people = facts["person"][of][facts["rows"][of] >= least]
        if place != before:
            i, before, left = 0, place, people
        else:
            has[people] = True
            left = left[has[left]]
            has[people] = False
            i += 1
        fitting[place, i] = len(left)
    return fitting


# --- facts ----------------------------------------------------------------------------------------------------------


def _check_facts(
    session: Session, policy: Policy, source_people: int, written: Written, removed: Sequence[tuple[int, int]], k: int
) -> list[str]:
    related = policy.related
    assert related is not None, "the facts are of related tables"
    if not policy.release.label_columns:
        return []
    m = max((model.m for model in policy.privacy_models if isinstance(model, KnownFacts)), default=0)
    time = related.relative_time
    facts: dict[str, str] = dict(
        session.rows(f"SELECT fact, value FROM {quoted(*written.rows[:2], policy.release.about_name)}")
    )
    expected = {
        "known_facts": str(m),
        "suppressed_people": str(source_people - session.value("SELECT count(*) FROM related_people")),
        **({} if time is None else {"relative_time": time.column or str(time.anchor)}),
    }
    wrong = [fact for fact, value in expected.items() if facts.get(fact) != value]
    problems = [f"the fact {fact} is not what the rows say" for fact in wrong]
    for nr, ((_, gone), events) in enumerate(zip(removed, written.events, strict=True)):
        if not _is_true(session, facts.get(f"removed_rows {events.name}"), nr, gone, k):
            problems.append("the number of removed rows is not what the rows say, or is of fewer people than k")
    return problems


def _is_true(session: Session, told: str | None, nr: int, gone: int, k: int) -> bool:
    """Whether a number of removed rows may be told so: people who lost rows are only known to be so many at least."""
    if told is None or gone == 0 or told.isdecimal():
        return told == str(gone) and (gone == 0 or gone >= k)
    counted = "SELECT class, label, count(DISTINCT person) AS people FROM"
    losers: int = session.value(
        "SELECT coalesce(sum(lost), 0)::BIGINT FROM (SELECT class, max(s.people - coalesce(w.people, 0)) AS lost "
        f"FROM ({counted} related_source_rows WHERE nr = {nr} GROUP BY ALL) AS s "
        f"LEFT JOIN ({counted} related_rows WHERE nr = {nr} GROUP BY ALL) AS w USING (class, label) GROUP BY class)"
    )
    return told == f"of fewer than {k} people" and losers < k
