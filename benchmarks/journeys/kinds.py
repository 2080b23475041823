"""Ten kinds of files as people have them, made by a seed, with the truth about each."""

import csv
import io
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

_FIRST = "Anna Ben Clara David Emma Felix Greta Hugo Ida Jonas Klara Luis Marie Noah Olga Paul Rosa Simon Tilda Viktor"
_LAST = "Amsel Berger Conti Dubois Ernst Fischer Garcia Huber Ivers Jansen Keller Lopez Moreau Nowak Olsen Petit Roth"


@dataclass(frozen=True, slots=True)
class Made:
    """A file, and the truth about it.

    `person` is the column that numbers people; empty if every row is one. No column of `identifying` may be released.
    """

    kind: str
    contents: bytes
    person: str
    identifying: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Somebody:
    """A made-up person: the facts that all of their rows share."""

    number: int
    name: str
    born: date
    sex: int
    code: int
    phone: str


Columns = dict[str, Callable[[Somebody, int], str]]
"""The values of columns, by a person and the number of the row."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: of so many people, with so many rows, or one each; the rest as in `Made`."""

    name: str
    columns: Callable[[random.Random], Columns]
    people: int
    person: str
    identifying: tuple[str, ...]
    rows: int = 0
    encoding: str = "utf-8"
    delimiter: str = ","


def _people(chance: random.Random, number: int) -> list[Somebody]:
    codes = [chance.randrange(1_000, 99_999) for _ in range(25)]
    born = date(1935, 1, 1)
    numbers = chance.sample(range(100_000, 999_999), number)
    return [
        Somebody(
            numbers[i],
            f"{chance.choice(_FIRST.split())} {chance.choice(_LAST.split())}",
            born + timedelta(days=chance.randrange(29_000)),
            chance.randrange(2),
            chance.choice(codes),
            f"{chance.randrange(10**8):08d}",
        )
        for i in range(number)
    ]


def _day(chance: random.Random) -> date:
    return date(2024, 1, 1) + timedelta(days=chance.randrange(366))


def _file(people: Sequence[Somebody], rows: Sequence[int], columns: Columns, encoding: str, delimiter: str) -> bytes:
    """The file of rows, each of the person at that position."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(columns)
    for row, position in enumerate(rows):
        writer.writerow([made(people[position], row) for made in columns.values()])
    return written.getvalue().encode(encoding)


def _visits(chance: random.Random, people: int, rows: int) -> list[int]:
    """Rows of people, everybody at least once."""
    several = [*range(people), *(chance.randrange(people) for _ in range(rows - people))]
    chance.shuffle(several)
    return several


def _one_of(chance: random.Random, words: str) -> Callable[[Somebody, int], str]:
    choices = words.split()
    return lambda person, row: chance.choice(choices)


def english(chance: random.Random) -> Columns:
    """Visits of patients with their names."""
    return {
        "patient_id": lambda one, row: f"P{one.number}",
        "full_name": lambda one, row: one.name,
        "date_of_birth": lambda one, row: f"{one.born}",
        "gender": lambda one, row: "FM"[one.sex],
        "postcode": lambda one, row: f"{one.code:05d}",
        "admission_date": lambda one, row: f"{_day(chance)}",
        "diagnosis": _one_of(chance, "flu asthma fracture cancer migraine"),
        "cost": lambda one, row: f"{chance.randrange(100, 9_000) / 10:.1f}",
    }


def french(chance: random.Random) -> Columns:
    """Accents, semicolons, decimal commas, cp1252."""
    return {
        "N° patient": lambda one, row: f"{one.number}",
        "Nom": lambda one, row: one.name.replace("e", "é"),
        "Date de naissance": lambda one, row: f"{one.born:%d/%m/%Y}",
        "Sexe": lambda one, row: "FH"[one.sex],
        "Code postal": lambda one, row: f"{one.code:05d}",
        "Date d'entrée": lambda one, row: f"{_day(chance):%d/%m/%Y}",
        "Diagnostic": _one_of(chance, "grippe asthme fracture cancer épilepsie"),
        "Montant": lambda one, row: f"{chance.randrange(1_000, 90_000) / 100:.2f}".replace(".", ","),
    }


def spanish(chance: random.Random) -> Columns:
    """Ids with letters, days with dashes, a byte-order mark."""
    return {
        "DNI": lambda one, row: f"{one.number:08d}{'TRWAGMYF'[one.number % 8]}",
        "Apellidos": lambda one, row: one.name.split()[1] + "ñez",
        "Fecha de nacimiento": lambda one, row: f"{one.born:%d-%m-%Y}",
        "Sexo": lambda one, row: ("mujer", "hombre")[one.sex],
        "Código postal": lambda one, row: f"{one.code:05d}",
        "Fecha": lambda one, row: f"{_day(chance):%d-%m-%Y}",
        "Diagnóstico": _one_of(chance, "gripe asma fractura cáncer"),
        "Peso": lambda one, row: f"{chance.gauss(72, 12):.1f}".replace(".", ","),
    }


def us_dates(chance: random.Random) -> Columns:
    """Dates with the month first."""
    return {
        "MRN": lambda one, row: f"{one.number}",
        "DOB": lambda one, row: f"{one.born.month}/{one.born.day}/{one.born.year}",
        "Sex": lambda one, row: ("Female", "Male")[one.sex],
        "ZIP": lambda one, row: f"{one.code:05d}",
        "Visit Date": lambda one, row: f"{_day(chance):%m/%d/%Y}",
        "ICD10": _one_of(chance, "J45.0 E11.9 I10 F32.1 M54.5"),
        "Charges": lambda one, row: f"{chance.randrange(5_000, 900_000) / 100:.2f}",
    }


def tabs(chance: random.Random) -> Columns:
    """UTF-16 with tabs, insured people by name and years of birth."""
    return {
        "KVNR": lambda one, row: f"{'ABCDEFG'[one.number % 7]}{one.number:09d}",
        "Versicherter": lambda one, row: one.name,
        "Geburtsjahr": lambda one, row: f"{one.born.year}",
        "Geschlecht": lambda one, row: "wm"[one.sex],
        "Wohnort": lambda one, row: f"Ort {one.code % 12}",
        "Quartal": lambda one, row: f"2024Q{chance.randrange(1, 5)}",
        "Diagnose": _one_of(chance, "J45 E11 I10 F32"),
    }


def ages(chance: random.Random) -> Columns:
    """Ages for birth dates, years for dates."""
    return {
        "person_no": lambda one, row: f"{one.number}",
        "age": lambda one, row: f"{2024 - one.born.year}",
        "sex": lambda one, row: "fm"[one.sex],
        "region": lambda one, row: ("north", "south", "east", "west")[one.code % 4],
        "year": lambda one, row: f"{chance.randrange(2020, 2025)}",
        "medication": _one_of(chance, "aspirin statin insulin none"),
        "phone": lambda one, row: f"+49 {one.phone}",
    }


def wide(chance: random.Random) -> Columns:
    """A survey of 30 answers."""
    answers: defaultdict[int, list[int]] = defaultdict(lambda: [chance.randrange(5) for _ in range(30)])
    columns: Columns = {
        "respondent_id": lambda one, row: f"{one.number}",
        "email": lambda one, row: f"{one.name.replace(' ', '.').lower()}{one.number}@example.org",
        "birth_year": lambda one, row: f"{one.born.year}",
        "gender": lambda one, row: "fm"[one.sex],
        "wave": lambda one, row: f"{row % 3 + 1}",
    }
    for i in range(30):
        columns[f"q{i + 1}"] = lambda one, row, i=i: f"{answers[one.number][i]}"  # type: ignore[misc]
    return columns


def tiny(chance: random.Random) -> Columns:
    """40 rows, each a person, whom a column named Patient tells apart: it numbers them, as `employee_id` does below."""
    return {
        "Patient": lambda one, row: one.name + f" {one.number % 100}",
        "Alter": lambda one, row: f"{2024 - one.born.year}",
        "Geschlecht": lambda one, row: "wm"[one.sex],
        "Diagnose": _one_of(chance, "Grippe Asthma Bruch"),
    }


def one_row(chance: random.Random) -> Columns:
    """A row per person."""
    return {
        "employee_id": lambda one, row: f"E{one.number}",
        "birth_date": lambda one, row: f"{one.born}",
        "sex": lambda one, row: "fm"[one.sex],
        "department": lambda one, row: ("sales", "research", "law", "care")[one.code % 4],
        "salary": lambda one, row: f"{chance.randrange(30, 120) * 1000}",
    }


def dashes(chance: random.Random) -> Columns:
    """Social security numbers and results of a single dash."""
    return {
        "SSN": lambda one, row: f"{one.number % 900:03d}-{one.number % 89:02d}-{one.number % 9_973:04d}",
        "birthdate": lambda one, row: f"{one.born}",
        "sex": lambda one, row: "FM"[one.sex],
        "zip": lambda one, row: f"{one.code:05d}-{one.number % 10:04d}",
        "visit": lambda one, row: f"{_day(chance)}",
        "result": lambda one, row: chance.choice(("-", "n/a", "4.5", "5.1", "6.0", "7.2")),
        "condition": _one_of(chance, "diabetes asthma none hypertension"),
    }


KINDS = (
    Kind("English", english, 400, "patient_id", ("patient_id", "full_name"), rows=1_500),
    Kind("French", french, 350, "N° patient", ("N° patient", "Nom"), rows=1_400, encoding="cp1252", delimiter=";"),
    Kind("Spanish", spanish, 300, "DNI", ("DNI", "Apellidos"), rows=1_200, encoding="utf-8-sig", delimiter=";"),
    Kind("US dates", us_dates, 400, "MRN", ("MRN",), rows=1_500),
    Kind("tabs, UTF-16", tabs, 300, "KVNR", ("KVNR", "Versicherter"), rows=1_200, encoding="utf-16", delimiter="\t"),
    Kind("ages", ages, 400, "person_no", ("person_no", "phone"), rows=1_500),
    Kind("wide", wide, 250, "respondent_id", ("respondent_id", "email"), rows=750),
    Kind("tiny", tiny, 40, "Patient", ("Patient",), delimiter=";"),
    Kind("a row each", one_row, 1_000, "employee_id", ("employee_id",)),
    Kind("dashes", dashes, 350, "SSN", ("SSN",), rows=1_400),
)


def files(seed: int, times: int) -> Iterator[Made]:
    """Each kind, so many times."""
    for kind in KINDS:
        for i in range(times):
            yield _made(kind, random.Random(f"{kind.name} {seed} {i}"))


def _made(kind: Kind, chance: random.Random) -> Made:
    people = _people(chance, kind.people)
    rows = _visits(chance, kind.people, kind.rows) if kind.rows else list(range(kind.people))
    contents = _file(people, rows, kind.columns(chance), kind.encoding, kind.delimiter)
    return Made(kind.name, contents, kind.person, kind.identifying)
