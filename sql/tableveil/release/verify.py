"""Checks what was written, by code that shares nothing with the code that wrote it.

It knows the policy and the written objects' names; it quotes, counts and compares in its own SQL text, does its own
exact arithmetic, and trusts none of the writer's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tableveil.backend import Session
from tableveil.errors import Fault, InternalError
from tableveil.policy import KAnonymity, Policy, Role, SuppressedRecords


@dataclass(frozen=True, slots=True)
class Written:
    """What to check: objects as (schema, name).

    `types` is what the columns of the rows should be, in order; `labels` names, per generalized quasi-identifier, the
    table and the column that list its possible labels.
    """

    rows: tuple[str, str]
    classes: tuple[str, str]
    risk: tuple[str, str]
    risk_histogram: tuple[str, str]
    types: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str, str], ...]
    class_size_column: str


def verify(session: Session, policy: Policy, source_records: int, written: Written) -> None:
    """Raises `InternalError` with everything that is wrong with the written objects."""
    marker = policy.marker_column if policy.suppressed_records is SuppressedRecords.BLANK else ""
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    quasi_identifiers = [name for name, _ in written.types if roles.get(name) is Role.QUASI_IDENTIFIER]
    problems = [
        *_check_columns(session, roles, written),
        *_check_classes(session, policy, quasi_identifiers, marker, source_records, written),
        *_check_labels(session, quasi_identifiers, written),
        *_check_risks(session, written),
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
    size = _quoted(written.class_size_column)
    both = (
        f"SELECT {names}, {size} FROM {_quoted(*written.classes)}",
        f"SELECT {positions}, recounted_size FROM recounted",
    )
    for left, right in (both, both[::-1]):
        if session.value(f"SELECT count(*) FROM ({left} EXCEPT ALL {right})"):
            problems.append("the table of classes does not say what the rows say")
            break
    return problems


def _check_labels(session: Session, quasi_identifiers: list[str], written: Written) -> list[str]:
    problems = []
    for name, dictionary, label in written.labels:
        strange = session.value(
            f"SELECT count(*) FROM (SELECT q{quasi_identifiers.index(name)} FROM recounted "
            f"EXCEPT SELECT {_quoted(label)} FROM {_quoted(dictionary)})"
        )
        if strange:
            problems.append(f"{strange} labels of a quasi-identifier are not in its hierarchy at the released level")
    return problems


def _check_risks(session: Session, written: Written) -> list[str]:
    expected = session.rows("SELECT recounted_size, count(*), sum(recounted_size) FROM recounted GROUP BY 1 ORDER BY 1")
    histogram = session.rows(
        f"SELECT class_size, classes, records FROM {_quoted(*written.risk_histogram)} ORDER BY class_size"
    )
    problems = [] if histogram == expected else ["the risk histogram does not say what the rows say"]
    records, classes, smallest = session.row(
        "SELECT coalesce(sum(recounted_size), 0), count(*), min(recounted_size) FROM recounted"
    )
    measures = dict(session.rows(f"SELECT measure, value FROM {_quoted(*written.risk)} WHERE threshold IS NULL"))
    highest = 1 / smallest if smallest else 0.0
    if (measures["records"], measures["classes"], measures["highest_risk"]) != (records, classes, highest):
        problems.append("the risk measures do not say what the rows say")
    for threshold, value in session.rows(
        f"SELECT threshold, value FROM {_quoted(*written.risk)} WHERE threshold IS NOT NULL"
    ):
        above = sum(number for size, _, number in expected if Fraction(1, size) > Fraction(threshold))
        if above != value:
            problems.append("the records above a risk threshold are not what the rows say")
    session.execute("DROP TABLE recounted")
    return problems
