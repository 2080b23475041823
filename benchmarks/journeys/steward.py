"""The journey of a steward: from a messy file of a hospital to a release, by commands without a server."""

import csv
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import duckdb

from tableveil.document import read_policy
from tableveil.v1.policy_pb2 import ROLE_QUASI_IDENTIFIER

PEOPLE, VISITS = 1_500, 4_000
K, THRESHOLD = 5, 0.2
"""The ones for readers under contract, for whom a proposal is made by default."""

_HEADER = (
    *("Patienten-Nr", "Name", "Geburtsdatum", "Geschlecht", "PLZ", "Aufnahmedatum", "Station", "Diagnose (ICD)"),
    *("Gewicht", "Krankenkasse", "Bemerkung"),
)
_CODES = (1067, 4109, 7743, 9111, 10115, 20095, 50667, 80331, 97070)
_NAMES = "Müller Schäfer Groß Weiß Köhler Jäger Böhm Krüger Voß Lindner"


@dataclass(frozen=True, slots=True)
class Journey:
    """The commands that it took, their seconds, and the numbers over the source; `problem` is empty if it arrived."""

    commands: tuple[str, ...]
    seconds: float
    smallest_class: int
    highest_share: float
    problem: str


def write_file(path: Path, seed: int) -> int:
    """A file in Latin-1 with semicolons, lost zeros, `n/a` and empty, duplicates and broken lines; returns these."""
    chance = random.Random(seed)
    people = [
        (
            200_000 + 13 * number,
            f"{chance.choice(_NAMES.split())}, {chance.choice('ABCDEFGH')}.",
            date(1930, 1, 1) + timedelta(days=chance.randrange(33_000)),
            chance.choice("mw"),
            chance.choice(_CODES),
            chance.choice(("AOK", "Barmer", "DAK", "TK")),
        )
        for number in range(PEOPLE)
    ]
    broken = chance.randrange(2, 5)
    with path.open("w", encoding="latin-1", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(_HEADER)
        for number in range(VISITS):
            person, name, born, sex, code, insurer = people[number] if number < PEOPLE else chance.choice(people)
            admitted = date(2024, 1, 1) + timedelta(days=chance.randrange(366))
            row = [
                *(person, name, f"{born:%d.%m.%Y}", sex, code if chance.random() < 0.2 else f"{code:05d}"),
                *(f"{admitted:%d.%m.%Y}", f"Station {chance.randrange(1, 7)}", chance.choice(("J45", "I10", "E11"))),
                chance.choice((f"{chance.gauss(75, 12):.1f}".replace(".", ","), "n/a", "")),
                *(chance.choice((insurer, insurer, insurer.lower() + " ")), chance.choice(("", "", "ruft zurück"))),
            ]
            rows.writerow(row)
            if chance.random() < 0.002:
                rows.writerow(row)
            if number in range(1_000, 1_000 + broken):
                file.write("999999;abgebrochene Zeile\r\n")
    return broken


def travel(place: Path, seed: int) -> Journey:
    """The commands that a steward gives, who does what each of them says; then it is counted over the source."""
    table = place / "besuche.csv"
    broken = write_file(table, seed)
    commands: list[tuple[str, ...]] = []
    began = time.monotonic()

    # The modules of this repository are found from another folder, too.
    found = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": found}

    def tableveil(*words: str) -> subprocess.CompletedProcess[str]:
        commands.append(words)
        return subprocess.run(
            [sys.executable, "-m", _module(words), *words],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )

    def journey(problem: str) -> Journey:
        told = tuple("tableveil " + " ".join(words) for words in commands)
        return Journey(told, time.monotonic() - began, 0, 0.0, problem)

    on = ("--database", "klinik.duckdb")
    loaded = tableveil("load", table.name, "visits", *on)
    if loaded.returncode:
        # The error names the lines.
        loaded = tableveil("load", table.name, "visits", "--max-rejected", str(broken), *on)
    if loaded.returncode:
        return journey(loaded.stderr[-500:])
    proposed = tableveil("propose", "visits", *on)
    if proposed.returncode == 0 and (place / "visits-repaired.sql").exists():
        proposed = tableveil(*("propose", "--query", "visits-repaired.sql", "--output", "visits", "--overwrite"), *on)
    if proposed.returncode:
        return journey(proposed.stderr[-500:])
    released = tableveil("run", "visits-1.yaml", *on)
    if released.returncode:
        return journey(released.stderr[-500:] + proposed.stdout[-1500:])
    seconds = time.monotonic() - began
    smallest, share, problem = _counted(place)
    if not problem and (smallest < K or share > THRESHOLD):
        problem = f"over the source, a class has {smallest} people, and somebody a share of {share:.3f}"
    told = tuple("tableveil " + " ".join(words) for words in commands)
    return Journey(told, seconds, smallest, share, problem)


def _module(words: tuple[str, ...]) -> str:
    """The command itself; the one that releases also notes the classes of the source's rows."""
    return "benchmarks.journeys.counting" if words[0] == "run" else "tableveil.cli"


def _counted(place: Path) -> tuple[int, float, str]:
    """The fewest people of a class and the largest share of one of them, over the source; and why nobody counted it.

    The classes have to be those of the released rows, each of the same size.
    """
    policy, faults = read_policy((place / "visits-1.yaml").read_text(encoding="utf-8"), "yaml")
    assert not faults, "the command took it"
    labels = [one.column for one in policy.attributes if one.role == ROLE_QUASI_IDENTIFIER]
    named = ", ".join('"' + label.replace('"', '""') + '"' for label in labels)
    with duckdb.connect(place / "klinik.duckdb", read_only=True) as connection:
        connection.execute(
            "CREATE TEMP TABLE numbered AS SELECT column0 AS somebody, column1 AS class FROM "
            "read_csv($file, header = false, all_varchar = true) WHERE column1 <> ''",
            {"file": str(place / "classes.csv")},
        )
        sizes = "SELECT count(*) AS size FROM {} GROUP BY {}"
        released, counted = (
            connection.execute(f"SELECT list(size ORDER BY size) FROM ({sizes.format(*of)})").fetchall()
            for of in ((f'"{policy.release.name}"', named), ("numbered", "class"))
        )
        if released != counted:
            return 0, 0.0, "not counted: the classes of the source's rows are not those of the released ones"
        ((smallest, share),) = connection.execute(
            "SELECT min(people), max(most / records) FROM (SELECT count(*) AS people, max(records) AS most, "
            "sum(records) AS records FROM (SELECT class, somebody, count(*) AS records FROM numbered GROUP BY ALL) "
            "GROUP BY class)"
        ).fetchall()
    return int(smallest), float(share), ""
