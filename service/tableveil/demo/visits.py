"""Generates the demo's table of visits: each of the hospital's patients comes 1 to 40 times, most of them rarely."""

from __future__ import annotations

import duckdb

_VISITS = """
CREATE TABLE visits AS
WITH known AS (SELECT list(DISTINCT diagnosis ORDER BY diagnosis) AS diagnoses FROM discharges)
SELECT
    patient_id, age, sex, zip_code,
    (admission_date + (hash(patient_id, visit, $seed, 1) % 365)::INTEGER)::DATE AS visit_date,
    -- Seven of ten visits are for what the patient was in hospital for.
    if(hash(patient_id, visit, $seed, 2) % 10 < 7, diagnosis,
       diagnoses[1 + (hash(patient_id, visit, $seed, 3) % len(diagnoses))::INTEGER]) AS diagnosis
FROM discharges CROSS JOIN known CROSS JOIN range(40) AS visits(visit)
WHERE visit < 1 + floor(40 * pow((hash(patient_id, $seed, 4) % 10007) / 10007, 6))
ORDER BY hash(patient_id, visit, $seed, 5)
"""


def create_visits(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Creates the table `visits` of the patients of the table `discharges`."""
    connection.execute(_VISITS, {"seed": seed})
