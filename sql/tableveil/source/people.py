"""Checks of people who have several rows: values that tie rows together, and values that should agree."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, expression, number, row_hash, sql
from tableveil.drafting import agreement, is_number_of_homes, is_number_of_people
from tableveil.errors import Fault, Warned, must_decide, note, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import AttributePolicy, Policy, Role
from tableveil.source.model import Source
from tableveil.source.recurring import columns_numbering_people
from tableveil.source.spelling import count_spellings

LINKED = 0.05
"""A released column that ties rows of more than this share of the people together is refused unless acknowledged."""

NEARLY_CONSTANT = 0.1
"""A column that varies for at most this share of the people who have several rows should vary for none."""

NEARLY_ALL = 0.9
"""A column that differs in this share of the rows puts hardly any of them together."""

_NO_NUMBERS = (ValueKind.BOOLEAN, ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIME, ValueKind.FLOAT)


def check_rows_are_people(
    session: WarehouseSession, source: Source, policy: Policy, records: int, estimated: Mapping[str, int]
) -> tuple[list[Fault], list[Warned]]:
    """Faults and warnings of columns that number people of whom some have several rows, against the policy's word.

    Beside a `person_column` without a value in two rows, other hidden columns can only be warned of: the policy names
    who is a person.
    """
    faults, warnings = [], list[Warned]()
    person = policy.person_column
    decide = [a.column for a in policy.attributes if a.role is Role.QUASI_IDENTIFIER]
    acknowledged = {a.column for a in policy.attributes if a.acknowledged}
    counts = "rows" if person is None else f"the values of {shortened(person)}, each of one row"
    for one in columns_numbering_people(session, source, records, decide, estimated):
        if person is not None and one.column not in hidden_numbers(source, policy):
            continue
        name, about = shortened(one.column), "" if one.exact else "about "
        actual = f"{about}{one.different:,} values of {name} in {records:,} rows"
        if not one.agreeing:
            if one.column not in acknowledged and not (person and is_number_of_people(person)):
                recurring = f"k counts {counts}, and the name of {name} says that it numbers people: {actual}. "
                warnings.append(
                    must_decide(
                        f"{recurring}If some of these have several rows, set person_column: {name}.",
                        one.different,
                        one.column,
                    )
                )
            continue
        actual += f", and {agreement(one.agreeing)}"
        if person is not None or one.column in acknowledged:
            warnings.append(
                must_decide(
                    f"k counts {counts}, although {name} seems to number people of whom some have several: {actual}. "
                    f"If so, people are recognized in smaller classes than k says: set person_column: {name}.",
                    one.different,
                    one.column,
                )
            )
        else:
            faults.append(
                Fault(
                    "rows_are_people",
                    f"true, although {name} seems to number people of whom some have several rows: {actual}",
                    "another person in every row",
                    f"Name {name} as person_column. If its equal values are of different people, list it with "
                    f"acknowledged: true, for a proposal by --acknowledge {name}.",
                )
            )
    return faults, warnings


MOST_IN_HOME = 50
"""More rows of a value on average are of no home: a few kinds of families have many."""


def hidden_numbers(source: Source, policy: Policy) -> list[str]:
    """The columns that are not released and could number people, beside the person column; households count already."""
    named = {policy.person_column, policy.record_column, *policy.also_count}
    hidden = [a.column for a in policy.attributes if a.role is Role.IDENTIFYING and a.column not in named]
    # A column whose type cannot be read, such as a list, has no kind.
    kinds = {each.name: each.kind for each in source.columns}
    return [name for name in hidden if name in kinds and kinds[name] not in _NO_NUMBERS]


def households(policy: Policy, records: int, hidden: Mapping[str, int]) -> Iterator[Warned]:
    """Warnings of hidden columns, of about so many values, whose names say that they number households of people."""
    countable = policy.k is not None and policy.release.left_behind is None and policy.method.units
    for name, different in hidden.items() if countable else ():
        if is_number_of_homes(name) and max(1, records / MOST_IN_HOME) < different < NEARLY_ALL * records:
            yield Warned(
                f"All people of a class may be of one household: k does not count the about {different:,} values of "
                f"{shortened(name)} in {records:,} rows. With also_count: [{name}] every class has records of k of "
                "them.",
                count_of=different,
                field=name,
            )


def check_links(
    session: WarehouseSession, source: Source, policy: Policy, people: int
) -> tuple[list[Fault], list[Warned]]:
    """Faults and warnings of released values that occur more than once, but in rows of fewer than k people."""
    faults, warnings, k = list[Fault](), list[Warned](), policy.k or 2
    if people < k:
        # No class is released. Every value would be of too few people, which says nothing of the column.
        return [], []
    for i, attribute in enumerate(policy.attributes):
        if attribute.role not in (Role.SENSITIVE, Role.INSENSITIVE):
            continue
        linked = _linked(session, source, policy.person_column or "", attribute, k)
        actual = f"values of fewer than {k} people that tie rows of {linked:,} of {people:,} people together"
        if linked > LINKED * people and not attribute.acknowledged:
            faults.append(
                Fault(
                    policy.role_field(i),
                    f"{attribute.role} for {shortened(attribute.column)}, which has {actual}",
                    "columns whose values do not tell which rows belong together",
                    f"{policy.identifying_hint(attribute.column)}, or a QUASI_IDENTIFIER, or list it with "
                    "acknowledged: true to release it.",
                )
            )
        elif linked:
            text = f"{shortened(attribute.column)} has {actual}: what is promised of one row is not of several."
            warnings.append(Warned(text, count_of=linked, field=attribute.column))
    return faults, warnings


def _linked(session: WarehouseSession, source: Source, person: str, attribute: AttributePolicy, k: int) -> int:
    """The people who have several rows with a value that fewer than k people have."""
    linked: int = session.value(
        sql(
            "SELECT count(DISTINCT person) FROM (SELECT person, n, count(*) OVER (PARTITION BY value) AS people FROM "
            "(SELECT $hashed AS value, $person AS person, count(*) AS n FROM $source WHERE $value IS NOT NULL "
            "GROUP BY 1, 2) AS rows_) AS owned WHERE n > 1 AND people < $k",
            hashed=row_hash(column(attribute.column)),
            person=row_hash(column(person)),
            source=source.table(),
            value=column(attribute.column),
            k=number(k),
        )
    )
    return linked


def varying(session: WarehouseSession, source: Source, policy: Policy) -> Iterator[Warned]:
    """Warnings of quasi-identifiers that are the same in all rows of nearly everybody, but not of all."""
    names = [a.column for a in policy.attributes if a.role is Role.QUASI_IDENTIFIER]
    query = (
        "SELECT count(*), $vary FROM (SELECT $ends FROM $rows GROUP BY hash($person) HAVING count(*) > 1) AS several"
    )
    counted = sql(
        query,
        vary=[expression("count_if($l <> $h)", l=column(f"l{i}"), h=column(f"h{i}")) for i in range(len(names))],
        ends=[
            alias(expression(f"{end}(hash($value))", value=column(name)), f"{prefix}{i}")
            for i, name in enumerate(names)
            for prefix, end in (("l", "min"), ("h", "max"))
        ],
        rows=source.table(),
        person=column(policy.person_column or ""),
    )
    people, *row = session.row(counted)
    for name, differing in zip(names, row, strict=True):
        if 0 < differing <= NEARLY_CONSTANT * people:
            yield Warned(
                f"{shortened(name)} differs between the rows of {differing:,} of {people:,} people with several, "
                "and is the same for the others: if it cannot change, some of these rows are wrong.",
                count_of=differing,
                field=name,
            )


def set_aside(session: WarehouseSession, source: Source, person: str) -> Iterator[Warned]:
    """A warning of people of whose records some are set aside because of NULLs; the source is without these."""
    lost_rows = sql(
        "SELECT count_if(k.n IS NULL), count_if(k.n < e.n) FROM "
        "(SELECT $person AS person, count(*) AS n FROM $every GROUP BY 1) AS e LEFT JOIN "
        "(SELECT $person AS person, count(*) AS n FROM $kept GROUP BY 1) AS k ON k.person = e.person",
        person=column(person),
        every=source.with_all().table(),
        kept=source.table(),
    )
    of_all, of_some = session.row(lost_rows)
    if of_all or of_some:
        parts = [f"all records of {_people(of_all)}"] * (of_all > 0)
        parts += [f"some records of {_people(of_some)}"] * (of_some > 0)
        yield note(f"Records set aside because of NULLs are {', and '.join(parts)}.", of_all + of_some, person)


def _people(number_of: int) -> str:
    return "1 person" if number_of == 1 else f"{number_of:,} people"


def respelled(session: WarehouseSession, source: Source, person: str, people: int) -> Iterator[Warned]:
    """A warning of people who may be one person."""
    if source.column(person).kind is not ValueKind.TEXT:
        return
    values = exp.select(alias(column(person), "value")).from_(source.table())
    different, _ = count_spellings(session, values, source.column(person))
    if different < people:
        yield Warned(
            f"{people - different:,} values of {shortened(person)} differ from others in case, spaces, characters that "
            "do not show, or Unicode form only: each counts as another person.",
            count_of=people - different,
            field=person,
        )
