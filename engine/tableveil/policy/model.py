"""The policy inside Tableveil: frozen, typed, free of proto, SQL and gRPC."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tableveil.hierarchy.definition import SAFE_HARBOR_LEVEL, HierarchyDefinition, SafeHarborHierarchy
from tableveil.policy.aggregation import Aggregation
from tableveil.policy.documentation import Documentation
from tableveil.policy.game import BreakEven, Game
from tableveil.policy.guards import ReleaseGuards
from tableveil.policy.methods import MethodTraits, Recoded, methods_of
from tableveil.policy.parts import JobPart, parts_of
from tableveil.policy.privacy import KAnonymity, PrivacyModel, Profitability, SafeHarbor, SensitiveModel, SensitiveShare
from tableveil.policy.quality import LossModel, QualityModel
from tableveil.policy.related import RelatedTables


class Role(StrEnum):
    """The role of a column in the policy."""

    IDENTIFYING = "IDENTIFYING"
    QUASI_IDENTIFIER = "QUASI_IDENTIFIER"
    SENSITIVE = "SENSITIVE"
    INSENSITIVE = "INSENSITIVE"


class NullHandling(StrEnum):
    """The meaning of NULL in a quasi-identifier."""

    VALUE = "VALUE"
    SUPPRESS = "SUPPRESS"
    ERROR = "ERROR"


class SuppressedRecords(StrEnum):
    """The treatment of suppressed records in the release.

    `BLANK` rows hold nothing but the marker. `KEEP` blanks the quasi-identifiers only: then the suppressed records
    together must meet every privacy model as one class.
    """

    DROP = "DROP"
    BLANK = "BLANK"
    KEEP = "KEEP"


class OrderBy(StrEnum):
    """How the values of a sensitive column are ordered: by their type, or as text read as numbers or as dates."""

    TYPE = "TYPE"
    NUMBER = "NUMBER"
    DATE = "DATE"


class NullPosition(StrEnum):
    """The place of NULL in the order of a sensitive column."""

    FIRST = "FIRST"
    LAST = "LAST"


class Choose(StrEnum):
    """The data by which the transformation and the suppressed records are chosen."""

    ALL_MODELS = "ALL_MODELS"
    QUASI_IDENTIFIERS_ONLY = "QUASI_IDENTIFIERS_ONLY"


class ReleaseKind(StrEnum):
    """Whether the release is a table, or a view over a stored snapshot of the anonymized rows."""

    TABLE = "TABLE"
    VIEW = "VIEW"


class IfExists(StrEnum):
    """The action if the release's objects exist already."""

    FAIL = "FAIL"
    REPLACE = "REPLACE"


class LeftBehind(StrEnum):
    """The treatment of fewer than k people of the same earlier classes who have no row in the new release.

    `REQUIRE` suppresses more of them, or none; `REPORT` counts them, and promises k only for rows of the release.
    """

    REQUIRE = "REQUIRE"
    REPORT = "REPORT"


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table of the database; an empty catalog means the server's own."""

    catalog: str
    schema: str
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema, self.table) if part)


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """The order of a sensitive column's values, for ordered distances.

    `values`, if given, are all values that occur, from least to greatest, as text by the database's cast. If `nulls` is
    None, the place of NULL is open: then there must be none.
    """

    by: OrderBy = OrderBy.TYPE
    values: tuple[str, ...] = ()
    nulls: NullPosition | None = None


@dataclass(frozen=True, slots=True)
class Population:
    """The population of the source's people: the rows of a table, or just their number.

    At most one of `table`, whose columns have the quasi-identifiers' names, and `subset_column`, a BOOLEAN column of
    the source. With `subset_column` the source's table is the population, and the rows where it is true are anonymized.
    At most one of `size` (people) and `sampling_fraction` (the share of them in the source); neither: as the rows say.
    """

    table: TableReference | None = None
    subset_column: str = ""
    size: int | None = None
    sampling_fraction: Decimal | None = None

    @property
    def has_rows(self) -> bool:
        """Whether there are rows of the population to count."""
        return self.table is not None or bool(self.subset_column)


AROUND_ELEMENTS = "[](){}\"' "


@dataclass(frozen=True, slots=True)
class Elements:
    """How a cell is a list: by a `delimiter`, or without one a JSON array; `none` states that it is no list.

    `AROUND_ELEMENTS` are dropped around elements between delimiters: Python and PostgreSQL write lists in brackets.
    """

    delimiter: str = ""
    none: bool = False


@dataclass(frozen=True, slots=True)
class AttributePolicy:
    """One column: its role and how it may be generalized, or ordered.

    Quasi-identifiers have a `hierarchy`, or an `aggregation`, whose scale may need a hierarchy or an `order`. Sensitive
    columns may have both, for measuring distances. If `maximum_level` is None, it is the hierarchy's top. `listed` is
    False if the policy does not name the column and its default role applies. The `reason` for the role is for people.
    `elements` is None unless the policy says whether cells of a sensitive column are lists.
    """

    column: str
    role: Role
    hierarchy: HierarchyDefinition | None = None
    minimum_level: int = 0
    maximum_level: int | None = None
    weight: float = 1.0
    nulls: NullHandling = NullHandling.VALUE
    acknowledged: bool = False
    listed: bool = True
    order: ValueOrder = field(default_factory=ValueOrder)
    aggregation: Aggregation | None = None
    reason: str = ""
    elements: Elements | None = None

    @property
    def listed_elements(self) -> Elements | None:
        """How its cells are lists, if the policy says that they are."""
        return None if self.elements is None or self.elements.none else self.elements


class Strategy(StrEnum):
    """How the lattice is searched; `AUTO` chooses by its size."""

    AUTO = "AUTO"
    EXACT = "EXACT"
    BEST_FIRST = "BEST_FIRST"
    ANYTIME = "ANYTIME"


DEFAULT_SECONDS = Decimal(120)
"""The time limit of searches whose policy has none: in large lattices and tables they would go on for hours."""

NO_LIMIT = Decimal("Infinity")
"""The time limit of a search that goes on to its end."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """`time_limit_seconds` bounds the search phase: by `DEFAULT_SECONDS` if it is None, and `NO_LIMIT` by nothing.

    `levels`, if given, maps every quasi-identifier to its level: only this transformation is evaluated and, if it is
    valid, released. `linked` are groups of quasi-identifiers that always have the same level. `choose` says whether
    models of sensitive columns take part in choosing, or only judge the choice made without them.
    """

    time_limit_seconds: Decimal | None = None
    seed: int = 0
    strategy: Strategy = Strategy.AUTO
    levels: tuple[tuple[str, int], ...] = ()
    linked: tuple[tuple[str, ...], ...] = ()
    choose: Choose = Choose.ALL_MODELS

    @property
    def seconds(self) -> float:
        """The time limit, which is infinite without one."""
        return float(DEFAULT_SECONDS if self.time_limit_seconds is None else self.time_limit_seconds)

    @property
    def limit_in_words(self) -> str:
        """The time limit as a noun, such as `default time limit of 120 s`."""
        return f"{'default ' if self.time_limit_seconds is None else ''}time limit of {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class ReleaseTarget:
    """Where the release is written; companion objects take `name` as prefix.

    The targets `publish` get it as well, for the `publish_repeat_reason` if their readers have one of the same people.
    With `left_behind`, the release is judged together with the earlier releases of these numbers, or, without numbers,
    with all of the same people. `label_columns` gives labels columns to compute with and sort by, and the release the
    tables that explain it. With `class_id` rows carry the number of their class. `close_open_ends` declares that no
    value lies beyond the range of intervals. By the columns `suppressed_by`, the release tells how many records of
    each label were suppressed. With `estimates` it has tables of one value per cell, by several assumptions.
    With the event tables `events`, it has a table of each.
    """

    schema: str
    name: str
    kind: ReleaseKind = ReleaseKind.TABLE
    if_exists: IfExists = IfExists.FAIL
    publish: tuple[str, ...] = ()
    publish_repeat_reason: str = ""
    label_columns: bool = True
    class_id: bool = False
    together_with: tuple[int, ...] = ()
    left_behind: LeftBehind | None = None
    guards: ReleaseGuards = field(default_factory=ReleaseGuards)
    close_open_ends: bool = False
    suppressed_by: tuple[str, ...] = ()
    estimates: bool = False
    events: tuple[str, ...] = ()

    @property
    def classes_name(self) -> str:
        """Name of the table of released classes."""
        return f"{self.name}_classes"

    @property
    def risk_name(self) -> str:
        """Name of the table of risk measures."""
        return f"{self.name}_risk"

    @property
    def risk_histogram_name(self) -> str:
        """Name of the table of class sizes."""
        return f"{self.name}_risk_histogram"

    @property
    def classification_name(self) -> str:
        """Name of the table of a classifier assessment's figures, which is written only on request."""
        return f"{self.name}_classification"

    @property
    def columns_name(self) -> str:
        """Name of the table of the released columns' meanings."""
        return f"{self.name}_columns"

    @property
    def labels_name(self) -> str:
        """Name of the table of released labels."""
        return f"{self.name}_labels"

    @property
    def about_name(self) -> str:
        """Name of the table of facts about the release."""
        return f"{self.name}_about"

    @property
    def estimated_name(self) -> str:
        """Name of the table that has one value per cell."""
        return f"{self.name}_estimated"

    @property
    def spread_names(self) -> tuple[str, ...]:
        """Names of those that have it under other assumptions, which say how far reasonable ones differ."""
        return tuple(f"{self.estimated_name}_{place}" for place in range(2, 6))

    def event_name(self, event: str) -> str:
        """Name of an event table's rows."""
        return f"{self.name}_{event}"

    def event_columns_name(self, event: str) -> str:
        """Name of the table of their columns' meanings."""
        return f"{self.event_name(event)}_columns"

    def event_labels_name(self, event: str) -> str:
        """Name of the table of their labels."""
        return f"{self.event_name(event)}_labels"

    @property
    def known_rows_name(self) -> str:
        """Name of the table that says for how many people few keys fit, if some of their rows are known."""
        return f"{self.name}_known_rows"

    @property
    def object_names(self) -> tuple[str, ...]:
        """All public objects that a release writes, the rows first."""
        names: tuple[str, ...] = (self.name, self.classes_name, self.risk_name, self.risk_histogram_name)
        if self.label_columns:
            names = (*names, self.columns_name, self.labels_name, self.about_name)
        if self.events:
            explained = (self.event_columns_name, self.event_labels_name) if self.label_columns else ()
            of_event = (self.event_name, *explained)
            names = (*names, *(name(event) for event in self.events for name in of_event), self.known_rows_name)
        return (*names, self.estimated_name, *self.spread_names) if self.estimates else names


DEFAULT_RISK_THRESHOLDS = tuple(Decimal(text) for text in ("0.05", "0.1", "0.2", "0.33"))


@dataclass(frozen=True, slots=True)
class Policy:
    """A whole policy; `attributes` keeps the policy's order, which breaks ties between transformations.

    The source is a table, or the rows of `source_query`, a SELECT; then `source` names none. With `source_load`, and
    `source_loads` beside it, tables that are read must have the rows of the loads of these numbers. If `person_column`
    is None, each row is one person; `also_count` names columns whose values count as people do, such as households.
    `record_column` identifies a record where people have several. `methods` has the
    options of each method that it asks for: a valid policy asks for at most one.
    """

    source: TableReference
    attributes: tuple[AttributePolicy, ...]
    person_column: str | None
    privacy_models: tuple[PrivacyModel, ...]
    release: ReleaseTarget
    default_role: Role | None = None
    suppression_limit: Decimal = Decimal(0)
    suppressed_records: SuppressedRecords = SuppressedRecords.DROP
    marker_column: str = ""
    quality_model: QualityModel = field(default_factory=LossModel)
    search: SearchOptions = field(default_factory=SearchOptions)
    risk_thresholds: tuple[Decimal, ...] = DEFAULT_RISK_THRESHOLDS
    repeat_reason: str = ""
    other_people: tuple[int, ...] = ()
    population: Population | None = None
    game: Game | None = None
    methods: tuple[Any, ...] = ()
    source_query: str = ""
    no_person_digests: bool = False
    record_column: str = ""
    documentation: Documentation = field(default_factory=Documentation)
    source_load: int | None = None
    source_loads: tuple[int, ...] = ()
    also_count: tuple[str, ...] = ()

    @property
    def k(self) -> int | None:
        """The k of k-anonymity, if the policy asks for it."""
        return max((model.k for model in self.privacy_models if isinstance(model, KAnonymity)), default=None)

    @property
    def method(self) -> MethodTraits[Any]:
        """The method that makes the release."""
        return methods_of(self)[0]

    @property
    def related(self) -> RelatedTables | None:
        """The event tables of the people in its source, if it has some."""
        return next((options for options in self.methods if isinstance(options, RelatedTables)), None)

    @property
    def bound_loads(self) -> tuple[tuple[str, int], ...]:
        """The loads whose rows the source must have, each with the field that names it."""
        first = () if self.source_load is None else (("source.load", self.source_load),)
        return (*first, *((f"source.loads[{i}]", number) for i, number in enumerate(self.source_loads)))

    @property
    def parts(self) -> tuple[JobPart, ...]:
        """The parts of a job for it; `UNCHANGED` shows once its columns have their roles."""
        return parts_of(self)

    @property
    def classes_of(self) -> int | None:
        """The release whose classes are used again, if there is one."""
        return self.method.classes_of(self.method.options(self))

    @property
    def more_choice_helps(self) -> bool:
        """Whether its method suppresses no more records where there is more to choose from."""
        return self.method.more_choice_helps(self.method.options(self))

    @property
    def has_own_levels(self) -> bool:
        """Whether records have levels of their own, so that labels of several levels stand in one column."""
        return self.method.recoded is Recoded.BY_COMBINATION

    @property
    def stakes(self) -> Game:
        """The game; validation refuses a policy with a model of the game but without the game."""
        if self.game is None:
            raise ValueError("the policy has no game")
        return self.game

    @property
    def break_even(self) -> BreakEven:
        """Whether records that pay exactly nothing are released: by the profitability models, else they are."""
        stated = [model.break_even for model in self.privacy_models if isinstance(model, Profitability)]
        return BreakEven.SUPPRESS if BreakEven.SUPPRESS in stated else BreakEven.KEEP

    @property
    def source_field(self) -> str:
        """The field that defines the source."""
        if self.related is not None:
            return "tables.people"
        return "source_query" if self.source_query else "source.table"

    @property
    def person_field(self) -> str:
        """The field that names the person column."""
        return "person_column" if self.related is None else "tables.people.key"

    @property
    def leveled(self) -> tuple[tuple[str, AttributePolicy], ...]:
        """All columns that a search gives a level, with their names in `search.levels`: those of events come last."""
        events = () if self.related is None else self.related.events
        of_events = ((event.qualified(each.column), each) for event in events for each in event.quasi_identifiers)
        return (*((each.column, each) for each in self.quasi_identifiers), *of_events)

    @property
    def quasi_identifiers(self) -> tuple[AttributePolicy, ...]:
        """The attributes that span the lattice, in policy order: those that are generalized."""
        return tuple(a for a in self.attributes if a.role is Role.QUASI_IDENTIFIER and a.aggregation is None)

    @property
    def recognizing(self) -> tuple[AttributePolicy, ...]:
        """All quasi-identifiers: those that are generalized, then those that are aggregated."""
        return (*self.quasi_identifiers, *self.aggregated)

    @property
    def aggregated(self) -> tuple[AttributePolicy, ...]:
        """The quasi-identifiers whose values are aggregated instead of generalized, in policy order."""
        return tuple(a for a in self.attributes if a.role is Role.QUASI_IDENTIFIER and a.aggregation is not None)

    @property
    def sensitive(self) -> tuple[AttributePolicy, ...]:
        """The attributes whose values the privacy models may protect, in policy order."""
        return tuple(a for a in self.attributes if a.role is Role.SENSITIVE)

    @property
    def unprotected(self) -> tuple[AttributePolicy, ...]:
        """The sensitive attributes that no privacy model names."""
        named = {model.column for model in self.privacy_models if isinstance(model, SensitiveModel)}
        named |= {each.column for each in self.privacy_models if isinstance(each, SensitiveShare) and not each.table}
        return tuple(attribute for attribute in self.sensitive if attribute.column not in named)

    def least_level(self, attribute: AttributePolicy) -> int:
        """The least level that a quasi-identifier may have: its own minimum, or the one that `safe_harbor` demands."""
        asked = any(isinstance(model, SafeHarbor) for model in self.privacy_models)
        if asked and isinstance(attribute.hierarchy, SafeHarborHierarchy):
            return max(attribute.minimum_level, SAFE_HARBOR_LEVEL)
        return attribute.minimum_level

    def role_field(self, position: int) -> str:
        """Path of the field that gives the attribute at a position its role."""
        return f"attributes[{position}].role" if self.attributes[position].listed else "default_role"

    def identifying_hint(self, column: str) -> str:
        """The words that make a column IDENTIFYING, without the models that protect it: they would have no column."""
        models = [
            f"privacy_models[{i}]"
            for i, model in enumerate(self.privacy_models)
            if isinstance(model, SensitiveModel) and model.column == column
        ]
        return f"Make it IDENTIFYING{' without ' * bool(models)}{' and '.join(models)}"

    def suppressible(self, records: int) -> int:
        """The largest number of records that may be suppressed: floor(limit * records), exact."""
        numerator, denominator = self.suppression_limit.as_integer_ratio()
        return numerator * records // denominator
