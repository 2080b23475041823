"""The curve: of how many people few keys fit, to somebody who knows one to five of their released rows.

It follows from the released rows alone. Among the people with so many rows, those of the first keys are looked at:
keys are random. A digest of the key orders a person's rows, and the first ones are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, cast, column, create_from, render, table
from tableveil.dictionary import value_texts

if TYPE_CHECKING:
    from tableveil.release.plan import ReleasePlan
    from tableveil.release.related import EventRelease, RelatedRelease

Ints = NDArray[np.int32]

MOST_KNOWN = 5
SAMPLE = 1_000
"""The most people that are looked at per number of known rows."""

_SAMPLE = "known_people"


def write_known_rows(session: Session, plan: ReleasePlan, related: RelatedRelease, target: exp.Table) -> int:
    """Creates the table of the curve and returns its number of rows; the rows are written."""
    facts, people = related.facts, len(related.class_of)
    rows = np.bincount(facts.people, facts.counts, people)
    words = np.frombuffer(related.keys, ">u8").reshape(-1, 2)
    ordered = np.lexsort((words[:, 1], words[:, 0]))
    samples = []
    for known in range(1, MOST_KNOWN + 1):
        enough = ordered[rows[ordered] >= known]
        samples.append(enough[:SAMPLE])
    wanted = np.unique(np.concatenate(samples))
    labels = _known(session, plan, related, wanted)
    fits = _fits(related, labels)
    table_rows = []
    for known, sample in enumerate(samples, 1):
        found = [fits[person][known - 1] for person in sample.tolist()]
        below, alone = sum(number < related.k for number in found), sum(number == 1 for number in found)
        table_rows.append((known, int((rows >= known).sum()), below, alone, len(sample)))
    names = ("known_rows", "people", "below_k", "alone", "sample")
    data = pa.table({name: pa.array([row[i] for row in table_rows], pa.int64()) for i, name in enumerate(names)})
    return create_from(session, target, data)


def _known(
    session: Session, plan: ReleasePlan, related: RelatedRelease, wanted: NDArray[np.intp]
) -> dict[int, list[int]]:
    """The labels of the known rows of each of these people, in their order."""
    sample = pa.table({"p": pa.array(wanted, pa.int32()), "key": related.uuids(wanted)})
    known = dict[int, list[int]]()
    session.keep(_SAMPLE, sample)
    queries = []
    target, key = plan.policy.release, render(column(related.key, "r"))
    for i, events in enumerate(related.events):
        name = table(target.event_name(events.name), target.schema, plan.source.reference.catalog)
        columns = [render(cast(column(d.column.name, "r"), "VARCHAR")) for d in events.plan.dictionaries]
        queries.append(
            f"SELECT s.p, {i} AS event, s.key, row_number() OVER (PARTITION BY s.p ORDER BY r.rowid) - 1 AS place, "
            f"[{', '.join(columns)}] AS labels FROM {render(name)} AS r JOIN {_SAMPLE} AS s ON s.key = {key}"
        )
    rows = session.rows(
        f"SELECT p, event, labels FROM ({' UNION ALL '.join(queries)}) QUALIFY row_number() OVER (PARTITION BY p "
        f"ORDER BY md5(concat(key::VARCHAR, ' ', event, ' ', place))) <= {MOST_KNOWN} "
        "ORDER BY p, md5(concat(key::VARCHAR, ' ', event, ' ', place))"
    )
    session.execute(f"DROP TABLE {_SAMPLE}")
    numbers = [_numbers(session, events) for events in related.events]
    for person, event, texts in rows:
        known.setdefault(person, []).append(numbers[event][tuple(texts)])
    return known


def _numbers(session: Session, events: EventRelease) -> Mapping[tuple[str | None, ...], int]:
    """The number of each label among all, by the texts of its columns."""
    plan, texts = events.plan, list[list[str | None]]()
    own = value_texts(session, [d for d, at in zip(plan.dictionaries, plan.transformation, strict=True) if not at])
    for dictionary, level in zip(plan.dictionaries, plan.transformation, strict=True):
        texts.append([*dictionary.levels.labels[level - 1]] if level else own.pop(0))
    groups = [plan.classes.groups(j).tolist() for j, _ in enumerate(plan.dictionaries)]
    each = ([of[group] for of, group in zip(texts, label, strict=True)] for label in zip(*groups, strict=True))
    return {tuple(label): number for label, number in zip(each, events.labels.tolist(), strict=True)}


def _fits(related: RelatedRelease, known: Mapping[int, list[int]]) -> dict[int, list[int]]:
    """Per person, how many keys of the class fit the first one, two, … of the known rows."""
    facts, class_of = related.facts, related.class_of
    number = int(facts.labels.max(initial=-1)) + 1
    keys = class_of[facts.people].astype(np.int64) * number + facts.labels
    order = np.argsort(keys, kind="stable")
    keys, owners, counts = keys[order], facts.people[order], facts.counts[order]
    mark = np.zeros(len(class_of), np.int64)
    fits, token = dict[int, list[int]](), 0
    for person, labels in known.items():
        found, left = list[int](), None
        for i, label in enumerate(labels):
            wanted = class_of[person].astype(np.int64) * number + label
            begin, end = np.searchsorted(keys, [wanted, wanted + 1])
            have = owners[begin:end][counts[begin:end] >= labels[: i + 1].count(label)]
            token += 1
            mark[have] = token
            left = have if left is None else left[mark[left] == token]
            found.append(len(left))
        fits[person] = found
    return fits
