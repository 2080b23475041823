"""Rows whose combinations of values have levels of their own: their table of levels, and checks of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, conjunction, in_one_spelling, number, table
from tableveil.dictionary import Dictionary
from tableveil.dictionary.meanings import ambiguous_levels
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.hierarchy import ValueKind
from tableveil.lattice import Lattice
from tableveil.policy import Policy
from tableveil.release.plan import OwnLevels, ReleasePlan
from tableveil.verification.written import OWN_LEVELS


def stage_own_levels(session: Session, own: OwnLevels) -> None:
    """Makes the table of levels."""
    kept = own.kept
    columns = {f"c{j}": pa.array(codes[kept]) for j, codes in enumerate(own.combinations.codes)}
    columns |= {f"l{j}": pa.array(own.levels(j)[kept]) for j in range(len(columns))}
    with session.relation("staged", pa.table(columns)):
        query = exp.select("*").from_(table("staged"))
        session.stage(OWN_LEVELS, query)


def with_own_levels(query: exp.Select, codes: Mapping[int, exp.Expr], join: str = "INNER") -> exp.Select:
    """The released rows, joined to their levels by their codes; quasi-identifiers of a single code may be left out.

    `join` may be ANTI, for the rows that are suppressed.
    """
    same = (exp.EQ(this=column(f"c{j}", OWN_LEVELS), expression=code) for j, code in codes.items())
    return query.join(table(OWN_LEVELS), on=conjunction(same), join_type=join)


def label_at_own_level(labels: Mapping[int, exp.Expr], attribute: int) -> exp.Expr:
    """The label of a quasi-identifier that rows have at different levels; `labels` are given by level."""
    level = column(f"l{attribute}", OWN_LEVELS)
    at = [exp.If(this=exp.EQ(this=level.copy(), expression=number(n)), true=label) for n, label in labels.items()]
    return exp.Case(ifs=at)


# --- meanings of labels ----------------------------------------------------------------------------------------------


def check_one_meaning(
    session: Session, policy: Policy, dictionaries: Sequence[Dictionary], lattice: Lattice, mixing: str = "record_level"
) -> None:
    """Raises `InvalidError` for every hierarchy in which one label stands for different values at different levels.

    With mixed levels, readers could not know the meaning of such a label. All levels of the lattice are checked, used
    or not.
    """
    faults = []
    for j, (dictionary, attribute) in enumerate(zip(dictionaries, policy.quasi_identifiers, strict=True)):
        texts = value_texts(session, dictionary) if lattice.bottom[j] == 0 else ()
        levels = ambiguous_levels(dictionary.levels, texts, range(lattice.bottom[j], lattice.top[j] + 1))
        if levels is not None:
            faults.append(
                Fault(
                    f"attributes[{policy.attributes.index(attribute)}].hierarchy",
                    f"a label of {shortened(attribute.column)} that stands for different values at the levels "
                    f"{levels[0]} and {levels[1]}",
                    f"labels that stand for the same values at every level, because {mixing} mixes levels",
                    "Rename the label at one of them, or leave one out by minimum_level or maximum_level.",
                )
            )
    if faults:
        raise InvalidError.about("LABELS_AMBIGUOUS", "labels of different levels cannot be told apart", faults)


def value_texts(session: Session, dictionary: Dictionary) -> list[str | None]:
    """Per code, its value as a label at level 0."""
    value: exp.Expr = column("value")
    if dictionary.column.kind is ValueKind.FLOAT:
        value = in_one_spelling(value)
    query = exp.select(alias(cast(value, "VARCHAR"), "label")).from_(table(dictionary.table_name)).order_by("code")
    return [label for (label,) in session.rows(query)]


# --- warnings for people ---------------------------------------------------------------------------------------------


def mixed_levels(plan: ReleasePlan) -> tuple[str, ...]:
    """The warning that categories overlap, if levels are mixed."""
    mixed = [
        f"{shortened(released.name)} (levels {', '.join(map(str, released.levels))})"
        for released in plan.generalized()
        if released.mixed
    ]
    if not mixed:
        return ()
    return (
        f"Levels are mixed: {'; '.join(mixed)}. Labels of these columns overlap, such as 34 beside 30-39: a "
        "count by one label does not find all people for whom it is true, and a record's level depends on its values.",
    )
