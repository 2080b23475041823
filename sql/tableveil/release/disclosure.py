"""Whether columns released as they are give away what a quasi-identifier's label hides."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, alias, call, column, number
from tableveil.counting.base import joined_code, joined_value
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.policy import Role
from tableveil.release.plan import ReleasedColumn, ReleasePlan

DETERMINED = 0.9
"""Share of the records from which a column counts as determining a quasi-identifier: fewer are coincidence."""


def check_disclosure(session: Session, plan: ReleasePlan) -> None:
    """Raises `InvalidError` for every unacknowledged insensitive column that determines a quasi-identifier.

    It does if, for at least `DETERMINED` of the records that have a value in it, that value occurs with only one group
    of the quasi-identifier on the highest level that tells more than the released one. Where records have levels of
    their own that is the highest of them: what determines a label below it, determines the one there as well. Of an
    aggregated quasi-identifier, which hides any values that differ, it is the value itself.
    """
    hiding = [released for released in plan.quasi_identifiers() if _hides(released)]
    faults = []
    for i, attribute in enumerate(plan.policy.attributes):
        if attribute.role is not Role.INSENSITIVE or attribute.acknowledged or not hiding:
            continue
        for released, share in zip(hiding, _determined(session, plan, attribute.column, hiding), strict=True):
            if share >= DETERMINED:
                shown = "aggregates" if released.aggregated is not None else f"released level {released.level}"
                faults.append(
                    Fault(
                        plan.policy.role_field(i),
                        f"INSENSITIVE for {shortened(attribute.column)}, which determines {shortened(released.name)} "
                        f"more finely than its {shown} in {share:.0%} of the records",
                        "columns that do not give away what the labels hide",
                        "Make it a QUASI_IDENTIFIER, or list it with acknowledged: true to release it.",
                    )
                )
    if faults:
        raise InvalidError.about("COLUMN_DISCLOSES", "columns released as they are give away what labels hide", faults)


def _hides(released: ReleasedColumn) -> bool:
    """Whether values that differ are not told apart."""
    if released.aggregated is not None:
        return released.aggregated.distinct > 1
    return _finer_level(released) is not None


def _finer_level(released: ReleasedColumn) -> int | None:
    """The highest level on which there are more groups than on the released one, if the released one hides anything."""
    assert released.dictionary is not None
    groups = [len(leaves) for leaves in released.dictionary.levels.leaves]
    finer = [level for level in range(released.level) if groups[level] > groups[released.level]]
    return finer[-1] if finer else None


def _determined(session: Session, plan: ReleasePlan, name: str, hiding: list[ReleasedColumn]) -> list[float]:
    """Per quasi-identifier, the share of the records with a value in `name` whose value determines it."""
    query = exp.select().from_(plan.source.table("source")).where(column(name, "source").is_(exp.null()).not_())
    groups = []
    for j, released in enumerate(hiding):
        if released.aggregated is not None:
            query, code = joined_value(query, released.aggregated, "source", f"d{j}")
            groups.append(code)
            continue
        level = _finer_level(released)
        assert released.dictionary is not None
        assert level is not None
        query, group = joined_code(query, released.dictionary, "source", f"d{j}", level)
        groups.append(group)
    ranges = [alias(call(f, group.copy()), f"{f}{j}") for j, group in enumerate(groups) for f in ("min", "max")]
    per_value = query.select(alias(exp.Count(this=exp.Star()), "n"), *ranges).group_by(column(name, "source"))
    determined = [
        exp.Coalesce(
            this=exp.Filter(
                this=exp.Sum(this=column("n")),
                expression=exp.Where(this=exp.EQ(this=column(f"min{j}"), expression=column(f"max{j}"))),
            ),
            expressions=[number(0)],
        )
        for j in range(len(groups))
    ]
    counts = exp.select(exp.Sum(this=column("n")), *determined).from_(per_value.subquery("values_found"))
    present, *records = session.row(counts)
    return [float(count) / float(present or 1) for count in records]
