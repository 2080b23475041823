"""Facts about the source's rows that a policy relies on: people, nearly unique columns, forbidden NULLs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, expression, number, sql
from tableveil.errors import Fault, Warned, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import AttributePolicy, NullHandling, Policy, Role
from tableveil.policy.validate_population import check_repeating
from tableveil.risk.recurring import FEWEST_VALUES
from tableveil.source.model import Column, PopulationRows, Source
from tableveil.source.people import (
    NEARLY_ALL,
    check_links,
    check_rows_are_people,
    hidden_numbers,
    households,
    respelled,
    varying,
)
from tableveil.source.recurring import MOST_ROWS
from tableveil.source.tables import columns_of, count_changed, shown_type

NEARLY_UNIQUE = 0.9
"""From this share of distinct values among the non-NULL ones, a released column singles people out."""

SHARED_BY_FEW = 0.5
"""From this share of non-NULL values that few records share, an insensitive column identifies groups."""

KEY = 10
"""With this number of different values, a sensitive column can be a key to other tables."""

FEWEST, MOST_FEW = 3, 10
"""A value is shared by few records if fewer than the policy's k have it; that number is limited to this range."""

CLEARLY_REPEATED = 0.6
"""Below this estimated share, a column cannot be nearly unique: DuckDB's estimate is off by a few per cent."""


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Number of rows of the source, and all faults found in them.

    `people` if some people have several rows, with `warnings` of these rows; the warnings hold no values.
    """

    records: int
    faults: tuple[Fault, ...]
    people: int | None = None
    warnings: tuple[Warned, ...] = ()


def check_facts(
    session: WarehouseSession,
    source: Source,
    policy: Policy,
    estimated: Mapping[str, int] | None = None,
    known_records: int | None = None,
) -> SourceFacts:
    """Looks at the rows once for all of the policy's statements about them, and again only where that is needed.

    `estimated` has numbers of different values of columns, and `known_records` is how many there are, if known.
    """
    attributes = list(enumerate(policy.attributes))
    shown = (Role.INSENSITIVE, Role.SENSITIVE)
    suspects = [(i, a) for i, a in attributes if a.role in shown and not a.acknowledged]
    no_nulls = [(i, a) for i, a in attributes if a.nulls is NullHandling.ERROR and a.role is Role.QUASI_IDENTIFIER]
    person = policy.person_column
    wanted = [expression("count(*)")] if known_records is None else []
    if person is not None:
        wanted += [_present(person), _about(person)]
    wanted += [_about(a.column) for _, a in suspects]
    wanted += [_present(a.column) for _, a in [*suspects, *no_nulls]]
    others = hidden_numbers(source, policy) if person is not None else []
    wanted += [_about(name) for name in others]
    query = exp.select(*(alias(e, f"f{n}") for n, e in enumerate(wanted))).from_(source.table())
    row = list(session.row(query)) if wanted else []
    records = row.pop(0) if known_records is None else known_records
    faults, people = check_membership(session, source, person or ""), records
    if records == 0:
        empty = f"{source.shown}, which is empty"
        if source.subset:
            empty = f"no row of {source.shown} in which {shortened(source.subset)} is true"
        return SourceFacts(0, (*faults, Fault(policy.source_field, empty, "at least one row")))
    if person is not None:
        present, estimate = row.pop(0), row.pop(0)
        if present < records:
            hint = "k counts people: give these rows one, or take them out of the source."
            actual = f"{records - present} rows without a person in {shortened(person)}"
            faults.append(Fault(policy.person_field, actual, "a person in every row", hint))
        else:
            people = _distinct(session, source, person, at_least=records, about=estimate)
        faults += _signed_zeros(session, source, policy.person_field, person)
    if policy.record_column:
        faults += _signed_zeros(session, source, "record_column", policy.record_column)
        faults += _check_records(session, source, policy.record_column, records)
    estimates, row = row[: len(suspects)], row[len(suspects) :]
    for (i, attribute), estimate, present in zip(suspects, estimates, row, strict=False):
        # Every value of a single record is unique, but the fault there is another one.
        if records > 1 and present:
            identifying = _identifying(session, source, policy, attribute, estimate, present)
            faults += [_identifies(policy, i, identifying)] if identifying else []
    counted = zip(no_nulls, row[len(suspects) :], strict=False)
    faults += [_nulls(i, attribute, records - present) for (i, attribute), present in counted if present < records]
    if person is None:
        if estimated is None and records > MOST_ROWS:
            estimated = estimated_values(session, source, [each.name for each in source.columns])
        numbering, warnings = check_rows_are_people(session, source, policy, records, estimated or {})
        return SourceFacts(records, (*faults, *numbering), warnings=tuple(warnings))
    if people == records:
        hidden = dict(zip(others, row[len(suspects) + len(no_nulls) :], strict=True))
        return SourceFacts(records, tuple(faults), warnings=_other_people(session, source, policy, records, hidden))
    repeating = _of_repeating(session, source, policy, person, SourceFacts(records, (), people))
    return replace(repeating, faults=(*faults, *repeating.faults))


def _nulls(i: int, attribute: AttributePolicy, nulls: int) -> Fault:
    allowing = "Use VALUE or SUPPRESS to allow them."
    aside = "Use SUPPRESS to set their records aside: they count as suppressed."
    return Fault(
        f"attributes[{i}].nulls",
        f"{nulls} NULLs in {shortened(attribute.column)}",
        "none, because nulls is ERROR",
        allowing if attribute.aggregation is None else aside,
    )


def _of_repeating(
    session: WarehouseSession, source: Source, policy: Policy, person: str, facts: SourceFacts
) -> SourceFacts:
    """The faults and the warnings of people with several rows, beside what is known of them."""
    records, people = facts.records, facts.people or 0
    if policy.related is not None:
        hint = "Make a table with one row of each person. Rows of what happened to them are an event table."
        actual = f"{people:,} different values of {shortened(person)} in {records:,} rows"
        return SourceFacts(records, (Fault(policy.person_field, actual, "one row for each person", hint),))
    faults = check_repeating(policy, people, records)
    if session.traits.collects:
        hint = "Make a table with one row of each person."
        actual = f"{people:,} people in {records:,} rows"
        fault = Fault("person_column", actual, "one row per person in a warehouse", hint)
        return replace(facts, faults=(*faults, fault))
    linking, warnings = check_links(session, source, policy, people)
    warnings += [*varying(session, source, policy), *respelled(session, source, person, people)]
    return replace(facts, faults=(*faults, *linking), warnings=tuple(warnings))


def _other_people(
    session: WarehouseSession, source: Source, policy: Policy, records: int, hidden: Mapping[str, int]
) -> tuple[Warned, ...]:
    """Warnings of hidden columns that seem to number people who have several rows, or households of people.

    The rows are looked at only if a column with about so many different values recurs.
    """
    of_homes = tuple(households(policy, records, hidden))
    if not any(FEWEST_VALUES <= different <= NEARLY_ALL * records for different in hidden.values()):
        return of_homes
    estimated = (
        {} if records <= MOST_ROWS else estimated_values(session, source, [each.name for each in source.columns])
    )
    return (*of_homes, *check_rows_are_people(session, source, policy, records, estimated)[1])


def _identifying(
    session: WarehouseSession, source: Source, policy: Policy, attribute: AttributePolicy, estimate: int, present: int
) -> str:
    """The fault of a column whose values single out people or small groups; about `estimate` values are distinct.

    Sensitive columns may have rare values, since models protect them: they are judged by distinct values only.
    """
    few = min(max(policy.k or 0, FEWEST), MOST_FEW)
    insensitive = attribute.role is Role.INSENSITIVE
    # If so many of the values are shared by few, at least so many are distinct.
    least = min(NEARLY_UNIQUE, SHARED_BY_FEW / (few - 1)) if insensitive else NEARLY_UNIQUE
    if estimate < CLEARLY_REPEATED / NEARLY_UNIQUE * least * present:
        return ""
    distinct, rare = _shared_by_few(session, source, attribute.column, few)
    if distinct >= NEARLY_UNIQUE * present and (insensitive or distinct >= KEY):
        return f"{distinct} distinct values in {present} records"
    if insensitive and rare >= SHARED_BY_FEW * present:
        return f"values that fewer than {few} records share in {rare} of {present} records"
    return ""


def _identifies(policy: Policy, position: int, identifying: str) -> Fault:
    attribute = policy.attributes[position]
    return Fault(
        policy.role_field(position),
        f"{attribute.role} for {shortened(attribute.column)}, which has {identifying}",
        "columns that single nobody out, nor a few who belong together",
        f"{policy.identifying_hint(attribute.column)}, or a QUASI_IDENTIFIER, or list it with acknowledged: true to "
        "release it.",
    )


def records_in(session: WarehouseSession, source: Source) -> int:
    """The number of the source's records."""
    count: int = session.value(sql("SELECT count(*) FROM $rows", rows=source.table()))
    return count


def check_membership(session: WarehouseSession, source: Source, person: str) -> list[Fault]:
    """Faults of rows with unknown membership, of people with several rows of the population, and of values lost there.

    `person` names the source's column of people; empty if there is none.
    """
    return [
        *_check_subset(session, source),
        *_check_people_of_population(session, source, person),
        *_check_population(session, source.population),
    ]


def _check_people_of_population(session: WarehouseSession, source: Source, person: str) -> Iterator[Fault]:
    """The fault of a population that has people twice: the journalist's risk is 1 / its rows of a combination."""
    population = source.population
    if population is None or not person:
        return
    own = population.reference == source.rows
    columns = source.columns if own else columns_of(session, population.reference)
    if person not in {source_column.name for source_column in columns if isinstance(source_column, Column)}:
        return
    counts = "SELECT count(*), count(DISTINCT hash($person)) FROM $rows WHERE $person IS NOT NULL"
    rows, people = session.row(sql(counts, person=column(person), rows=population.whole_table()))
    if people < rows:
        yield Fault(
            population.field,
            f"{people:,} people by {shortened(person)} in {rows:,} rows of the population",
            "one row per person",
            "Every row of it counts as another person: make a table with one row of each, and name that.",
        )


def _check_subset(session: WarehouseSession, source: Source) -> list[Fault]:
    if not source.subset:
        return []
    query = "SELECT count(*) FROM $rows WHERE $subset IS NULL"
    nulls = session.value(sql(query, rows=source.whole_table(), subset=column(source.subset)))
    if not nulls:
        return []
    actual = f"{nulls} NULLs in {shortened(source.subset)}"
    hint = "Rows of which it is not known whether they are to be anonymized cannot be counted."
    return [Fault("population.subset_column", actual, "true or false in every row", hint)]


def _check_population(session: WarehouseSession, population: PopulationRows | None) -> list[Fault]:
    """Faults of values of the population that the source's types would lose."""
    if population is None:
        return []
    converted = [
        (of_population, type_)
        for of_population, type_ in zip(population.columns, population.types, strict=True)
        if of_population.type != type_
    ]
    if not converted:
        return []
    lost = [count_changed(each.name, each.type, type_) for each, type_ in converted]
    counts = session.row(exp.select(*lost).from_(population.whole_table()))
    return [
        Fault(
            population.field,
            f"{count} values of {shortened(of_population.name)} in {shortened(str(population.reference))} that the "
            f"source's type {shown_type(type_)} does not hold",
            "values that the source's column could have",
            "Give both columns the wider type.",
        )
        for (of_population, type_), count in zip(converted, counts, strict=True)
        if count
    ]


def estimated_values(session: WarehouseSession, source: Source, columns: Sequence[str]) -> dict[str, int]:
    """DuckDB's estimates of the columns' numbers of different values."""
    wanted = [alias(_about(name), f"e{i}") for i, name in enumerate(columns)]
    return dict(zip(columns, session.row(exp.select(*wanted).from_(source.table())), strict=True))


def _present(name: str) -> exp.Expr:
    return expression("count($value)", value=column(name))


def _about(name: str) -> exp.Expr:
    return expression("approx_count_distinct($value)", value=column(name))


def _signed_zeros(session: WarehouseSession, source: Source, field: str, name: str) -> list[Fault]:
    """The fault of a person or record whose number is negative zero: it equals zero, and is another in the ledger."""
    if source.column(name).kind is not ValueKind.FLOAT:
        return []
    query = "SELECT count_if($value::VARCHAR = '-0.0') FROM $rows"
    zeros = session.value(sql(query, value=column(name), rows=source.table()))
    if not zeros:
        return []
    hint = "They are one value, and two texts. People and records are best numbered by whole numbers."
    return [Fault(field, f"{zeros:,} records with -0.0 in {shortened(name)}", "0.0 in its place", hint)]


def _check_records(session: WarehouseSession, source: Source, record: str, records: int) -> list[Fault]:
    """The fault of a record column that does not identify each record."""
    present = session.value(sql("SELECT count($record) FROM $rows", record=column(record), rows=source.table()))
    expected = "another value in every row"
    if present < records:
        hint = "Rows without one cannot be found in another release."
        return [Fault("record_column", f"{records - present:,} NULLs in {shortened(record)}", expected, hint)]
    different = _distinct(session, source, record, at_least=records)
    if different == records:
        return []
    actual = f"{different:,} different values of {shortened(record)} in {records:,} rows"
    return [Fault("record_column", actual, expected, "Name the column that numbers the records.")]


def _shared_by_few(session: WarehouseSession, source: Source, name: str, few: int) -> tuple[int, int]:
    """The number of distinct non-NULL values, and of the records with a value that fewer than `few` records have.

    Hashes of 64 bits stand for the values: they take a fraction of the memory.
    """
    counts = (
        "SELECT count(*), coalesce(sum(n) FILTER (WHERE n < $few), 0) FROM "
        "(SELECT count(*) AS n FROM $rows WHERE $value IS NOT NULL GROUP BY hash($value)) AS values_found"
    )
    distinct, shared = session.row(sql(counts, few=number(few), rows=source.table(), value=column(name)))
    return int(distinct), int(shared)


def _distinct(session: WarehouseSession, source: Source, name: str, at_least: int, about: int | None = None) -> int:
    """Number of distinct non-NULL values, which is estimated as `about` so many.

    Distinct hashes mean distinct values, and counting 64-bit hashes takes a fraction of the memory: values themselves
    are counted only if there are fewer hashes than `at_least`, or must be by the estimate.
    """
    fewer = about is not None and about < CLEARLY_REPEATED * at_least
    for counted in ("$value",) if fewer else ("hash($value)", "$value"):
        query = f"SELECT count(DISTINCT {counted}) FROM $rows WHERE $value IS NOT NULL"
        distinct: int = session.value(sql(query, value=column(name), rows=source.table()))
        if distinct >= at_least:
            break
    return distinct
