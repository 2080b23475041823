"""The steward's way: from a messy file of a hospital to a release, in four commands without a server."""

import csv
import datetime
import json
import random
from pathlib import Path

import pytest

from tests.e2e.commands import tableveil
from tests.file_modes import usual_umask

COLUMNS = (
    "Patienten-Nr",
    "Fallnummer",
    "Geburtsdatum",
    "Geschlecht",
    "PLZ",
    "Krankenkasse",
    "Diagnose",
    "Aufnahmedatum",
)
PEOPLE, VISITS, SEED = 150, 500, 11


def write_visits(path: Path) -> None:
    """A file in Latin-1 with semicolons, lost zeros, several spellings, and words and days for nothing."""
    chance = random.Random(SEED)
    born = datetime.date(1940, 1, 1)
    people = [
        (
            100_000 + 7 * number,
            born + datetime.timedelta(days=chance.randrange(25_000)),
            chance.choice("mw"),
            f"{chance.choice((1067, 4109, 9111, 50667, 80331, 97070)):05d}",
            chance.choice(("AOK", "Barmer", "DAK Köln")),
        )
        for number in range(PEOPLE)
    ]
    with path.open("w", encoding="latin-1", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(COLUMNS)
        for number in range(VISITS):
            person, birth, sex, code, insurer = chance.choice(people)
            admitted = datetime.date(2024, 1, 1) + datetime.timedelta(days=chance.randrange(366))
            rows.writerow(
                (
                    person,
                    500_000 + number,
                    "01.01.1900" if number % 50 == 3 else f"{birth:%d.%m.%Y}",
                    sex,
                    code.lstrip("0") if number % 5 == 0 else code,
                    ("n/a", insurer.upper() + " ", "", insurer, insurer, insurer)[number % 6],
                    chance.choice(("Grippe", "Asthma", "Krebs", "Bruch")),
                    f"{admitted:%d.%m.%Y}",
                )
            )


@pytest.mark.long
def test_from_a_messy_file_to_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_visits(tmp_path / "visits.csv")
    for command in (
        ("load", "visits.csv", "visits"),
        ("propose", "visits"),
        ("propose", "--query", "visits-repaired.sql", "--output", "visits", "--overwrite"),
        ("run", "visits-1.yaml", "--json"),
    ):
        with usual_umask():
            done = tableveil(*command, "--database", "clinic.duckdb")
        assert done.exit_code == 0, (command, done.stderr)
    release = json.loads(done.stdout.splitlines()[-1])["release"]
    reached = {(one["model"], one["parameter"]): one.get("after") for one in release["guarantees"]}
    assert reached["k_anonymity", "k"] >= 5
    assert reached["dominance", "share"] <= 0.2
    roles = {one["column"]: one["role"] for one in release["policy"]["attributes"]}
    assert {roles["Patienten-Nr"], roles["Fallnummer"]} == {"ROLE_IDENTIFYING"}
    assert release["policy"]["person_column"] == "Patienten-Nr"
    assert (tmp_path / "visits-repaired.sql").exists(), "it is the source of the policies"
    for words in ("LPAD", "'barmer'", "1900-01-01"):
        assert words in release["policy"]["source_query"]
