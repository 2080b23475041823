"""Checks the written objects as a whole: columns, classes, privacy, labels and risks."""

from collections.abc import Callable, Mapping
from fractions import Fraction

from tableveil.backend import Session, WarehouseSession, table
from tableveil.errors import Fault, InternalError
from tableveil.policy import JobPart, Policy, Role, SuppressedRecords
from tableveil.verification.estimated import check_estimated
from tableveil.verification.labels import check_label_columns
from tableveil.verification.methods import check_method
from tableveil.verification.new_keys import check_new_keys
from tableveil.verification.related import check_related
from tableveil.verification.safe_harbor import check_safe_harbor
from tableveil.verification.text import SLACK, differing, folded, near, quoted
from tableveil.verification.together import check_classes_of_people, check_together
from tableveil.verification.told import check_told
from tableveil.verification.values import Spreads, check_joint_values, check_values
from tableveil.verification.written import Judged, Written


def verify(session: WarehouseSession, policy: Policy, source_records: int, written: Written) -> None:
    """Raises `InternalError` with all faults of the written objects."""
    marker = "" if policy.suppressed_records is SuppressedRecords.DROP else policy.marker_column
    # A fresh key of people with events has the name of theirs.
    roles = {a.column: a.role for a in policy.attributes if not policy.related or a.column != policy.person_column}
    # Columns with labels come first: their positions are those of the labels.
    labelled = {attribute.column for attribute in policy.quasi_identifiers}
    quasi_identifiers = sorted(written.class_labels(policy), key=lambda name: name not in labelled)
    judged = Judged(session, policy, quasi_identifiers, marker, source_records, written)
    spreads = Spreads(session, quasi_identifiers, marker, written)
    sizes = _recounted(judged, spreads)
    problems = [
        *_check_columns(session, roles, written),
        *_check_classes(judged, spreads, sum(size * classes for size, classes in sizes)),
        *_check_privacy(judged, spreads),
        *(() if policy.has_own_levels else _check_labels(session.embedded, quasi_identifiers, written)),
        *check_label_columns(session, policy, marker, written),
        *(check_estimated(judged) if written.estimated else ()),
        *(problem for part, check in _CHECKS.items() if part in policy.parts for problem in check(judged)),
        *_check_risks(session, policy, source_records, written, sizes),
    ]
    if problems:
        faults = [Fault("release", problem, "a release that meets its policy") for problem in problems]
        message = "the written release failed its verification and was rolled back: " + "; ".join(problems)
        raise InternalError("VERIFICATION_FAILED", message, faults)


def _check_columns(session: WarehouseSession, roles: dict[str, Role], written: Written) -> list[str]:
    columns = tuple(session.described(f"SELECT * FROM {quoted(*written.rows)}"))
    problems = []
    if columns != written.types:
        problems.append(f"the rows have {len(columns)} columns that are not the {len(written.types)} expected ones")
    if any(roles.get(name) is Role.IDENTIFYING for name, _ in columns):
        problems.append("the rows have an identifying column")
    if not session.traits.comments:
        # The engine may have copied them from the source.
        written_tables = (written.rows, written.classes, written.risk, written.risk_histogram, written.explained)
        noted = sum(len(session.noted(table(*name[::-1]))) for name in written_tables if name is not None)
        if noted:
            problems.append(f"{noted} written columns have comments or other metadata")
    return problems


def _recounted(judged: Judged, spreads: Spreads) -> list[tuple[int, int]]:
    """Counts the classes of the written rows into a table `recounted`; returns how many have each size, ascending."""
    session, written = judged.session, judged.written
    rows, names = quoted(*written.rows), ", ".join(map(quoted, judged.quasi_identifiers))
    kept, positions = f"NOT {quoted(judged.marker)}" if judged.marker else "TRUE", ", ".join(judged.positions)
    counted = f"SELECT {names}, count(*) FROM {rows} WHERE {kept} GROUP BY {names}"
    counting = session
    if session.traits.collects and written.class_columns.diversity:
        # The rows that a warehouse counts by values, too, need not be counted twice.
        counting, (sensitive, *_) = session.embedded, written.class_columns.diversity[0]
        counted = f"SELECT {positions}, sum(records)::BIGINT FROM {spreads.of(sensitive)} WHERE NOT pool GROUP BY ALL"
    counting.collect("recounted", f"SELECT * FROM ({counted}) AS classes({positions}, recounted_size)")
    sizes: list[tuple[int, int]] = session.embedded.rows(
        "SELECT recounted_size, count(*) FROM recounted GROUP BY 1 ORDER BY 1"
    )
    return sizes


def _check_classes(judged: Judged, spreads: Spreads, released: int) -> list[str]:
    session, policy, written, marker = judged.session, judged.policy, judged.written, judged.marker
    rows = quoted(*written.rows)
    problems = []
    suppressed = judged.source_records - released
    if released != written.kept:
        problems.append(f"{released} records were released where the search kept {written.kept}")
    if suppressed < 0 or suppressed > Fraction(policy.suppression_limit) * judged.source_records:
        problems.append(f"{suppressed} of {judged.source_records} records are suppressed, outside the limit")
    # Without a marker all rows were counted as released.
    if marker:
        blank = [name for name, _ in written.types if name != marker]
        if policy.suppressed_records is SuppressedRecords.KEEP:
            blank = [*judged.quasi_identifiers, *written.added]
        others = [f"{quoted(name)} IS NOT NULL" for name in blank]
        total, leaking = session.row(
            f"SELECT count(*), count(CASE WHEN {quoted(marker)} IS NULL OR ({quoted(marker)} AND "
            f"({' OR '.join(others)})) THEN 1 END) FROM {rows}"
        )
        if total != released + suppressed:
            problems.append(f"{total} rows were written for {released} released and {suppressed} suppressed records")
        if leaking:
            problems.append(f"{leaking} suppressed rows are not blank")
    return [*problems, *_check_class_table(judged, spreads)]


def _check_class_table(judged: Judged, spreads: Spreads) -> list[str]:
    session, written = judged.session, judged.written
    names, positions = ", ".join(map(quoted, judged.quasi_identifiers)), ", ".join(judged.positions)
    embedded, classes = session.embedded, near(session, "written_classes", f"SELECT * FROM {quoted(*written.classes)}")
    size, risk = quoted(written.class_columns.size), quoted(written.class_columns.risk)
    recounted = f"SELECT {positions}, recounted_size, 1::DOUBLE / recounted_size FROM recounted"
    right = not embedded.value(differing(recounted, f"SELECT {names}, {size}, {risk} FROM {classes}"))
    pairs = zip(judged.quasi_identifiers, judged.positions, strict=True)
    same = " AND ".join(f"c.{quoted(name)} IS NOT DISTINCT FROM r.{position}" for name, position in pairs)
    for sensitive, distinct, entropy in written.class_columns.diversity:
        alike = embedded.value(
            f"SELECT count(*) = (SELECT count(*) FROM recounted) FROM {classes} AS c "
            f"JOIN (SELECT {positions}, count(value) AS different, "
            "coalesce(exp(ln(sum(records) FILTER (present)) - sum(records * ln(records)) FILTER (present) "
            "/ sum(records) FILTER (present)), 0) AS l FROM (SELECT *, value IS NOT NULL AS present FROM "
            f"{_by_value(session, sensitive, positions, spreads, written)}) GROUP BY {positions}) AS r ON {same} "
            f"WHERE c.{quoted(distinct)} = r.different AND abs(c.{quoted(entropy)} - r.l) <= {SLACK!r} * (1 + r.l)"
        )
        right = right and alike
    return [] if right else ["the table of classes does not say what the rows say"]


def _by_value(session: WarehouseSession, sensitive: str, positions: str, spreads: Spreads, written: Written) -> str:
    """The `records` of each class by `value`, for a FROM clause; texts that are spellings of one are one value."""
    values, type_ = spreads.of(sensitive), written.type_of(sensitive)
    by_value = f"(SELECT {positions}, found AS value, records FROM {values} WHERE NOT pool)"
    if folded("found", type_) == "found":
        return by_value
    rows = f"(SELECT {quoted(sensitive)} AS found FROM {quoted(*written.rows)})"
    # Few columns have several spellings of a value: only then the values of all classes are grouped once more.
    if session.embedded.value(
        f"SELECT count(found) = count(DISTINCT {folded('found', type_)}) "
        f"FROM (SELECT DISTINCT found FROM {values if session.traits.collects else rows})"
    ):
        return by_value
    return (
        f"(SELECT {positions}, {folded('value', type_)} AS value, sum(records)::BIGINT AS records "
        f"FROM {by_value} GROUP BY ALL)"
    )


def _check_privacy(judged: Judged, spreads: Spreads) -> list[str]:
    """Whether every privacy model holds, also for suppressed records that are released as one more class."""
    session, policy, written, positions = judged.session, judged.policy, judged.written, judged.positions
    pool = ""
    if policy.suppressed_records is SuppressedRecords.KEEP:
        session.collect("pool", f"SELECT count(*) AS size FROM {quoted(*written.rows)} WHERE {quoted(judged.marker)}")
        nothing = "".join(", NULL" for _ in positions)
        pool = f" UNION ALL SELECT -1, TRUE, size{nothing} FROM pool WHERE size > 0"
    embedded = session.embedded
    embedded.execute(
        "CREATE TEMPORARY VIEW judged_classes AS SELECT rowid AS class, FALSE AS pool, recounted_size AS size, "
        f"{', '.join(positions)} FROM recounted{pool}"
    )
    problems = check_method(judged)
    problems += check_values(session, policy, spreads, written) if JobPart.VALUES in policy.parts else []
    problems += check_safe_harbor(session, policy, written) if JobPart.SAFE_HARBOR in policy.parts else []
    if written.person:
        embedded.execute("DROP TABLE IF EXISTS temp.main.owned")
    embedded.execute("DROP VIEW temp.main.judged_classes")
    if pool:
        embedded.execute("DROP TABLE temp.main.pool")
    return problems


def _check_labels(session: Session, quasi_identifiers: list[str], written: Written) -> list[str]:
    if not written.labels:
        return []
    strange = [
        f"SELECT count(*) FROM (SELECT q{quasi_identifiers.index(labels.column)} FROM recounted "
        f"EXCEPT SELECT {written.label(labels, labels.level, 'd')} FROM {quoted(labels.table)} AS d)"
        for labels in written.labels
    ]
    return [
        f"{number} labels of a quasi-identifier are not in its hierarchy at the released level"
        for (number,) in session.rows(" UNION ALL ".join(strange))
        if number
    ]


def _check_risks(
    session: WarehouseSession, policy: Policy, source_records: int, written: Written, sizes: list[tuple[int, int]]
) -> list[str]:
    session.embedded.execute("DROP TABLE recounted")
    histogram = session.rows(
        f"SELECT class_size, classes, records, risk FROM {quoted(*written.risk_histogram)} ORDER BY class_size"
    )
    problems = []
    if histogram != [(size, classes, size * classes, 1 / size) for size, classes in sizes]:
        problems.append("the risk histogram does not say what the rows say")
    records = sum(size * classes for size, classes in sizes)
    classes = sum(classes for _, classes in sizes)
    expected: dict[tuple[str, str | None], float] = {
        ("records", None): records,
        ("classes", None): classes,
        ("highest_risk", None): 1 / sizes[0][0] if sizes else 0,
        ("average_risk", None): classes / records if sizes else 0,
        ("lowest_risk", None): 1 / sizes[-1][0] if sizes else 0,
        ("unique_records", None): sum(classes for size, classes in sizes if size == 1),
        ("suppressed_records", None): source_records - records,
    }
    for threshold in policy.risk_thresholds:
        above = sum(size * classes for size, classes in sizes if Fraction(1, size) > Fraction(threshold))
        expected["records_above_threshold", str(threshold)] = above
    measures = session.rows(f"SELECT measure, threshold, value FROM {quoted(*written.risk)}")
    if sorted(map(repr, measures)) != sorted(repr((*key, float(value))) for key, value in expected.items()):
        problems.append("the risk measures do not say what the rows say")
    return problems


def _of_earlier(judged: Judged) -> list[str]:
    session, policy, written = judged.session.embedded, judged.policy, judged.written
    return [
        *check_together(session, policy, written),
        *check_new_keys(session, policy, written),
        *check_joint_values(session, policy, written),
    ]


_CHECKS: Mapping[JobPart, Callable[[Judged], list[str]]] = {
    JobPart.SUPPRESSED_BY: lambda of: check_told(of.session, of.policy, of.marker, of.written),
    JobPart.PEOPLE: lambda of: check_classes_of_people(of.session.embedded, of.policy, of.written),
    JobPart.TOGETHER: _of_earlier,
    JobPart.RELATED: check_related,
}
"""The checks of the parts that the policy names."""
