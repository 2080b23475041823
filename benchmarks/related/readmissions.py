"""Section: the share of visits after which a patient comes again within 30 days, by age, on source and release."""

import tempfile
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.related.released import column, lost, policy_of, rows_of, run
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService

PEOPLE, K = 20_000, 5
MOST_OFF = 0.01
_PEOPLE = f"""
CREATE TABLE people AS
SELECT i::INTEGER AS id, (20 + hash(i, 1) % 70)::INTEGER AS age, if(hash(i, 2) % 2 = 0, 'f', 'm') AS sex
FROM range({PEOPLE}) AS p(i)
"""
_EVENTS = """
CREATE TABLE events AS
WITH gaps AS (
    -- The older come again the sooner, and the oftener.
    SELECT id, visit, if(hash(id, visit, 3) % 100 < 10 + age // 3,
        1 + hash(id, visit, 4) % 30, 31 + hash(id, visit, 5) % 300)::INTEGER AS gap
    FROM people CROSS JOIN range(12) AS v(visit) WHERE visit < 1 + hash(id, 6) % (2 + age // 10)
)
SELECT id, visit::INTEGER AS visit,
    DATE '2020-01-01' + (hash(id, 7) % 365 + sum(gap) OVER (PARTITION BY id ORDER BY visit))::INTEGER AS day,
    -- Of twenty wards some are rare.
    'w' || floor(20 * pow(hash(id, visit, 8) % 1009 / 1009, 3))::INTEGER AS ward
FROM gaps
"""


def readmissions() -> Section:
    """The shares by twenty years of age."""
    days = {"intervals": {"minimum": "0", "maximum": "4000", "boundaries": [{"values": ["8", "31", "91", "366"]}]}}
    attributes = [
        column("age", {"intervals": {"minimum": "20", "maximum": "99", "widths": ["20"]}}),
        column("sex", {"suppression_only": {}}),
        column("day", days, "events"),
        column("ward", {"suppression_only": {}}, "events"),
        {"table": "events", "column": "visit", "role": "IDENTIFYING"},
    ]
    levels = {"age": 1, "sex": 0, "events.day": 1, "events.ward": 0}
    lines, sound = list[tuple[str, ...]](), True
    with (
        tempfile.TemporaryDirectory() as directory,
        LocalService(Path(directory) / "visits.duckdb", "4GiB", 2) as service,
    ):
        with service.session() as session:
            session.execute(_PEOPLE)
            session.execute(_EVENTS)
            rows = session.value("SELECT count(*) FROM events")
            # A patient's first visit follows none.
            before = dict(
                session.rows(
                    "SELECT age // 20 * 20, avg((gap <= 30)::INTEGER) FROM (SELECT id, age, "
                    "day - lag(day) OVER (PARTITION BY id ORDER BY day) AS gap FROM events JOIN people USING (id)) "
                    "WHERE gap IS NOT NULL GROUP BY 1 ORDER BY 1"
                )
            )
        for m in (1, 2):
            policy = policy_of(attributes, K, m, levels, relative_time={"anchor": "PREVIOUS_EVENT"})
            ran = run(service, policy)
            if ran.failure:
                return Section("Readmissions", (f"Failed: {ran.failure}",), sound=False)
            with service.session() as session:
                people, events = rows_of(session), rows_of(session, "_events")
                after = dict(
                    session.rows(
                        "SELECT age_from, avg((day_to <= 30)::INTEGER) "
                        f"FROM {events} AS e JOIN {people} AS p USING (id) WHERE day IS NOT NULL GROUP BY 1"
                    )
                )
                share = lost(session)
            off = max(abs(after.get(age, 0.0) - value) for age, value in before.items())
            sound = sound and (m == 2 or off <= MOST_OFF)
            shares = (f"{after.get(age, 0.0):.3f} of {value:.3f}" for age, value in before.items())
            lines.append((str(m), f"{100 * share:.2f} %", *shares, verdict(off <= MOST_OFF) if m == 1 else ""))
    return Section(
        "Readmissions within 30 days",
        (
            f"{rows:,} generated visits of {PEOPLE:,} people, days since the visit before in bands to 7, 30, 90 and "
            f"365, sex, age by twenty years, 20 wards, k = {K}. Goal: within {MOST_OFF} at m = 1.",
            table(("m", "rows lost", *(f"age {age} to {age + 19}" for age in before), "goal"), lines),
        ),
        sound,
    )
