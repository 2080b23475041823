"""Checks what was written, by queries of its own over the written objects.

It knows the policy, how many records the search kept, and the written objects' names; it quotes, counts and compares in
its own SQL text, does its own exact arithmetic, and trusts none of the writer's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tableveil.backend import Session
from tableveil.errors import Fault, InternalError
from tableveil.policy import KAnonymity, Policy, Role, SuppressedRecords


@dataclass(frozen=True, slots=True)
class Written:
    """What to check: objects as (catalog, schema, name).

    `kept` is the number of records that the search kept; `types` is what the columns of the rows should be, in order;
    `labels` names, per quasi-identifier, the table and the column that list its possible labels, or values at level 0;
    `class_columns` are those for the size and the risk of a class.
    """

    rows: tuple[str, str, str]
    classes: tuple[str, str, str]
    risk: tuple[str, str, str]
    risk_histogram: tuple[str, str, str]
    kept: int
    types: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str, str], ...]
    class_columns: tuple[str, str]


def verify(session: Session, policy: Policy, source_records: int, written: Written) -> None:
    """Raises `InternalError` with everything that is wrong with the written objects."""
    marker = policy.marker_column if policy.suppressed_records is SuppressedRecords.BLANK else ""
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    quasi_identifiers = [name for name, _ in written.types if roles.get(name) is Role.QUASI_IDENTIFIER]
    problems = [
        *_check_columns(session, roles, written),
        *_check_classes(session, policy, quasi_identifiers, marker, source_records, written),
        *_check_labels(session, quasi_identifiers, written),
        *_check_risks(session, policy, source_records, written),
    ]
    if problems:
        faults = [Fault("release", problem, "a release that meets its policy") for problem in problems]
        message = "the written release failed its verification and was rolled back: " + "; ".join(problems)
        raise InternalError("VERIFICATION_FAILED", message, faults)


def _quoted(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _check_columns(session: Session, roles: dict[str, Role], written: Written) -> list[str]:
    found = tuple((name, type_) for name, type_, *_ in session.rows(f"DESCRIBE {_quoted(*written.rows)}"))
    problems = []
    if found != written.types:
        problems.append(f"the rows have {len(found)} columns that are not the {len(written.types)} expected ones")
    if any(roles.get(name) is Role.IDENTIFYING for name, _ in found):
        problems.append("the rows have an identifying column")
    return problems


def _check_classes(
    session: Session, policy: Policy, quasi_identifiers: list[str], marker: str, source_records: int, written: Written
) -> list[str]:
    rows, names = _quoted(*written.rows), ", ".join(map(_quoted, quasi_identifiers))
    kept = f"NOT {_quoted(marker)}" if marker else "TRUE"
    # Positional names, because a quasi-identifier may be called anything.
    positions = ", ".join(f"q{i}" for i in range(len(quasi_identifiers)))
    session.execute(
        f"CREATE TEMPORARY TABLE recounted AS SELECT * FROM (SELECT {names}, count(*) FROM {rows} "
        f"WHERE {kept} GROUP BY {names}) AS classes({positions}, recounted_size)"
    )
    smallest, released = session.row("SELECT min(recounted_size), coalesce(sum(recounted_size), 0) FROM recounted")
    total = session.value(f"SELECT count(*) FROM {rows}")
    problems = []
    for model in policy.privacy_models:
        match model:
            case KAnonymity(k):
                if smallest is not None and smallest < k:
                    problems.append(f"a released class has {smallest} records, fewer than k = {k}")
    suppressed = source_records - released
    if released != written.kept:
        problems.append(f"{released} records were released where the search kept {written.kept}")
    if suppressed < 0 or suppressed > Fraction(policy.suppression_limit) * source_records:
        problems.append(f"{suppressed} of {source_records} records are suppressed, outside the limit")
    if total != released + (suppressed if marker else 0):
        problems.append(f"{total} rows were written for {released} released and {suppressed} suppressed records")
    if marker:
        others = [f"{_quoted(name)} IS NOT NULL" for name, _ in written.types if name != marker]
        leaking = session.value(
            f"SELECT count(*) FROM {rows} "
            f"WHERE {_quoted(marker)} IS NULL OR ({_quoted(marker)} AND ({' OR '.join(others)}))"
        )
        if leaking:
            problems.append(f"{leaking} suppressed rows are not blank")
    size, risk = map(_quoted, written.class_columns)
    both = (
        f"SELECT {names}, {size}, {risk} FROM {_quoted(*written.classes)}",
        f"SELECT {positions}, recounted_size, 1::DOUBLE / recounted_size FROM recounted",
    )
    for left, right in (both, both[::-1]):
        if session.value(f"SELECT count(*) FROM ({left} EXCEPT ALL {right})"):
            problems.append("the table of classes does not say what the rows say")
            break
    return problems


def _check_labels(session: Session, quasi_identifiers: list[str], written: Written) -> list[str]:
    problems = []
    types = dict(written.types)
    for name, dictionary, label in written.labels:
        strange = session.value(
            f"SELECT count(*) FROM (SELECT q{quasi_identifiers.index(name)} FROM recounted "
            f"EXCEPT SELECT CAST({_quoted(label)} AS {types[name]}) FROM {_quoted(dictionary)})"
        )
        if strange:
            problems.append(f"{strange} labels of a quasi-identifier are not in its hierarchy at the released level")
    return problems


def _check_risks(session: Session, policy: Policy, source_records: int, written: Written) -> list[str]:
    sizes: list[tuple[int, int]] = session.rows("SELECT recounted_size, count(*) FROM recounted GROUP BY 1 ORDER BY 1")
    session.execute("DROP TABLE recounted")
    histogram = session.rows(
        f"SELECT class_size, classes, records, risk FROM {_quoted(*written.risk_histogram)} ORDER BY class_size"
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
    measures = session.rows(f"SELECT measure, threshold, value FROM {_quoted(*written.risk)}")
    if sorted(map(repr, measures)) != sorted(repr((*key, float(value))) for key, value in expected.items()):
        problems.append("the risk measures do not say what the rows say")
    return problems
