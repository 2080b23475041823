"""Ten questions at an endpoint, as an analyst would first write them, and then as the error's hint says."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi as flight_sql
import pytest

from benchmarks import discharges
from benchmarks.answers.released import RELEASED, Both, released
from benchmarks.answers.served import connected, served
from benchmarks.discharges import demo_policy
from tableveil.policy import Policy
from tableveil.policy.methods.local_recoding import LocalRecoding

pytestmark = pytest.mark.long

ROWS = 2_000

RIGHT, HINTED, WRONG, REFUSED = "right at once", "right by the hint", "**wrong**", "refused, without a right hint"

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the first try, whether rows answer it, and what an analyst writes by a hint that has `hinted`."""

    asked: str
    first: str
    is_right: Callable[[Rows, Both], bool]
    hinted: str = ""
    then: str = ""


@pytest.mark.parametrize("policy", [demo_policy(), replace(demo_policy(), methods=(LocalRecoding(),))])
def test_first_tries_are_right_or_have_a_right_hint(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discharges, "CACHE", tmp_path)
    with released(policy, ROWS) as both, served(both.directory) as uri, closing(connected(uri)) as connection:
        found = {question.asked: _outcome(question, connection, both) for question in QUESTIONS}
    assert set(found.values()) <= {RIGHT, HINTED}, found


def _outcome(question: Question, connection: flight_sql.Connection, both: Both) -> str:
    try:
        return RIGHT if question.is_right(_ask(connection, question.first), both) else WRONG
    except flight_sql.Error as error:
        message = str(error)
    if not question.then or question.hinted not in message:
        return REFUSED
    try:
        return HINTED if question.is_right(_ask(connection, question.then), both) else WRONG
    except flight_sql.Error:
        return REFUSED


def _ask(connection: flight_sql.Connection, statement: str) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: Rows = cursor.fetchall()
        return rows


# --- what is right ----------------------------------------------------------------------------------------------------


def _ordered(rows: Rows, both: Both) -> bool:
    counts = Counter(label for (label,) in both.rows(f"SELECT age FROM {RELEASED}"))
    expected = both.rows(f"SELECT DISTINCT age, age_rank FROM {RELEASED} ORDER BY age_rank")
    return bool(rows == [(label, counts[label]) for label, _ in expected])


def _all_weighed(rows: Rows, both: Both) -> bool:
    ((records,),) = both.rows(f"SELECT count(*) FROM {RELEASED}")
    return bool(abs(sum(row[-1] for row in rows) - float(str(records))) < 1e-6)


def _holds_share(rows: Rows, both: Both) -> bool:
    ((answer,),) = rows
    ((old, people, kept),) = both.rows(
        "SELECT count(*) FILTER (WHERE age > 65), count(age), (SELECT count(age) FROM "
        f"{RELEASED}) FROM memory.main.source"
    )
    old, people, kept = (int(str(number)) for number in (old, people, kept))
    # The suppressed may all be old, or all young.
    least, most = max(0, old - (people - kept)) / kept, min(old, kept) / kept
    return bool(answer["certain"] <= most and answer["possible"] >= least and answer["certain"] <= answer["possible"])


def _same_as(expected: Callable[[list[dict[str, Any]]], Rows]) -> Callable[[Rows, Both], bool]:
    """Whether they are the rows that plain Python makes of the released ones."""

    def is_same(rows: Rows, both: Both) -> bool:
        relation = both.connection.sql(f"FROM {RELEASED}")
        records = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        return sorted(map(repr, rows)) == sorted(map(repr, expected(records)))

    return is_same


def _names(records: list[dict[str, Any]]) -> Rows:
    known = {"M": "men", "F": "women", "*": "unknown"}
    return list(Counter(known[record["sex"]] for record in records if record["sex"] in known).items())


def _medians(records: list[dict[str, Any]]) -> Rows:
    stays: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        low, high = record["length_of_stay_from"], record["length_of_stay_to"]
        ends = (float("-inf") if low is None else low, float("inf") if high is None else high)
        stays[record["county"]].append(ends)
    answers = []
    for county, of in stays.items():
        low = statistics.median_low(end for end, _ in of)
        high = statistics.median_high(end for _, end in of)
        answers.append((county, {"low": _finite(low), "high": _finite(high)}))
    return answers


def _finite(value: float) -> int | None:
    return None if abs(value) == float("inf") else int(value)


def _commonest(records: list[dict[str, Any]]) -> Rows:
    counts = Counter((record["age"], record["diagnosis"]) for record in records)
    found = []
    for age in {age for age, _ in counts}:
        of = sorted((-n, diagnosis) for (other, diagnosis), n in counts.items() if other == age)
        found += [(age, diagnosis, -n) for n, diagnosis in of[:5]]
    return found


def _histogram(records: list[dict[str, Any]]) -> Rows:
    counts = Counter((record["length_of_stay_from"], record["length_of_stay_to"]) for record in records)
    return [(*ends, n) for ends, n in counts.items()]


def _suppressed(rows: Rows, both: Both) -> bool:
    missing = both.rows(f"SELECT (SELECT count(*) FROM memory.main.source) - count(*) FROM {RELEASED}")
    return [int(value) for (value,) in rows] == [int(str(number)) for (number,) in missing]


def _cited(rows: Rows, both: Both) -> bool:
    return len(rows) > 1 and any(fact == "cite" and "release" in str(value) for fact, value in rows)


QUESTIONS = (
    Question(
        "records by age label, in order",
        f"SELECT age, count(*) AS records FROM {RELEASED} GROUP BY age ORDER BY age",
        _ordered,
        "write ORDER BY min(age_rank)",
        f"SELECT age, count(*) AS records FROM {RELEASED} GROUP BY age ORDER BY min(age_rank)",
    ),
    Question(
        "mean charge by sex and ten-year band",
        f"SELECT sex, age_from // 10 * 10 AS band, avg(charge), count(*) FROM {RELEASED} GROUP BY ALL",
        _all_weighed,
        "Write GROUP BY age",
        f"SELECT sex, age, avg(charge), count(*) FROM {RELEASED} GROUP BY ALL",
    ),
    Question(
        "share over 65",
        f"SELECT avg((age > '65')::INTEGER) FROM {RELEASED}",
        _holds_share,
        "tv_count_between",
        f"SELECT tv_share_between(age, 66, NULL) FROM {RELEASED}",
    ),
    Question(
        "join with a small lookup",
        f"WITH names (sex, name) AS (VALUES ('M', 'men'), ('F', 'women')) SELECT name, count(*) FROM {RELEASED} "
        "JOIN names USING (sex) GROUP BY name",
        _same_as(_names),
        "for all who may be meant",
        f"WITH names (sex, name) AS (VALUES ('M', 'men'), ('F', 'women'), ('*', 'unknown')) SELECT name, count(*) "
        f"FROM {RELEASED} JOIN names USING (sex) GROUP BY name",
    ),
    Question(
        "median stay by county",
        f"SELECT county, median(length_of_stay) AS stay FROM {RELEASED} GROUP BY county",
        _same_as(_medians),
        "(tv_median(length_of_stay)).low",
        f"SELECT county, tv_median(length_of_stay) AS stay FROM {RELEASED} GROUP BY county",
    ),
    Question(
        "five commonest diagnoses per age label",
        f"SELECT age, diagnosis, count(*) AS records FROM {RELEASED} GROUP BY age, diagnosis "
        "QUALIFY row_number() OVER (PARTITION BY age ORDER BY count(*) DESC, diagnosis) <= 5",
        _same_as(_commonest),
    ),
    Question(
        "admissions by quarter",
        f"SELECT date_trunc('quarter', admission_date_from) AS quarter, count(*) FROM {RELEASED} GROUP BY ALL",
        _all_weighed,
        "Write GROUP BY admission_date",
        f"SELECT admission_date, count(*) FROM {RELEASED} GROUP BY ALL",
    ),
    Question(
        "histogram of the stay by bounds",
        f"SELECT length_of_stay_from, length_of_stay_to, count(*) FROM {RELEASED} GROUP BY ALL",
        _same_as(_histogram),
    ),
    Question(
        "how many were suppressed", f"SELECT value FROM {RELEASED}_about WHERE fact = 'suppressed_records'", _suppressed
    ),
    Question(
        "what it promises, and how to cite it",
        f"SELECT fact, value FROM {RELEASED}_about WHERE fact IN ('cite', 'privacy_model')",
        _cited,
    ),
)
