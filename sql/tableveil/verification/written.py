"""A written release as the verification judges it, and its facts from the plan: the places and names of everything."""

from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.backend import WarehouseSession
from tableveil.hierarchy import InlineLevels, ValueKind
from tableveil.policy import Policy
from tableveil.source.sketch import Sketch
from tableveil.verification.text import Name, quoted, spelled

OWN_LEVELS = "own_levels"
"""The temporary table of levels: codes `c0`, `c1`, … of released combinations and their levels `l0`, `l1`, …."""

AGGREGATES = "class_aggregates"
"""The temporary table of the released classes' aggregates: `a0`, `a1`, … of the aggregated columns in policy order.

The words `w0`, `w1`, … of its key identify a class, or, if the plan lists its members, its `class`.
"""

MEMBERS = "class_members"
"""The temporary table of the members of each `class`.

A class has, of the records with the codes `c0`, `c1`, …, those from number `first` to `last`; all their other released
values order them, from 1.
"""


@dataclass(frozen=True, slots=True)
class ClassColumns:
    """Names of the columns of the table of classes that are not quasi-identifiers.

    `id` is empty if there are no class ids. `diversity` has per sensitive column its name and those of the columns for
    its distinct values and its entropy.
    """

    id: str
    size: str
    risk: str
    diversity: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """The table that lists the possible labels of a column: `columns` from level 0, the values, to the top.

    The column is released at `level`; at the record level that is the highest of its `levels`, and its `position` is
    that among the policy's quasi-identifiers. `withholds` if the policy suppresses its NULLs; `hierarchy` is the
    evidence's name of the labels' hierarchy, and `unstored` has its rows in the game of a dry run, which stores none.
    """

    column: str
    table: str
    columns: tuple[str, ...]
    level: int = 0
    withholds: bool = False
    hierarchy: str = ""
    levels: tuple[int, ...] = ()
    position: int = 0
    unstored: InlineLevels | None = None

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.columns) - 1


@dataclass(frozen=True, slots=True)
class WrittenAggregate:
    """An aggregated column of a `kind`: the `table` of the `value` of each `code`, and its hierarchy's labels."""

    column: str
    kind: ValueKind
    table: str
    labels: Labels | None = None


@dataclass(frozen=True, slots=True)
class CompanionColumns:
    """The columns beside a column of labels; `bounds` is the kind and `type` the type of the bounds, if it has any.

    `range` has the ends that close labels with open ends, but for `listed` values, as literals.
    """

    column: str
    low: str
    high: str
    rank: str
    bounds: ValueKind | None
    type: str
    range: tuple[str, str] | None = None
    listed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenEvents:
    """The event table `name` of related tables, written as `rows` from the table `source`.

    `types` are the expected types of its columns, in order, the key's among them. `source_types` are those of the
    source's columns; a date that becomes days since an anchor has the type of these days there. `labels` are its
    quasi-identifiers' in policy order, `companions` the columns beside them, and `explained` is its table of labels.
    """

    name: str
    source: Name
    rows: Name
    types: tuple[tuple[str, str], ...]
    source_types: tuple[tuple[str, str], ...]
    labels: tuple[Labels, ...]
    companions: tuple[CompanionColumns, ...] = ()
    explained: Name | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The objects to check.

    `release` is the number of the stored evidence, 0 in a dry run; `source` is the table, or the job's copy of a
    query's rows, and `subset` its column that is true for the records, if not all are. `kept` is the number of records
    that the search kept; `types` are the expected types of the rows' columns, in order; `source_types` are those of the
    source's columns. `labels` are the quasi-identifiers', `sensitive` those of the sensitive columns that models look
    at. `score` is the search's score of the release, if it is to be recomputed, and `largest_share` the largest that
    one person has of a released class, if people have several records. Records with a NULL in a `complete` column were
    set aside. `aggregated` has the aggregated columns in policy order; `members` names the sensitive columns, with
    tables of their values and codes, that helped to identify the members of clusters; None if there are no clusters.
    `people` is such a table of the people, who come last among these, if some of them have several records.
    `companions` are the columns beside labels, `explained` is the table of labels; `class_id` names the rows' class
    ids, if they have any. `person` is the source's column of people, if some of them have several records, and `record`
    that of records, if the policy names it. It was judged `together_with` the earlier releases of these numbers, and
    the `sketch` will recognize its people. `estimated` are the tables of estimates, by all assumptions. If its rows are
    people with events, `events` has their tables in policy order, and `curve` is the table of what known rows tell.
    """

    release: int
    source: Name
    subset: str
    rows: Name
    classes: Name
    risk: Name
    risk_histogram: Name
    kept: int
    types: tuple[tuple[str, str], ...]
    source_types: tuple[tuple[str, str], ...]
    labels: tuple[Labels, ...]
    sensitive: tuple[Labels, ...]
    class_columns: ClassColumns
    score: float | None = None
    largest_share: float | None = None
    complete: tuple[str, ...] = ()
    aggregated: tuple[WrittenAggregate, ...] = ()
    members: tuple[tuple[str, str], ...] | None = None
    people: str = ""
    companions: tuple[CompanionColumns, ...] = ()
    explained: Name | None = None
    class_id: str = ""
    person: str = ""
    record: str = ""
    together_with: tuple[int, ...] = ()
    sketch: Sketch | None = None
    estimated: tuple[Name, ...] = ()
    events: tuple[WrittenEvents, ...] = ()
    curve: Name | None = None

    def class_labels(self, policy: Policy) -> list[str]:
        """The quasi-identifiers of the policy, in the order of the rows' columns."""
        names = {attribute.column for attribute in policy.recognizing}
        return [name for name, _ in self.types if name in names]

    @property
    def identifying(self) -> list[tuple[str, str]]:
        """The columns that identify the members of clusters, with the tables of their values and codes.

        Aggregated columns come first, then sensitive ones, then that of people, if some have several records.
        """
        people = [(self.person, self.people)] if self.people else []
        return [*((aggregate.column, aggregate.table) for aggregate in self.aggregated), *(self.members or ()), *people]

    @property
    def added(self) -> tuple[str, ...]:
        """The rows' columns that say something of a record's labels."""
        names = (name for of in self.companions for name in (of.low, of.high, of.rank)[2 * (of.bounds is None) :])
        return (*names, self.class_id) if self.class_id else tuple(names)

    @property
    def source_rows(self) -> str:
        """The source's records in a FROM clause, without those set aside."""
        conditions = [quoted(self.subset)] if self.subset else []
        conditions += [f"{quoted(name)} IS NOT NULL" for name in self.complete]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"(SELECT * FROM {quoted(*self.source)}{where})"

    @property
    def owned_classes(self) -> str:
        """For a FROM clause: per `class` of `judged_classes` its `size`, `people`, and the `most` records of one."""
        # Without repeating people every record is another person.
        return "owned" if self.person else "(SELECT class, size, size AS people, 1 AS most FROM judged_classes)"

    def released_labels(self, of: str) -> tuple[list[str], str, str]:
        """The labels `q0`, `q1`, … at the released levels of rows under the alias `of`, with the joins and a condition.

        The rows have the source's columns, of any types.
        """
        types = dict(self.source_types)
        labels, joins, conditions = [], [], ["TRUE"]
        for j, label_table in enumerate(self.labels):
            value = f"TRY_CAST({of}.{quoted(label_table.column)} AS {types[label_table.column]})"
            if label_table.level:
                joins.append(f"JOIN {quoted(label_table.table)} AS d{j} ON d{j}.value IS NOT DISTINCT FROM {value}")
                labels.append(f"{self.label(label_table, label_table.level, f'd{j}')} AS q{j}")
            else:
                labels.append(f"{self.shown(label_table.column, value)} AS q{j}")
            if label_table.withholds:
                conditions.append(f"{of}.{quoted(label_table.column)} IS NOT NULL")
        return labels, " ".join(joins), " AND ".join(conditions)

    def type_of(self, column: str) -> str:
        """The type of a column of the rows."""
        return dict(self.types)[column]

    def label(self, labels: Labels, level: int, of: str) -> str:
        """A label in its released type; `of` is the alias of the table of labels."""
        label = f"{of}.{quoted(labels.columns[level])}"
        return self.shown(labels.column, label) if level == 0 and level == labels.level else label

    def shown(self, column: str, value: str) -> str:
        """A value of the source as the rows show it."""
        return f"CAST({spelled(value, dict(self.source_types)[column])} AS {self.type_of(column)})"


@dataclass(frozen=True, slots=True)
class Judged:
    """A written release of so many `source_records`.

    Columns of labels come first among its `quasi_identifiers`. `marker` is the column that marks suppressed records, if
    they are shown. While its models are checked, the table `judged_classes` has its classes.
    """

    session: WarehouseSession
    policy: Policy
    quasi_identifiers: Sequence[str]
    marker: str
    source_records: int
    written: Written

    @property
    def positions(self) -> list[str]:
        """Names of the quasi-identifiers in staged tables, because a column may have any name."""
        return [f"q{i}" for i in range(len(self.quasi_identifiers))]
