"""The kinds of hierarchy that a policy may define, and names of stored ones."""

from dataclasses import dataclass

from tableveil.hierarchy.rules import RULES, SimpleRule


@dataclass(frozen=True, slots=True)
class InlineLevels:
    """Levels written out: per value a row of the value as text and its labels from level 1 to the top."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class StoredLevels:
    """A hierarchy kept on the server; version 0 means the newest."""

    name: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class TableLevels:
    """A hierarchy in a table of the database; no columns means all columns, in table order."""

    catalog: str
    schema: str
    table: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SafeHarborZip:
    """Five-digit ZIP codes by HIPAA's Safe Harbor, with the number of people in each from a table of the database.

    Level 1 is the first three digits, or 000 if no more than 20,000 people live in all ZIP codes that begin with them;
    above are two digits, one, and `*`.
    """

    catalog: str
    schema: str
    table: str
    zip_column: str = "zip"
    population_column: str = "population"


@dataclass(frozen=True, slots=True)
class SafeHarborAge:
    """Ages in years by HIPAA's Safe Harbor: level 1 merges all from 90 on; above are wider ranges, and `*`."""


@dataclass(frozen=True, slots=True)
class SafeHarborDate:
    """Dates by HIPAA's Safe Harbor, in a declared range of days (ISO dates, inclusive): level 1 is the year.

    With `birth_as_of`, a day, they are dates of birth: people who reach 90 in that day's year, or are older, form one
    group with all who were born in the same year or before.
    """

    minimum: str
    maximum: str
    birth_as_of: str = ""


SafeHarborHierarchy = SafeHarborZip | SafeHarborAge | SafeHarborDate
"""Level `SAFE_HARBOR_LEVEL` of each is the level that Safe Harbor allows (45 CFR 164.514(b)(2))."""

SAFE_HARBOR_LEVEL = 1

ListedHierarchy = InlineLevels | StoredLevels | TableLevels | SafeHarborHierarchy


@dataclass(frozen=True, slots=True)
class Combination:
    """Some values by rows of their own, all others by a rule.

    A row is a value as text and its labels from level 1 on. Where rows or the rule have fewer levels than the other,
    the last label below the top is repeated.
    """

    rows: tuple[tuple[str, ...], ...]
    rest: SimpleRule

    def __str__(self) -> str:
        return f"{len(self.rows)} values by rows, the others: {self.rest}"


RuleHierarchy = SimpleRule | Combination
HierarchyDefinition = ListedHierarchy | RuleHierarchy

_FIELDS: dict[type[HierarchyDefinition], str] = {
    InlineLevels: "inline",
    StoredLevels: "stored",
    TableLevels: "table",
    SafeHarborZip: "safe_harbor_zip",
    SafeHarborAge: "safe_harbor_age",
    SafeHarborDate: "safe_harbor_date",
    Combination: "combination",
    **{kind: traits.field for kind, traits in RULES.items()},
}
"""The field of a policy's `hierarchy` for each kind of definition."""


def field_of(definition: HierarchyDefinition) -> str:
    """Name of the field below a policy's `hierarchy` that holds the definition."""
    return _FIELDS[type(definition)]


def name_in(schema: str, name: str) -> str:
    """The full name of a hierarchy of a schema; of an empty one, which only those see who see all."""
    return name if schema == "main" and "/" not in name else f"{escaped(schema)}/{name}"


def schema_of(name: str) -> str:
    """The schema that a hierarchy of that full name belongs to."""
    schema, slash, _ = name.partition("/")
    return schema.replace("%2f", "/").replace("%25", "%") if slash else "main"


def escaped(schema: str) -> str:
    """The schema as it stands in a name."""
    return schema.replace("%", "%25").replace("/", "%2f")
