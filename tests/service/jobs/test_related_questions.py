"""The questions of docs/guides/analyst.md on people and their events have nearly the source's answers on a release."""

import re
from collections.abc import Callable

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.state.releases import Release
from tests.docs.words import ROOT

SOURCE = """
CREATE TABLE patients AS SELECT i AS patient_id, (20 + hash(i, 1) % 60)::INTEGER AS age,
  if(hash(i, 2) % 2 = 0, 'f', 'm') AS sex FROM range(3000) AS p(i);
CREATE TABLE visits AS
WITH gaps AS (
  -- The older come again the sooner, and the oftener; some never came.
  SELECT patient_id, age, visit, if(hash(patient_id, visit, 3) % 100 < 10 + age // 2,
    1 + hash(patient_id, visit, 4) % 30, 31 + hash(patient_id, visit, 5) % 50)::INTEGER AS gap
  FROM patients CROSS JOIN range(9) AS v(visit) WHERE visit < hash(patient_id, 6) % (2 + age // 20))
SELECT patient_id * 10 + visit AS visit_id, patient_id, 'd' || hash(patient_id, visit, 8) % 4 AS diagnosis,
  DATE '2020-01-01' + sum(gap) OVER (PARTITION BY patient_id ORDER BY visit)::INTEGER AS visit_date
FROM gaps;
"""
CAME = """
SELECT age // 20, count(DISTINCT v.patient_id) / count(DISTINCT p.patient_id),
  count(v.patient_id) / count(DISTINCT p.patient_id)
FROM patients AS p LEFT JOIN visits AS v USING (patient_id) GROUP BY ALL ORDER BY 1
"""
RETURNED = """
SELECT age // 20, avg((gap <= 30)::INTEGER) FROM (
  SELECT age, visit_date - lag(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date) AS gap
  FROM visits JOIN patients USING (patient_id)) WHERE gap IS NOT NULL GROUP BY ALL ORDER BY 1
"""
ANALYSTS = ROOT / "docs" / "guides" / "analyst.md"
SECTION = ANALYSTS.read_text(encoding="utf-8").partition("### People and their events")[2].partition("\n## ")[0]
QUESTIONS = re.findall(r"```sql\n(.*?)```", SECTION, re.S)


@pytest.fixture
def released(database: Database, session: Session, run: Callable[..., Release]) -> Release:
    for statement in filter(str.strip, SOURCE.split(";\n")):
        session.execute(statement)
    text = (ROOT / "examples" / "patients-and-visits.yaml").read_text(encoding="utf-8")
    fixed = "search: {levels: {age: 2, sex: 1, visits.visit_date: 1}}"
    message, _ = read_policy(text.replace("known_facts: {m: 2}", "known_facts: {m: 1}") + fixed, "yaml")
    policy, faults = policy_from_proto(message)
    assert policy is not None, faults
    return run(database, policy)


def test_questions_on_people_and_events(session: Session, released: Release) -> None:
    for question, own in zip(QUESTIONS, (CAME, RETURNED), strict=True):
        answers, expected = session.rows(question), session.rows(own)
        assert len(answers) == len(expected) == 3
        for (_, *given), (_, *right) in zip(answers, expected, strict=True):
            assert given == pytest.approx(right, abs=0.01)
        assert len({right[-1] // 0.05 for right in expected}) == 3, "ages differ in what is asked"
