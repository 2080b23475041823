"""Section: what is left of patients with a fatty liver and their diagnoses, of R's package survival."""

import tempfile
from pathlib import Path

from pyarrow import csv

from benchmarks.markdown import table
from benchmarks.related.released import column, lost, policy_of, rows_of, run
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService
from tableveil.backend import Session
from tableveil.policy import Policy

K = 5
PAIRS = {
    "diabetes, htn": ("diabetes", "htn"),
    "heart failure, htn": ("heart failure", "htn"),
    "MI, dyslipidemia": ("MI", "dyslipidemia"),
    "diabetes, nafld": ("diabetes", "nafld"),
}
YEARS = 365.25
BANDS = {"before/after": ["0"], "11 bands": [str(round(YEARS * 2.5 * i)) for i in range(-4, 6)]}
GOALS = {("before/after", 1): 0.025, ("before/after", 2): 0.055}
MOST_OFF = 0.05
KNOWN = 3
"""So many known rows are shown of the curve."""


def nafld(folder: Path | None) -> Section:
    """The rows that are lost, and the odds ratios of four pairs of diagnoses, with their goals."""
    title = "Patients with a fatty liver and their diagnoses"
    if folder is None or not (folder / "nafld1.csv").is_file():
        return Section(title, ("Skipped: `--nafld` names no folder with nafld1.csv and nafld3.csv of R's survival.",))
    lines, sound = list[tuple[str, ...]](), True
    with (
        tempfile.TemporaryDirectory() as directory,
        LocalService(Path(directory) / "nafld.duckdb", "4GiB", 2) as service,
    ):
        for name, file in (("all_people", "nafld1.csv"), ("all_events", "nafld3.csv")):
            service.load(name, csv.read_csv(folder / file))
        with service.session() as session:
            session.execute(
                "CREATE TABLE people AS SELECT id::INTEGER AS id, age::INTEGER AS age, male FROM all_people"
            )
            session.execute(
                "CREATE TABLE events AS SELECT id::INTEGER AS id, days::INTEGER AS days, event FROM all_events"
            )
            before = _ratios(session, "people", "events", "id")
            rows = session.value("SELECT count(*) FROM events")
            people = session.value("SELECT count(*) FROM people")
        for bands in BANDS:
            for m in (1, 2):
                ran = run(service, _policy(bands, m))
                if ran.failure:
                    return Section(title, (f"Failed: {ran.failure}",), sound=False)
                with service.session() as session:
                    share = lost(session)
                    after = _ratios(session, rows_of(session), rows_of(session, "_events"), "id")
                    curve = session.rows(
                        f"SELECT below_k / sample FROM {rows_of(session, '_known_rows')} ORDER BY known_rows"
                    )
                goal = GOALS.get((bands, m))
                met = goal is None or share <= goal
                if (bands, m) == ("before/after", 2):
                    met = met and all(abs(a / b - 1) <= MOST_OFF for a, b in zip(after, before, strict=True))
                sound = sound and met
                ratios = (f"{ratio:.2f}" for ratio in after)
                found = (f"{100 * share:.1f} %" for (share,) in curve[:KNOWN])
                lines.append(
                    (
                        bands,
                        str(m),
                        f"{100 * share:.2f} %",
                        *ratios,
                        *found,
                        f"{ran.cpu:.1f}",
                        verdict(met) if goal else "",
                    )
                )
    return Section(
        title,
        (
            f"{people:,} people, {rows:,} events, k = {K}; age by tens, sex; event, and days since the index date. "
            f"Odds ratios in the source: {', '.join(f'{ratio:.2f}' for ratio in before)}. "
            "Goal: before/after, at most 2.5 % of the rows lost at m = 1; 5.5 % at m = 2, odds ratios within 5 %.",
            table(
                (
                    "days",
                    "m",
                    "rows lost",
                    *PAIRS,
                    *(f"few fit {t} known" for t in range(1, KNOWN + 1)),
                    "CPU s",
                    "goal",
                ),
                lines,
            ),
        ),
        sound,
    )


def _policy(bands: str, m: int) -> Policy:
    days = {"intervals": {"minimum": "-30000", "maximum": "30000", "boundaries": [{"values": BANDS[bands]}]}}
    ages = {"intervals": {"minimum": "0", "maximum": "109", "widths": ["10"]}}
    attributes = [
        column("age", ages),
        column("male", {"suppression_only": {}}),
        column("days", days, "events"),
        column("event", {"suppression_only": {}}, "events"),
    ]
    return policy_of(attributes, K, m, {"age": 1, "male": 0, "events.days": 1, "events.event": 0})


def _ratios(session: Session, people: str, events: str, key: str) -> list[float]:
    """The odds ratio of each pair of diagnoses among all people."""
    found = []
    for one, other in PAIRS.values():
        both, first, second, neither = session.row(
            f"WITH had AS (SELECT p.{key}, coalesce(bool_or(event = '{one}'), FALSE) AS a, "
            f"coalesce(bool_or(event = '{other}'), FALSE) AS b FROM {people} AS p LEFT JOIN {events} AS e "
            f"USING ({key}) GROUP BY p.{key}) SELECT count(*) FILTER (a AND b), count(*) FILTER (a AND NOT b), "
            "count(*) FILTER (b AND NOT a), count(*) FILTER (NOT a AND NOT b) FROM had"
        )
        found.append(both * neither / (first * second))
    return found
