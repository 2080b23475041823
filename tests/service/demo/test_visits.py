"""The demo's visits: several of a patient, who is the same in all of them."""

import duckdb

from tableveil.demo.discharges import create_discharges
from tableveil.demo.visits import create_visits


def test_every_patient_comes_one_to_forty_times() -> None:
    with duckdb.connect() as connection:
        create_discharges(connection, "discharges", 3000, seed=7)
        create_visits(connection, seed=7)
        query = "SELECT count(*) AS n, count(DISTINCT sex), count(DISTINCT age) FROM visits GROUP BY patient_id"
        found = connection.execute(query).fetchall()
        assert len(found) == 3000
        assert {(sexes, ages) for _, sexes, ages in found} == {(1, 1)}
        visits = [n for n, _, _ in found]
        assert min(visits) == 1
        assert 30 < max(visits) <= 40
        first = connection.execute("FROM visits ORDER BY ALL").fetchall()
        numbers = connection.execute("SELECT count(DISTINCT visit_id) FROM visits").fetchone()
        assert numbers == (len(first),)
        left, more, other = connection.execute(
            "SELECT (SELECT count(DISTINCT patient_id) FROM visits) - count(DISTINCT patient_id), "
            "count(*) FILTER (visit_id NOT IN (SELECT visit_id FROM visits)), count(*) - count(DISTINCT visit_id) "
            "FROM visits_later"
        ).fetchall()[0]
        assert 0 < left < 100
        assert more > 0
        assert other == 0
        connection.execute("DROP TABLE patients; DROP TABLE visits; DROP TABLE visits_later")
        create_visits(connection, seed=7)
        assert connection.execute("FROM visits ORDER BY ALL").fetchall() == first
