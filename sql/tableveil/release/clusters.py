"""Releases of clusters, in which aggregates replace the values of all quasi-identifiers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, column, expression, row_hash, sql, table
from tableveil.counting.base import joined_value
from tableveil.dictionary import AggregatedDictionary, PeopleDictionary, SensitiveDictionary
from tableveil.lattice import Transformation
from tableveil.release.aggregated import aggregate_of, stage_aggregates
from tableveil.release.joined import value_of
from tableveil.release.plan import Aggregated, CodedRows, Codes, LabelledClasses, ReleasePlan
from tableveil.verification.written import AGGREGATES, MEMBERS


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members of each cluster.

    Entry i: `counts[i]` records with the code `codes[j][i]` of each aggregated column j, and `sensitive[s][i]` of each
    of the sensitive columns `by`, are in the class `classes[i]`, its position among the plan's. Where people have
    several records, these are the last of `by`. The writer chooses among records with equal codes; the choice must not
    depend on their order in the source.
    """

    by: tuple[SensitiveDictionary | PeopleDictionary, ...]
    codes: tuple[Codes, ...]
    sensitive: tuple[Codes, ...]
    classes: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters with their members: the plan's classes, keyed by their number, of which all are kept. See `Recoding`."""

    aggregates: Aggregated
    members: Members
    transformation: Transformation = ()
    same_labels: bool = False

    @property
    def by(self) -> tuple[SensitiveDictionary | PeopleDictionary, ...] | None:
        """The columns of the members."""
        return self.members.by

    def records_at(self, attribute: int) -> tuple[tuple[int, int], ...]:
        """None: no column has levels."""
        return ()

    def labelled(self, session: WarehouseSession, plan: ReleasePlan) -> LabelledClasses:
        """The clusters: no column has labels."""
        return LabelledClasses(plan.classes.counts, (), ())

    def stage(self, session: WarehouseSession, plan: ReleasePlan) -> None:
        """The members of clusters, and their aggregates."""
        _stage_members(session.embedded, self.members)
        _stage_aggregates(session.embedded, plan)

    def rows(self, session: WarehouseSession, plan: ReleasePlan) -> exp.Select:
        """The members of clusters."""
        query, values = self._rows(session, plan)
        for dictionary in plan.aggregated_columns:
            values[dictionary.column.name] = aggregate_of(plan, dictionary)
        return query.select(*(alias(values[released.name], released.name) for released in plan.columns()))

    def suppressed(self, plan: ReleasePlan) -> exp.Select:
        """None: all clusters are kept."""
        return exp.select().from_(plan.source.table("source")).where(exp.false())

    def numbered(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr] | None:
        """None: records with equal values may be in different clusters."""
        return None

    def coded(self, session: WarehouseSession, plan: ReleasePlan) -> CodedRows:
        """Members alone."""
        query, unchanged = self._rows(session, plan)
        own = {of.column.name: column(f"c{i}", "rows") for i, of in enumerate(plan.aggregated_columns)}
        last = len(own) + len(self.members.by) - 1
        person = column(f"c{last}", "rows") if plan.people is not None else None
        return CodedRows(query, row_hash(column("class", MEMBERS)), own, person, hashed=True, values=unchanged)

    def classes_of(self, plan: ReleasePlan, generalized: Sequence[Codes], others: Sequence[Codes]) -> NDArray[np.intp]:
        """Records with equal codes are divided among the clusters with such records, in the source's proportions."""
        return clusters_of(self.members, others)

    def _rows(self, session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, dict[str, exp.Expr]]:
        """The rows without a select list yet, and by name the columns that are released unchanged."""
        own = [released for released in plan.columns() if not released.recognizes]
        labels = [value_of(released) for released in own]
        query = _member_rows(plan, self.members, labels, _split(session.embedded))
        return query, {released.name: column(f"v{i}", "rows") for i, released in enumerate(own)}


def alike(session: Session, plan: ReleasePlan) -> NDArray[np.intp]:
    """Per cluster of a plan the number, from 0, of the class that it forms with all whose released values are equal."""
    _stage_aggregates(session, plan)
    columns = ", ".join(f"a{j}" for j, _ in enumerate(plan.aggregated_columns))
    place = f"dense_rank() OVER (ORDER BY {columns}) AS place"
    arrays = session.arrays(sql(f"SELECT {place} FROM {AGGREGATES} ORDER BY class"))
    session.forget(AGGREGATES)
    return arrays["place"].astype(np.intp) - 1


def clusters_of(members: Members, codes: Sequence[Codes]) -> NDArray[np.intp]:
    """Per record the cluster it is in, -1 if it was set aside.

    Records with equal codes are divided among the clusters with such records, in their order, in the source's
    proportions.
    """
    entries = np.stack([*members.codes, *members.sensitive], axis=1)
    inside = np.all([code != -1 for code in codes], axis=0)
    keys = np.concatenate([entries, np.stack(codes, axis=1)[inside]])
    _, key = np.unique(keys, axis=0, return_inverse=True)
    of_entry, of_record = np.split(key.reshape(-1), [len(entries)])
    sorted_entries = np.lexsort((members.classes, of_entry))
    ends = np.cumsum(members.counts[sorted_entries])
    total = np.bincount(of_entry, members.counts, minlength=len(np.unique(key)))
    sampled = np.bincount(of_record, minlength=len(total))
    first = np.cumsum(total) - total
    by_key = np.argsort(of_record, kind="stable")
    rank = np.empty(len(of_record))
    rank[by_key] = np.arange(len(of_record)) - (np.cumsum(sampled) - sampled)[of_record[by_key]]
    place = first[of_record] + (rank + 0.5) * total[of_record] / sampled[of_record]
    filled = np.full(len(inside), -1, np.intp)
    filled[inside] = members.classes[sorted_entries[np.searchsorted(ends, place, side="right")]]
    return filled


def _stage_aggregates(session: Session, plan: ReleasePlan) -> None:
    stage_aggregates(session, plan, {"class": pa.array(np.flatnonzero(plan.kept))})


def _stage_members(session: Session, members: Members) -> None:
    codes = (*members.codes, *members.sensitive)
    order = np.lexsort((members.classes, *reversed(codes)))
    sorted_codes = [of[order] for of in codes]
    counts = members.counts[order]
    last = np.cumsum(counts)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([of[1:] != of[:-1] for of in sorted_codes], axis=0)
    # Each combination of codes numbers its records from the beginning.
    before = (last - counts)[new]
    last -= np.repeat(before, np.diff(np.append(np.flatnonzero(new), len(order))))
    columns = {f"c{i}": pa.array(of) for i, of in enumerate(sorted_codes)}
    columns |= {"first": pa.array(last - counts + 1), "last": pa.array(last), "class": pa.array(members.classes[order])}
    session.keep(MEMBERS, pa.table(columns))


def _split(session: Session) -> bool:
    """Whether any records with equal codes are in different classes."""
    return bool(session.value(sql(f"SELECT EXISTS(SELECT 1 FROM {MEMBERS} WHERE first > 1)")))


def _member_rows(plan: ReleasePlan, members: Members, released: Sequence[exp.Expr], numbered: bool) -> exp.Select:
    """The rows of the source, joined to the aggregates of their classes; `released` are their own columns, by position.

    These are named `v0`, `v1`, … of the alias `rows`. If `numbered`, these columns order records with equal codes, and
    never their place in the source: records that are equal in all of them are equal in the release.
    """
    query = exp.select().from_(plan.source.table("source"))
    codes = []
    for i, dictionary in enumerate(_joined(plan, members)):
        query, code = joined_value(query, dictionary, "source", f"d{i}")
        codes.append(alias(code, f"c{i}"))
    own = [alias(value, f"v{i}") for i, value in enumerate(released)]
    rows, names = query.select(*codes, *own), [f"c{i}" for i, _ in enumerate(codes)]
    same = [f"rows.{name} = {MEMBERS}.{name}" for name in names]
    if numbered:
        order = f"ORDER BY {', '.join(f'v{i}' for i, _ in enumerate(own))}" if own else ""
        place = f"row_number() OVER (PARTITION BY {', '.join(names)} {order}) AS place"
        rows = sql(f"SELECT *, {place} FROM $rows", rows=rows.subquery("unnumbered"))
        same.append(f"rows.place >= {MEMBERS}.first")
    # Records are equal in many clusters, of which only the last that begins by then is compared.
    joined = exp.select().from_(rows.subquery("rows"))
    joined = joined.join(table(MEMBERS), on=expression(" AND ".join(same)), join_type="ASOF" if numbered else "")
    if numbered:
        joined = joined.where(expression(f"rows.place <= {MEMBERS}.last"))
    return joined.join(table(AGGREGATES), on=expression(f"{MEMBERS}.class = {AGGREGATES}.class"))


def _joined(
    plan: ReleasePlan, members: Members
) -> Iterator[AggregatedDictionary | SensitiveDictionary | PeopleDictionary]:
    yield from plan.aggregated_columns
    yield from members.by
