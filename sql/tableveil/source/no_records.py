"""Finds rows that are no records, but lines of totals, notes or nothing above or below the records of a file."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import Session, cast, expression, sql, text

_FEWEST_ROWS = 10
"""In smaller tables, one row is often the sum of the others."""

_MOST = 0.2
"""Above this share of the rows, they are what the table is about, as in statistics by groups."""

_MOST_SAID = 50
_FEWEST_ADDENDS = 3
_FEWEST_FILLED = 4
"""Where rows have fewer values, few of them say nothing."""

TOTAL = (
    r"(?i)^\W*((grand|sub|sous|zwischen|gesamt|end)\W?)?(totals?|totales?|totaux|totaal|totais|summen?|sums?|sumas?|"
    r"sommes?|somm[ae]|somas?|gesamt|insgesamt|anzahl|mean|average|mittelwert|durchschnitt|moyenne|m[eé]dia|promedio|"
    r"gemiddelde)(\W.{0,20})?$"
)
"""Words for totals and means in a cell, for DuckDB and Python alike."""

_NOTE = r"^\W*[*(©]|:|\S\s+\S+\s+\S"
"""Words, or what begins like a footnote; a single word may be somebody's number."""


@dataclass(frozen=True, slots=True)
class NoRecords:
    """Rows that seem to be no records: how many, the column that shows it, and the condition of all others."""

    column: str
    rows: int
    others: exp.Expr


def no_records(
    session: Session, rows: exp.Expr, columns: Mapping[str, exp.Expr], numbers: Mapping[str, exp.Expr]
) -> tuple[NoRecords, ...]:
    """Looks at all `columns` as texts of a FROM clause, of which some are `numbers` as DOUBLE.

    A row is none if it is empty or has a note alone, or has the sums of all others in two columns. One sum is enough
    beside half of the usual values; so is it, or any gap, beside a word for a total that no record has.
    """
    looked = sql(
        "SELECT texts, numbers, list_count(texts) AS filled, list_position($totals, true) AS word "
        "FROM (SELECT $texts AS texts, $numbers AS numbers FROM $rows)",
        texts=exp.Array(expressions=[expression("nullif(trim($one), '')", one=one) for one in columns.values()]),
        totals=exp.Array(
            expressions=[expression(f"regexp_matches(texts[{i}], $total)", total=text(TOTAL)) for i in _places(columns)]
        ),
        numbers=exp.Array(expressions=list(numbers.values()) or [exp.null()]),
        rows=rows,
    ).subquery("looked")
    records, usual, suspects, *tops = session.row(
        sql(
            "SELECT count(*), quantile_disc(filled, 0.5), count_if(word > 0 OR filled < 2), $tops FROM $looked",
            tops=[_sum_of_others(i) for i in _places(numbers)] or [exp.null()],
            looked=looked,
        )
    )
    sums = {i: top for i, top in enumerate(tops, 1) if top is not None}
    if records < _FEWEST_ROWS or not (suspects or sums):
        return ()
    reached = [expression(f"numbers[{i}] = $top", top=_double(top)) for i, top in sums.items()]
    gaps = f"2 * filled <= {usual}" if usual >= _FEWEST_FILLED else "false"
    found = session.rows(
        sql(
            "SELECT place, texts[place], list_position(sums, true), filled = 0, "
            f"CASE WHEN word > 0 THEN reached = 0 AND filled >= {usual} WHEN filled < 2 THEN NOT ({gaps}) "
            f"ELSE reached < 2 AND NOT (reached = 1 AND {gaps}) END AS is_record, count(*) FROM "
            "(SELECT *, coalesce(list_sum(CAST(sums AS INTEGER[])), 0) AS reached, CASE WHEN word > 0 THEN word "
            "WHEN filled = 1 AND regexp_matches(list_any_value(texts), $note) "
            "THEN list_position(texts, list_any_value(texts)) END AS place FROM "
            "(SELECT *, $sums AS sums FROM $looked)) WHERE place > 0 OR filled = 0 OR reached > 0 GROUP BY ALL",
            note=text(_NOTE),
            sums=exp.Array(expressions=reached or [exp.false()]),
            looked=looked,
        )
    )
    listed = tuple(_listed(columns, numbers, sums, found))
    return listed if sum(one.rows for one in listed) <= _MOST * records else ()


_Found = Sequence[tuple[int | None, str | None, int | None, bool, bool, int]]
"""The place and the text of what is said, the first sum's place, whether the row is empty or a record, and how many."""


def _listed(
    columns: Mapping[str, exp.Expr], numbers: Mapping[str, exp.Expr], sums: Mapping[int, float], found: _Found
) -> Iterator[NoRecords]:
    names, of_records = [*columns], {(place, said) for place, said, _, _, is_record, _ in found if is_record}
    said_in, summed, empty = defaultdict[int, Counter[str]](Counter), Counter[int](), 0
    for place, said, first, is_empty, is_record, count in found:
        if place and said and (place, said) not in of_records:
            said_in[place][said] += count
        elif is_empty and not is_record:
            empty += count
        elif first and not place and not is_record:
            summed[[*sums][first - 1]] += count
    for place, counts in sorted(said_in.items()):
        if len(counts) <= _MOST_SAID:
            name = names[place - 1]
            words = [text(one) for one in sorted(counts)]
            others = exp.In(this=exp.Trim(this=columns[name].copy()), expressions=words).not_()
            yield NoRecords(name, counts.total(), expression("coalesce($others, true)", others=others))
    for place, count in sorted(summed.items()):
        name = [*numbers][place - 1]
        yield NoRecords(name, count, exp.NullSafeNEQ(this=numbers[name].copy(), expression=_double(sums[place])))
    if empty:
        filled = exp.or_(*(value.copy().is_(exp.null()).not_() for value in columns.values()))
        yield NoRecords(names[0], empty, filled)


def _sum_of_others(place: int) -> exp.Expr:
    """The greatest number at a place of the list, if it is the sum of all others: of some that are not zero."""
    value = f"numbers[{place}]"
    is_sum = (
        f"abs(2 * max({value}) - sum({value})) <= 1e-9 * max({value}) AND count_if({value} <> 0) > {_FEWEST_ADDENDS}"
    )
    return expression(f"CASE WHEN max({value}) > 0 AND {is_sum} THEN max({value}) END")


def _double(value: float) -> exp.Expr:
    return cast(text(repr(value)), "DOUBLE")


def _places(of: Mapping[str, exp.Expr]) -> range:
    return range(1, len(of) + 1)
