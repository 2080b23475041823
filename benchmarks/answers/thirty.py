"""Thirty questions as an analyst types them, once each, on an estimated table at an endpoint, with their spread."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import adbc_driver_flightsql.dbapi as flight_sql
import numpy as np

from benchmarks.answers.released import RELEASED, Both
from benchmarks.answers.served import connected, served

FAR = 0.15
HELD = 0.9
"""The share of an answer's rows whose truth is inside the spread."""

_SPREAD = {"adbc.flight.sql.rpc.call_header.tableveil-spread": "true"}

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A statement on `{t}`. Its last column is the answer of each row; where it `ranks` rows, the first ones are."""

    asked: str
    statement: str
    ranks: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The median error of an answer's rows, of a wrong ranking 1; and whether the truth is inside the spread."""

    error: float
    held: bool
    refused: bool = False

    @property
    def is_far(self) -> bool:
        """Whether the answer is far from the truth."""
        return not self.refused and self.error > FAR

    def __str__(self) -> str:
        return "refused" if self.refused else f"{100 * self.error:.1f} %" + ("" if self.held else ", **not inside**")


def ask(both: Both, truth: str, least: int) -> list[Outcome]:
    """Asks all questions; `least` is the number of records of groups, where one is asked for."""
    with served(both.directory) as uri, closing(connected(uri)) as connection:
        return [_outcome(question, connection, both, truth, least) for question in QUESTIONS]


def _outcome(question: Question, connection: flight_sql.Connection, both: Both, truth: str, least: int) -> Outcome:
    statement = question.statement.replace("{least}", str(least))
    true = dict(_keyed(both.connection.execute(statement.format(t=truth)).fetchall()))
    asked = statement.format(t=f"{RELEASED}_estimated")
    try:
        told = dict(_keyed(_asked(connection, asked, {})))
    except flight_sql.Error as refusal:
        if "[LABELS_TOO_WIDE]" not in str(refusal):
            raise
        return Outcome(1.0, held=True, refused=True)
    # The row that is truly first may not be among the first of the answer.
    spread = {row[:-2]: row[-2:] for row in _asked(connection, re.sub(r" LIMIT \d+$", "", asked), _SPREAD)}
    inside = [key in spread and _is_inside(of, *spread[key]) for key, of in true.items()]
    if question.ranks:
        common = len(true.keys() & told.keys())
        error = 0.0 if list(true)[:1] == list(told)[:1] else FAR if common >= len(true) - 1 else 1.0
    else:
        error = float(np.median([abs(told.get(key, 0.0) - of) / max(abs(of), 1e-9) for key, of in true.items()]))
    return Outcome(error, bool(np.mean(inside) >= HELD))


def _is_inside(true: float, mean: float | None, reach: float | None) -> bool:
    return mean is not None and abs(float(mean) - true) <= float(reach or 0) + 1e-9


def _keyed(rows: Sequence[Key]) -> list[tuple[Key, float]]:
    return [(row[:-1], float(row[-1])) for row in rows if row[-1] is not None]


def _asked(connection: flight_sql.Connection, statement: str, options: Mapping[str, str]) -> list[Key]:
    with connection.cursor(adbc_stmt_kwargs=dict(options)) as cursor:
        cursor.execute(statement)
        rows: list[Key] = cursor.fetchall()
        return rows


QUESTIONS = (
    Question("aged 30-49", "SELECT count(*) FROM {t} WHERE age BETWEEN 30 AND 49"),
    Question(
        "age group staying longest",
        "SELECT age//10*10 g, avg(length_of_stay) FROM {t} GROUP BY 1 HAVING count(*) >= 100 ORDER BY 2 DESC LIMIT 3",
        ranks=True,
    ),
    Question("share of women over 80", "SELECT avg((sex = 'F')::int) FROM {t} WHERE age > 80"),
    Question("median charge under 18", "SELECT median(charge) FROM {t} WHERE age < 18"),
    Question(
        "running total by quarter",
        "SELECT date_trunc('quarter', admission_date) q, sum(count(*)) OVER (ORDER BY "
        "date_trunc('quarter', admission_date)) FROM {t} GROUP BY 1 ORDER BY 1 LIMIT 4",
    ),
    Question(
        "p90 of stay by county",
        "SELECT county, quantile_cont(length_of_stay, 0.9) FROM {t} WHERE county IS NOT NULL GROUP BY 1 ORDER BY 1",
    ),
    Question("corr age charge", "SELECT corr(age, charge) FROM {t}"),
    Question("mean stay per year", "SELECT year(admission_date), avg(length_of_stay) FROM {t} GROUP BY 1 ORDER BY 1"),
    Question(
        "65+ by county, women",
        "SELECT county, count(*) FILTER (sex = 'F') FROM {t} WHERE age >= 65 AND county IS NOT NULL "
        "GROUP BY 1 ORDER BY 1",
    ),
    Question(
        "youngest three decades >100 cases J18.9",
        "SELECT age//10*10, count(*) FROM {t} WHERE diagnosis = 'J18.9' GROUP BY 1 HAVING count(*) > "
        "{least} ORDER BY 1 LIMIT 3",
    ),
    Question("mean age", "SELECT avg(age) FROM {t}"),
    Question("median age", "SELECT median(age) FROM {t}"),
    Question("admitted in 2022", "SELECT count(*) FROM {t} WHERE year(admission_date) = 2022"),
    Question("aged 20-29", "SELECT count(*) FROM {t} WHERE age BETWEEN 20 AND 29"),
    Question(
        "sum charge per quarter",
        "SELECT date_trunc('quarter', admission_date) q, sum(charge) FROM {t} GROUP BY 1 ORDER BY 1 LIMIT 4",
    ),
    Question(
        "mean stay per quarter",
        "SELECT date_trunc('quarter', admission_date) q, avg(length_of_stay) FROM {t} GROUP BY 1 ORDER BY 1 LIMIT 4",
    ),
    Question(
        "child/adult/old",
        "SELECT CASE WHEN age < 18 THEN 'c' WHEN age < 65 THEN 'a' ELSE 'o' END b, count(*) FROM {t} "
        "GROUP BY 1 ORDER BY 1",
    ),
    Question("mean charge by sex", "SELECT sex, avg(charge) FROM {t} GROUP BY 1 ORDER BY 1"),
    Question("A41.9 aged 20-39", "SELECT count(*) FROM {t} WHERE diagnosis = 'A41.9' AND age BETWEEN 20 AND 39"),
    Question("mean charge by decade", "SELECT age//10*10, avg(charge) FROM {t} GROUP BY 1 ORDER BY 1 LIMIT 10"),
    Question(
        "stays of 10 days or more by decade",
        "SELECT age//10*10, count(*) FROM {t} WHERE length_of_stay >= 10 GROUP BY 1 ORDER BY 1 LIMIT 10",
    ),
    Question("corr stay charge", "SELECT corr(length_of_stay, charge) FROM {t}"),
    Question("slope charge on stay", "SELECT regr_slope(charge, length_of_stay) FROM {t}"),
    Question(
        "winter share of J18.9",
        "SELECT avg((month(admission_date) IN (12, 1, 2))::int) FROM {t} WHERE diagnosis = 'J18.9'",
    ),
    Question("monthly admissions", "SELECT month(admission_date), count(*) FROM {t} GROUP BY 1 ORDER BY 1"),
    Question(
        "diagnosis with oldest people",
        "SELECT diagnosis, avg(age) FROM {t} GROUP BY 1 HAVING count(*) >= 30 ORDER BY 2 DESC LIMIT 5",
        ranks=True,
    ),
    Question("corr age stay", "SELECT corr(age, length_of_stay) FROM {t}"),
    Question("weekend share", "SELECT avg((dayofweek(admission_date) IN (0, 6))::int) FROM {t}"),
    Question("max stay, p99", "SELECT quantile_cont(length_of_stay, .99) FROM {t}"),
    Question(
        "diagnosis with longest stay",
        "SELECT diagnosis, avg(length_of_stay) FROM {t} GROUP BY 1 HAVING count(*) >= 30 ORDER BY 2 DESC LIMIT 5",
        ranks=True,
    ),
)
"""Ten that were held out when estimates were made, and twenty more."""
