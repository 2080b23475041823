"""Checks that the written labels are among those that HIPAA's Safe Harbor allows, for any hierarchy."""

import datetime

from tableveil.backend import Session, WarehouseSession
from tableveil.hierarchy import SafeHarborAge, SafeHarborDate, SafeHarborZip
from tableveil.policy import Policy, SafeHarbor
from tableveil.verification.text import near, quoted
from tableveil.verification.written import Written

_BELOW_90 = "[1-8]?[0-9]"


def check_safe_harbor(session: WarehouseSession, policy: Policy, written: Written) -> list[str]:
    """If the policy demands it, the columns that reveal more than allowed; `judged_classes` has the classes."""
    if not any(isinstance(model, SafeHarbor) for model in policy.privacy_models):
        return []
    hierarchies = {attribute.column: attribute.hierarchy for attribute in policy.attributes}
    problems = []
    for j, labels in enumerate(written.labels):
        session.embedded.execute(
            "CREATE OR REPLACE TEMPORARY VIEW harboured AS SELECT DISTINCT CAST("
            f"q{j} AS VARCHAR) AS label FROM judged_classes WHERE q{j} IS NOT NULL AND CAST(q{j} AS VARCHAR) <> '*'"
        )
        match hierarchies[labels.column]:
            case SafeHarborZip() as zips:
                problems += _check_zips(session, zips, written)
            case SafeHarborAge():
                problems += _check_ages(session.embedded)
            case SafeHarborDate() as dates:
                problems += _check_dates(session.embedded, dates)
    session.embedded.execute("DROP VIEW temp.main.harboured")
    return problems


def _check_zips(session: WarehouseSession, zips: SafeHarborZip, written: Written) -> list[str]:
    problems = []
    finer = _unlike(session.embedded, "[0-9]{1,3}")
    if finer:
        problems.append(f"{finer} labels tell more of a ZIP code than three digits")
    # Codes that begin with 000 belong to the small areas, and these may have few people.
    code, population = f"CAST({quoted(zips.zip_column)} AS VARCHAR)", quoted(zips.population_column)
    table = quoted(written.rows[0], zips.schema or "main", zips.table)
    areas = near(session, "zip_people", f"SELECT {code} AS code, {population} AS people FROM {table}")
    small = session.embedded.value(
        "SELECT count(*) FROM harboured AS h WHERE h.label <> '000' AND NOT EXISTS (SELECT 1 FROM ("
        f"SELECT substr(code, 1, digits) AS area, sum(people) AS people FROM {areas}, range(1, 4) AS r(digits) "
        "GROUP BY area) AS a WHERE a.area = h.label AND a.people > 20000)"
    )
    if small:
        problems.append(f"{small} labels of ZIP codes are of areas that have no more than 20,000 people")
    return problems


def _check_ages(session: Session) -> list[str]:
    finer = _unlike(session, rf"90\+|{_BELOW_90}|\[{_BELOW_90}, {_BELOW_90}\]")
    return [f"{finer} labels of ages are neither below 90 nor 90+"] if finer else []


def _check_dates(session: Session, dates: SafeHarborDate) -> list[str]:
    if not dates.birth_as_of:
        finer = _unlike(session, "[0-9]{4}s?")
        return [f"{finer} labels of dates tell more than the year"] if finer else []
    # People born in this year are 90 in the year of the policy's day.
    oldest = datetime.date.fromisoformat(dates.birth_as_of).year - 90
    problems = []
    finer = _unlike(session, f"[0-9]{{4}}s?|{oldest:04d} or before")
    if finer:
        problems.append(f"{finer} labels of dates of birth tell more than the year")
    old = session.value(
        "SELECT count(*) FROM harboured WHERE regexp_full_match(label, '[0-9]{4}s?') "
        "AND CAST(label[1:4] AS INTEGER) + CASE WHEN label LIKE '%s' THEN 9 ELSE 0 END <= ?",
        [oldest],
    )
    if old:
        problems.append(f"{old} labels of dates of birth tell an age over 89")
    return problems


def _unlike(session: Session, allowed: str) -> int:
    """The number of labels that do not match as a whole."""
    unlike: int = session.value("SELECT count(*) FROM harboured WHERE NOT regexp_full_match(label, ?)", [allowed])
    return unlike
