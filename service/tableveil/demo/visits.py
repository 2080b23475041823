"""Generates the demo's patients and their visits, 1 to 40 of each, most rarely; and what they are a month later."""

import duckdb

_VISITS = """
CREATE TABLE visits AS
WITH known AS (SELECT list(DISTINCT diagnosis ORDER BY diagnosis) AS diagnoses FROM discharges),
made AS (
    SELECT
        patient_id, visit, age, sex, zip_code,
        (admission_date + (hash(patient_id, visit, $seed, 1) % 365)::INTEGER)::DATE AS visit_date,
        -- Seven of ten visits are for what the patient was in hospital for.
        if(hash(patient_id, visit, $seed, 2) % 10 < 7, diagnosis,
           diagnoses[1 + (hash(patient_id, visit, $seed, 3) % len(diagnoses))::INTEGER]) AS diagnosis
    FROM discharges CROSS JOIN known CROSS JOIN range(40) AS visits(visit)
    WHERE visit < 1 + floor(40 * pow((hash(patient_id, $seed, 4) % 10007) / 10007, 6))
)
SELECT
    row_number() OVER (ORDER BY hash(patient_id, visit, $seed, 5), patient_id, visit) AS visit_id,
    * EXCLUDE (visit)
FROM made
ORDER BY visit_id
"""

_PATIENTS = "CREATE TABLE patients AS SELECT patient_id, age, sex, zip_code FROM discharges ORDER BY patient_id"

_LATER = """
CREATE TABLE visits_later AS
WITH made AS (SELECT max(visit_id) AS last, max(visit_date) AS until FROM visits)
SELECT * FROM visits WHERE hash(patient_id, $seed, 6) % 100 > 0
UNION ALL
SELECT
    last + row_number() OVER (ORDER BY hash(visit_id, $seed, 7), visit_id), patient_id, age, sex, zip_code,
    until + 1 + (hash(visit_id, $seed, 8) % 30)::INTEGER, diagnosis
FROM visits CROSS JOIN made
WHERE hash(patient_id, $seed, 6) % 100 > 0 AND hash(visit_id, $seed, 9) % 12 = 0
ORDER BY visit_id
"""
"""One patient in a hundred has left; a twelfth of the visits had another one in the month after the last."""


def create_visits(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Creates `patients` of `discharges`, their `visits`, and `visits_later`, the same a month later."""
    connection.execute(_PATIENTS)
    connection.execute(_VISITS, {"seed": seed})
    connection.execute(_LATER, {"seed": seed})
