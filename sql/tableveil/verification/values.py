"""Checks models of sensitive columns: over the written rows, against the stored distribution of the source."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.backend import Session, WarehouseSession
from tableveil.policy import AttributePolicy, Elements, NullPosition, OrderBy, Policy, privacy
from tableveil.verification.distances import distances
from tableveil.verification.owners import digest_of, secret_of
from tableveil.verification.supersets import beyond_all_supersets
from tableveil.verification.text import SLACK, at_least, at_most, by_element, differing, folded, near, quoted, spelled
from tableveil.verification.together import ROWS, classes_in
from tableveil.verification.written import Labels, Written


class Spreads:
    """The counts of the rows, which the embedded session reads. With a `marker`, that column marks suppressed rows."""

    def __init__(
        self, session: WarehouseSession, quasi_identifiers: Sequence[str], marker: str, written: Written
    ) -> None:
        self._session, self._rows = session, quoted(*written.rows)
        self.labels = len(quasi_identifiers)
        keys = [f"{quoted(label)} AS q{i}" for i, label in enumerate(quasi_identifiers)]
        self._keys = ", ".join([*keys, f"{quoted(marker) if marker else 'FALSE'} AS pool"])
        self._known: dict[str, str] = {}

    def of(self, sensitive: str) -> str:
        """For a FROM clause: labels `q0`, `q1`, …, `pool` if they are suppressed, the value `found`, `records`."""
        if sensitive not in self._known:
            query = (
                f"SELECT {self._keys}, {quoted(sensitive)} AS found, count(*) AS records FROM {self._rows} GROUP BY ALL"
            )
            self._known[sensitive] = near(self._session, f"written_spread_{len(self._known)}", query)
        return self._known[sensitive]


def check_values(session: WarehouseSession, policy: Policy, spreads: Spreads, written: Written) -> list[str]:
    """Faults of the sensitive columns that models look at; `judged_classes` has the classes."""
    models = [model for model in policy.privacy_models if isinstance(model, privacy.SensitiveModel)]
    problems: list[str] = []
    for name in dict.fromkeys(model.column for model in models):
        attribute = next(attribute for attribute in policy.attributes if attribute.column == name)
        mine = [model for model in models if model.column == name]
        problems += _check_column(session, policy, attribute, mine, spreads, written)
    return problems


@dataclass(frozen=True, slots=True)
class _Column:
    """`values` of a sensitive column, NULL among them, in `records` of the source; `labels` if it has a hierarchy."""

    values: int
    records: int
    labels: Labels | None

    @property
    def top(self) -> int:
        return len(self.labels.columns) - 1 if self.labels else 0


def _check_column(
    session: WarehouseSession,
    policy: Policy,
    attribute: AttributePolicy,
    models: Sequence[privacy.SensitiveModel],
    spreads: Spreads,
    written: Written,
) -> list[str]:
    name = attribute.column
    _make_distribution(session, name, written)
    embedded = session.embedded
    _make_spread(embedded, spreads, name)
    elements = attribute.listed_elements
    if elements is None:
        _make_spellings(embedded, name, written)
    else:
        _make_elements(embedded, elements)
    labels = next((labels for labels in written.sensitive if labels.column == name), None)
    values, records = embedded.row("SELECT count(*), coalesce(sum(records), 0)::BIGINT FROM distribution")
    column = _Column(values, records, labels)
    measured = [model.distance for model in models if isinstance(model, privacy.TCloseness | privacy.NTCloseness)]
    problems = _check_distribution(embedded, attribute, written)
    if privacy.Distance.ORDERED in measured:
        problems += _check_order(embedded, attribute)
    if privacy.Distance.HIERARCHICAL in measured:
        _make_value_groups(embedded, attribute.column, column, written)
    if not problems:
        for model in models:
            if elements is None:
                failing = _failing(session, policy, model, column, written)
            else:
                failing = embedded.value(f"SELECT count(*) FROM ({_failing_by_element(model, column)})")
            problems += [f"{failing} classes are not of {model}"] if failing else []
    counted = ("spellings",) if elements is None else ("listed", "held")
    for made in ("distribution", "source_values", "spread", "value_groups", *counted):
        embedded.execute(f"DROP TABLE IF EXISTS temp.main.{made}")
    return problems


# --- the values in the source and the rows --------------------------------------------------------------------------


def _make_distribution(session: WarehouseSession, name: str, written: Written) -> None:
    session.embedded.stage(
        "distribution",
        "SELECT position, value, value IS NULL AS is_null, records "
        "FROM tableveil.sensitive_distributions WHERE release = ? AND column_name = ?",
        [written.release, name],
    )
    value = spelled(quoted(name), written.type_of(name))
    query = f"SELECT {value} AS found, count(*) AS records FROM {written.source_rows} GROUP BY ALL"
    session.embedded.stage(
        "source_values",
        f"SELECT CAST(found AS VARCHAR) AS value, records, "
        f"row_number() OVER (ORDER BY found NULLS LAST) AS rank "
        f"FROM {near(session, 'source_counted', query)}",
    )


def _make_spread(session: Session, spreads: Spreads, name: str) -> None:
    """How each judged class, including the pool of suppressed records, spreads over the values."""
    same = " AND ".join(f"c.q{i} IS NOT DISTINCT FROM s.q{i}" for i in range(spreads.labels))
    session.stage(
        "spread",
        f"SELECT c.class, d.position, d.is_null, s.records FROM {spreads.of(name)} AS s "
        f"JOIN judged_classes AS c ON c.pool = s.pool AND {same} "
        "JOIN distribution AS d ON d.value IS NOT DISTINCT FROM CAST(s.found AS VARCHAR)",
    )


def _make_spellings(session: Session, name: str, written: Written) -> None:
    """How each class spreads over values without NULL, spellings of one being one: what models of diversity count."""
    session.stage(
        "spellings",
        "SELECT s.class, sum(s.records)::BIGINT AS records FROM spread AS s JOIN distribution AS d USING (position) "
        f"WHERE NOT s.is_null GROUP BY s.class, {folded('d.value', written.type_of(name))}",
    )


def _make_elements(session: Session, elements: Elements) -> None:
    """The elements in the lists of each value, NULL for those without any; and how many records of a class hold each.

    A record counts once for each of its elements.
    """
    session.stage(
        "listed",
        f"WITH found AS ({by_element('position', 'value', 'distribution', elements)}) "
        "SELECT d.position, found.element FROM distribution AS d LEFT JOIN found USING (position)",
    )
    session.stage(
        "held",
        "SELECT class, element, sum(records)::BIGINT AS records FROM spread JOIN listed USING (position) GROUP BY ALL",
    )


def _make_value_groups(session: Session, name: str, column: _Column, written: Written) -> None:
    assert column.labels is not None, "hierarchical distances need a hierarchy"
    value, *labels = (f"h.{quoted(label)}" for label in column.labels.columns)
    # NULL is a label of its own below the top; dense_rank counts it as one.
    groups = "".join(f", dense_rank() OVER (ORDER BY {label}) AS l{i}" for i, label in enumerate(labels, start=1))
    session.stage(
        "value_groups",
        f"SELECT d.position, d.position AS l0{groups} "
        f"FROM distribution AS d LEFT JOIN {quoted(column.labels.table)} AS h ON d.value "
        f"IS NOT DISTINCT FROM CAST({spelled(value, written.type_of(name))} AS VARCHAR)",
    )


def _check_distribution(session: Session, attribute: AttributePolicy, written: Written) -> list[str]:
    problems = []
    stored, counted = ("SELECT value, records FROM distribution", "SELECT value, records FROM source_values")
    if session.value(differing(stored, counted)):
        problems.append("a stored distribution is not the source's")
    if session.value("SELECT count(DISTINCT position) <> count(*) OR min(position) <> 0 FROM distribution"):
        problems.append("the positions in a stored distribution are not a value's each")
    more = session.value(
        "SELECT count(*) FROM (SELECT position, sum(records) AS released FROM spread GROUP BY position) "
        "JOIN distribution USING (position) WHERE released > records"
    )
    lost = session.value("SELECT (SELECT sum(size) FROM judged_classes) <> (SELECT sum(records) FROM spread)")
    if more or lost:
        problems.append("sensitive values were written that the source does not have, or not so often")
    return problems


def _check_order(session: Session, attribute: AttributePolicy) -> list[str]:
    """Whether positions are in the policy's order."""
    order = attribute.order
    if order.values:
        # A value that is not listed has no place: it is out of order.
        keys = [{"value": value, "key": float(i)} for i, value in enumerate(order.values)]
        with session.relation("listed_order", pa.Table.from_pylist(keys)):
            wrong = _disordered(session, "(SELECT key FROM listed_order AS o WHERE o.value = d.value)")
    elif order.by is OrderBy.TYPE:
        wrong = _disordered(session, "(SELECT rank FROM source_values AS o WHERE o.value = d.value)")
    else:
        type_ = "DOUBLE" if order.by is OrderBy.NUMBER else "TIMESTAMP"
        wrong = _disordered(session, f"TRY_CAST(d.value AS {type_})")
    end = {NullPosition.FIRST: "min", NullPosition.LAST: "max"}.get(order.nulls) if order.nulls else None
    if end:
        misplaced = f"is_null AND position <> (SELECT {end}(position) FROM distribution)"
        wrong = wrong or session.value(f"SELECT count(*) FROM distribution WHERE {misplaced}")
    return ["the positions in a stored distribution are not in the policy's order"] if wrong else []


def _disordered(session: Session, key: str) -> bool:
    wrong: bool = session.value(
        "SELECT coalesce(bool_or(key IS NULL OR key < before), false) FROM ("
        "SELECT key, lag(key) OVER (ORDER BY position) AS before FROM ("
        f"SELECT d.position, {key} AS key FROM distribution AS d WHERE NOT d.is_null))"
    )
    return wrong


# --- the models -----------------------------------------------------------------------------------------------------


def _failing(
    rows: WarehouseSession, policy: Policy, model: privacy.SensitiveModel, column: _Column, written: Written
) -> int:
    """The number of classes for which the model does not hold."""
    session = rows.embedded
    match model:
        case privacy.EntropyLDiversity(estimator=privacy.EntropyEstimator.GRASSBERGER):
            return _failing_grassberger(session, model)
        case privacy.TCloseness():
            return _beyond(session, model, column)
        case privacy.NTCloseness():
            return beyond_all_supersets(
                rows, policy, model, distances(model.distance, column.values, column.top), written
            )
        case _:
            failing: int = session.value(f"SELECT count(*) FROM ({_failing_classes(model, column)})")
            return failing


def _failing_classes(
    model: privacy.DistinctLDiversity
    | privacy.ProbabilisticLDiversity
    | privacy.EntropyLDiversity
    | privacy.RecursiveCLDiversity
    | privacy.DeltaDisclosure
    | privacy.BetaLikeness,
    column: _Column,
) -> str:
    """A query with a row per class for which the model does not hold."""
    present = "FROM spellings"
    # NULL is no value to the models of diversity: a class without any other has no row, and does not hold.
    valueless = f"SELECT class FROM judged_classes EXCEPT SELECT class {present}"
    match model:
        case privacy.DistinctLDiversity(l=l):
            return f"{valueless} UNION ALL SELECT class {present} GROUP BY class HAVING count(*) < {l}"
        case privacy.ProbabilisticLDiversity(l=l):
            numerator, denominator = at_least(l)
            return (
                f"{valueless} UNION ALL SELECT class {present} GROUP BY class "
                f"HAVING max(records)::HUGEINT * {numerator} > sum(records) * {denominator}"
            )
        case privacy.EntropyLDiversity(l=l):
            return (
                f"{valueless} UNION ALL SELECT class {present} GROUP BY class "
                f"HAVING ln(sum(records)) - sum(records * ln(records)) / sum(records) < {math.log(l) - SLACK!r}"
            )
        case privacy.RecursiveCLDiversity(c=c, l=l):
            numerator, denominator = at_most(c)
            return (
                f"{valueless} UNION ALL SELECT class FROM (SELECT class, records, "
                f"row_number() OVER (PARTITION BY class ORDER BY records DESC) AS rank {present}) GROUP BY class "
                f"HAVING max(records)::HUGEINT * {denominator} "
                f">= coalesce(sum(records) FILTER (rank >= {l}), 0) * {numerator}"
            )
        case privacy.DeltaDisclosure(delta=delta, absent_values=absent):
            lacking = column.values if absent is privacy.AbsentValues.REJECT else 0
            return (
                f"SELECT class FROM {_SHARES} GROUP BY class HAVING count(*) < {lacking} OR "
                f"max(abs(log2(records::DOUBLE * {column.records} / (size::DOUBLE * overall)))) > {delta} + {SLACK!r}"
            )
        case privacy.BetaLikeness(beta=beta, enhanced=enhanced):
            numerator, denominator = at_most(beta)
            holds = (
                f"records::HUGEINT * {column.records} * {denominator} "
                f"<= size::HUGEINT * overall * {numerator + denominator}"
            )
            if enhanced:
                gained = f"records::DOUBLE * {column.records} / (size::DOUBLE * overall)"
                holds += f" AND {gained} <= 1 + ln({column.records}::DOUBLE / overall) + {SLACK!r} * {gained}"
            return f"SELECT class FROM {_SHARES} GROUP BY class HAVING NOT bool_and({holds})"
        case _:
            assert_never(model)


def _failing_by_element(model: privacy.SensitiveModel, column: _Column) -> str:
    """A query with a row per class for which the model of a column's elements does not hold."""
    if isinstance(model, privacy.ProbabilisticLDiversity):
        numerator, denominator = at_least(model.l)
        return (
            "SELECT class FROM judged_classes "
            "LEFT JOIN (SELECT class, max(records) AS most FROM held WHERE element IS NOT NULL GROUP BY class) "
            "USING (class) LEFT JOIN (SELECT class, records AS without FROM held WHERE element IS NULL) USING (class) "
            f"WHERE NOT coalesce(most::HUGEINT * {numerator} "
            f"<= (size - coalesce(without, 0))::HUGEINT * {denominator}, false)"
        )
    assert isinstance(model, privacy.TCloseness), "a model of elements"
    numerator, denominator = at_most(model.t)
    # An element that no record of a class has differs by its share in the source.
    return (
        "WITH shares AS (SELECT element, sum(records)::BIGINT AS overall FROM listed "
        "JOIN distribution USING (position) GROUP BY element), "
        "lacking AS (SELECT j.class, s.element FROM judged_classes AS j CROSS JOIN shares AS s "
        f"WHERE s.overall::HUGEINT * {denominator} > {column.records}::HUGEINT * {numerator}) "
        "SELECT h.class FROM held AS h JOIN judged_classes AS j USING (class) "
        "JOIN shares AS s ON s.element IS NOT DISTINCT FROM h.element "
        f"WHERE abs(h.records::HUGEINT * {column.records} - s.overall::HUGEINT * j.size) * {denominator} "
        f"> j.size::HUGEINT * {column.records} * {numerator} "
        "UNION SELECT l.class FROM lacking AS l LEFT JOIN held AS h "
        "ON h.class = l.class AND h.element IS NOT DISTINCT FROM l.element WHERE h.class IS NULL"
    )


_SHARES = (
    "(SELECT s.class, s.records, c.size, d.records AS overall FROM spread AS s "
    "JOIN judged_classes AS c USING (class) JOIN distribution AS d USING (position))"
)


def _beyond(session: Session, model: privacy.TCloseness, column: _Column) -> int:
    """Number of classes that are further from the whole source than t."""
    session.stage("reference", "SELECT 0 AS superset, position, records FROM distribution")
    session.stage("pairs", f"SELECT class, 0 AS superset, size, {column.records} AS superset_size FROM judged_classes")
    numerator, denominator = at_most(model.t)
    beyond: int = session.value(
        f"SELECT count(*) FROM ({distances(model.distance, column.values, column.top)}) "
        f"WHERE distance * {denominator} > one * {numerator}"
    )
    session.execute("DROP TABLE temp.main.reference")
    session.execute("DROP TABLE temp.main.pairs")
    return beyond


def _failing_grassberger(session: Session, model: privacy.EntropyLDiversity) -> int:
    """Classes of n records with n (G(n) - ln l) < sum of n_i G(n_i), or fewer than l values: Grassberger's estimate."""
    counts = session.arrays(
        "SELECT DISTINCT unnest([records, total]) AS n FROM (SELECT records, sum(records) OVER (PARTITION BY class)"
        "::BIGINT AS total FROM spellings)"
    )["n"].astype(np.int64)
    table = pa.table({"n": counts, "g": grassberger(counts)})
    with session.relation("estimates", table):
        failing: int = session.value(
            "SELECT count(*) FROM judged_classes LEFT JOIN ("
            f"SELECT class, total * (t.g - {math.log(model.l)!r}) - parts AS over, total, different FROM ("
            "SELECT class, sum(records)::BIGINT AS total, sum(records * e.g) AS parts, count(*) AS different "
            "FROM spellings JOIN estimates AS e ON e.n = records GROUP BY class) "
            f"JOIN estimates AS t ON t.n = total) USING (class) "
            f"WHERE coalesce(over < -{SLACK!r} * total OR different < {model.l}, true)"
        )
    return failing


def grassberger(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """G(n), by which n_i ln n_i is replaced to estimate an entropy from few records (Grassberger 2003, equation 27).

    G(1) = -gamma - ln 2, G(2) = 2 - gamma - ln 2, G(2m + 1) = G(2m), G(2m + 2) = G(2m) + 2 / (2m + 1). So for even n
    it is 2 H(n) - H(n/2) - gamma - ln 2, with harmonic numbers H.
    """
    even = counts // 2 * 2
    return 2 * _harmonic(even) - _harmonic(even // 2) - np.euler_gamma - math.log(2)


def _harmonic(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 + 1/2 + … + 1/n; by its asymptotic series where the next term is below the last digit."""
    small = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, 1000))])
    m = np.maximum(n, 1).astype(np.float64)
    series = np.log(m) + np.euler_gamma + 1 / (2 * m) - 1 / (12 * m**2) + 1 / (120 * m**4)
    return np.where(n < len(small), small[np.minimum(n, len(small) - 1)], series)


def check_joint_values(session: Session, policy: Policy, written: Written) -> list[str]:
    """The models of sensitive columns that do not hold of joint classes.

    The ledger's classes are those of the rows' labels. (n,t)-closeness is judged of classes of labels only: the
    supersets of a joint class have no earlier classes.
    """
    models = tuple(
        model
        for model in policy.privacy_models
        if isinstance(model, privacy.SensitiveModel) and not isinstance(model, privacy.NTCloseness)
    )
    if not written.together_with or not models:
        return []
    keys = _stage_rows(session, policy, written, list(dict.fromkeys(model.column for model in models)))
    names, positions = ", ".join(map(quoted, keys)), [f"q{i}" for i in range(len(keys))]
    session.stage(
        "joint_classes",
        "SELECT row_number() OVER () AS class, FALSE AS pool, * FROM ("
        f"SELECT {names}, count(*) FROM joint_rows GROUP BY ALL) AS counted({', '.join(positions)}, size)",
    )
    session.execute("CREATE TEMPORARY VIEW judged_classes AS FROM joint_classes")
    asked, rows = replace(policy, privacy_models=models), replace(written, rows=("temp", "main", "joint_rows"))
    problems = check_values(session, asked, Spreads(session, keys, "", rows), rows)
    session.execute("DROP VIEW temp.main.judged_classes")
    for made in ("joint_classes", "joint_rows"):
        session.execute(f"DROP TABLE temp.main.{made}")
    return [f"of joint classes, {problem}" for problem in problems]


def _stage_rows(session: Session, policy: Policy, written: Written, columns: list[str]) -> list[str]:
    """The released records of the source with their labels, earlier classes and values; returns the keys of classes."""
    labels, joins, condition = written.released_labels("p")
    # No sensitive column has these names.
    end = max((len(name) for name in columns), default=0) * "_"
    earlier = sorted(written.together_with)
    keys = [f"q{i}{end}" for i in range(len(labels) + len(earlier))]
    before = [quoted(key) for key in keys[len(labels) :]]
    shown = [f"{label.rpartition(' AS ')[0]} AS {quoted(key)}" for label, key in zip(labels, keys, strict=False)]
    values = [f"{written.shown(name, f'p.{quoted(name)}')} AS {quoted(name)}" for name in columns]
    record = policy.record_column
    digest = digest_of(record or policy.person_column or "", "p", 1)
    session.stage(
        "joint_rows",
        f"WITH before AS (SELECT digest, {classes_in(earlier, before)} FROM ({ROWS}) "
        "WHERE list_contains(?2::BIGINT[], release) GROUP BY digest) "
        f"SELECT {', '.join([*shown, *values, *(f'b.{name}' for name in before)])} "
        f"FROM {written.source_rows} AS p {joins} JOIN tableveil.release_persons AS k "
        f"ON k.release = ?3 AND k.class > 0 AND k.digest = {digest} "
        f"LEFT JOIN before AS b ON b.digest = k.digest WHERE {condition}",
        [secret_of(session, records=bool(record)), earlier, written.release],
    )
    return keys
