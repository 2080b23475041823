"""Twelve files in the shapes of real ones, made by a seed, with the true role of each column."""

import csv
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tableveil.policy import Role

Row = Mapping[str, object]
Make = Callable[[random.Random], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Shape:
    """A file's shape.

    `person` is the column that numbers people; empty if every row is one. `roles` are the true ones by column; a name
    that ends in * stands for all columns that begin like it. A column of two roles may have either.
    """

    name: str
    rows: Make
    person: str
    roles: Mapping[str, tuple[Role, ...]]
    blanks: bool = False

    def role_of(self, column: str) -> tuple[Role, ...]:
        """The true roles of a column."""
        if column in self.roles:
            return self.roles[column]
        return next(roles for name, roles in self.roles.items() if name.endswith("*") and column.startswith(name[:-1]))

    def contents(self, seed: int) -> bytes:
        """The file."""
        rows = list(self.rows(random.Random(f"{self.name} {seed}")))
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([f" {name}" if self.blanks and i else name for i, name in enumerate(rows[0])])
        for row in rows:
            writer.writerow([f" {value}" if self.blanks and i else value for i, value in enumerate(row.values())])
        return written.getvalue().encode()


def _day(chance: random.Random, first: int, last: int) -> date:
    return date(first, 1, 1) + timedelta(days=chance.randrange((last - first + 1) * 365))


def _choice(chance: random.Random, words: str, weights: Sequence[int] | None = None) -> str:
    return chance.choices(words.split(), weights)[0]


def panel(chance: random.Random) -> Iterator[Row]:
    """Wages of 300 people in five years each, with row numbers."""
    number = 0
    for person in range(300):
        sex, black, school = _choice(chance, "male female"), _choice(chance, "yes no", [1, 4]), chance.randrange(8, 19)
        for year in range(5):
            number += 1
            yield {
                "rownames": number,
                "nr": 13 + 17 * person,
                "year": 1980 + year,
                "sex": sex,
                "black": black,
                "school": school,
                "married": _choice(chance, "yes no"),
                "union": _choice(chance, "yes no", [1, 3]),
                "industry": _choice(chance, "Trade Mining Finance Construction Manufacturing Public"),
                "occupation": _choice(chance, "Sales Clerical Service Craft Managers"),
                "wage": round(chance.lognormvariate(1.6, 0.5), 3),
            }


def exclusive_dates(chance: random.Random) -> Iterator[Row]:
    """Court records: a day of release or one of escape, never both."""
    for number in range(800):
        born, out = _day(chance, 1940, 1998), chance.random() < 0.8
        yield {
            "id": number + 1,
            "name": f"{_choice(chance, 'ana ben cleo dan eva')} {_choice(chance, 'ruiz smith meyer lee')} {number}",
            "sex": _choice(chance, "Male Female", [4, 1]),
            "dob": born,
            "age": 2016 - born.year,
            "age_cat": "Less than 25" if born.year > 1991 else "25 - 45" if born.year > 1971 else "Greater than 45",
            "race": _choice(chance, "African-American Caucasian Hispanic Other", [5, 3, 1, 1]),
            "juv_fel_count": chance.choice([0] * 20 + [1, 2]),
            "priors_count": min(38, int(chance.expovariate(0.3))),
            "c_jail_in": _day(chance, 2013, 2014),
            "c_jail_out": _day(chance, 2014, 2015) if out else "",
            "escaped_on": "" if out else _day(chance, 2014, 2015),
            "c_charge_degree": _choice(chance, "F M", [2, 1]),
            "c_charge_desc": _choice(chance, "Battery Theft Possession Burglary Driving none"),
            "score_text": _choice(chance, "Low Medium High", [5, 3, 2]),
            "is_recid": chance.randrange(2),
            "type_of_assessment": "Risk of Recidivism",
        }


def trial(chance: random.Random) -> Iterator[Row]:
    """A trial of 171 columns: code and label pairs, parts of dates, laboratory values, answers."""
    sites = [(code, f"Site {code}") for code in range(101, 109)]
    for number in range(600):
        site, born, start = chance.choice(sites), _day(chance, 1940, 1995), _day(chance, 2018, 2020)
        arm, sex = chance.randrange(2), chance.randrange(2)
        row: dict[str, object] = {
            "STUDYID": "TRIAL01",
            "USUBJID": f"TRIAL01-{site[0]}-{number:04d}",
            "SITEID": site[0],
            "SITENAME": site[1],
            "BRTHDTC": born,
            "AGE": 2019 - born.year,
            "AGEU": "YEARS",
            "SEX": "MF"[sex],
            "SEXN": sex + 1,
            "RACE": _choice(chance, "WHITE BLACK ASIAN", [7, 2, 1]),
            "COUNTRY": ("USA", "CAN", "DEU", "FRA")[site[0] % 4],
            "ARM": ("Placebo", "Drug A 10 mg")[arm],
            "ARMCD": "PA"[arm],
            "RFSTDTC": start,
            "RFSTYEAR": start.year,
            "RFSTMONTH": start.month,
            "RFSTDAY": start.day,
            "DTHFL": _choice(chance, "Y N", [1, 30]),
            "SAEYN": _choice(chance, "Y N", [1, 8]),
        }
        for i in range(60):
            row[f"LAB{i + 1:02d}"] = round(chance.gauss(50, 10), 1) if chance.random() < 0.9 else ""
        for i in range(60):
            row[f"AE{i + 1:02d}YN"] = _choice(chance, "Y N", [1, 9])
        for i in range(32):
            row[f"Q{i + 1:02d}"] = chance.randrange(1, 6) if chance.random() < 0.95 else ""
        yield row


def tax_units(chance: random.Random) -> Iterator[Row]:
    """A survey of 789 columns: answers, flags of imputation that hardly differ, and replicate weights."""
    for number in range(400):
        state, born = chance.randrange(1, 51), chance.randrange(1930, 2002)
        row: dict[str, object] = {
            "SERIALNO": 2019000000 + 37 * number,
            "ST": state,
            "AGEP": 2019 - born,
            "SEX": chance.randrange(1, 3),
            "RAC1P": chance.choices(range(1, 6), [70, 12, 2, 8, 8])[0],
            "MAR": chance.randrange(1, 6),
            "SCHL": chance.randrange(1, 25),
            "OCCP": chance.choice([20, 440, 1010, 2310, 3255, 4720, 5700, 6260, 9130]),
            "INDP": chance.choice([170, 770, 3895, 4971, 6870, 7860, 8190, 8680]),
            "WAGP": int(chance.lognormvariate(10.4, 0.8)) if chance.random() < 0.6 else 0,
            "PINCP": int(chance.lognormvariate(10.5, 0.9)),
            "PWGTP": chance.randrange(5, 300),
        }
        row |= {f"F{i:03d}P": int(chance.random() < 0.03) for i in range(297)}
        row |= {f"ANS{i:03d}": chance.randrange(1, 4) if chance.random() < 0.8 else "" for i in range(400)}
        row |= {f"PWGTP{i}": chance.randrange(5, 300) for i in range(1, 81)}
        yield row


def spanish_codes(chance: random.Random) -> Iterator[Row]:
    """Cases of an epidemic as codes: 97 and 98 stand for no value, and a day that is none for the living."""
    for _ in range(1500):
        died = chance.random() < 0.05
        row: dict[str, object] = {
            "ID_REGISTRO": f"{chance.randrange(16**6):06x}",
            "SEXO": chance.randrange(1, 3),
            "EDAD": chance.randrange(0, 97),
            "ENTIDAD_RES": chance.choice([9, 15, 19, 21]),
            "MUNICIPIO_RES": f"{chance.randrange(1, 30):03d}",
            "FECHA_INGRESO": _day(chance, 2020, 2020),
            "FECHA_DEF": _day(chance, 2020, 2020) if died else "9999-99-99",
            "INTUBADO": chance.choice([1, 2, 2, 97, 97, 97]),
        }
        for name in ("NEUMONIA", "DIABETES", "EPOC", "ASMA", "HIPERTENSION", "OBESIDAD", "TABAQUISMO"):
            row[name] = chance.choices([1, 2, 98], [12, 86, 2])[0]
        row["RESULTADO"] = chance.choice([1, 2, 2, 3])
        yield row


def lab_values(chance: random.Random) -> Iterator[Row]:
    """Results of laboratories by code, several rows each, some below what can be measured."""
    for patient in range(200):
        born, sex = chance.randrange(1940, 2001), _choice(chance, "F M")
        for _ in range(chance.randrange(2, 7)):
            yield {
                "patient_id": f"P{10_000 + 7 * patient}",
                "birth_year": born,
                "sex": sex,
                "taken_on": _day(chance, 2022, 2022),
                "loinc": _choice(chance, "2345-7 718-7 2160-0 4548-4 2093-3"),
                "value": "<0.5" if chance.random() < 0.1 else f"{chance.gauss(40, 12):.1f}",
                "unit": _choice(chance, "mg/dL g/dL %"),
                "flag": _choice(chance, "N H L", [8, 1, 1]),
            }


def money(chance: random.Random) -> Iterator[Row]:
    """Loans with dollar signs and marks of thousands."""
    for number in range(1200):
        yield {
            "loan_id": 1_077_501 + number,
            "member_id": 1_296_599 + 3 * number,
            "loan_amnt": f"${chance.randrange(10, 350) * 100:,}",
            "term": _choice(chance, "36 60"),
            "int_rate": round(chance.uniform(5, 25), 2),
            "emp_length": chance.randrange(0, 11),
            "home_ownership": _choice(chance, "RENT OWN MORTGAGE"),
            "annual_inc": f"${int(chance.lognormvariate(11, 0.5)):,}",
            "purpose": _choice(chance, "car credit_card house medical wedding other"),
            "zip_code": f"{chance.choice([100, 112, 303, 606, 750, 900])}xx",
            "addr_state": _choice(chance, "NY GA IL TX CA"),
            "dti": round(chance.uniform(0, 30), 2),
            "loan_status": _choice(chance, "Current Paid Default", [5, 4, 1]),
        }


def two_digit_years(chance: random.Random) -> Iterator[Row]:
    """People born from 1935 to 1999, written with two digits of the year."""
    for number in range(500):
        yield {
            "member_no": f"M{number * 3 + 100_000}",
            "born": f"{_day(chance, 1935, 1999):%d-%b-%y}".upper(),
            "sex": _choice(chance, "f m"),
            "district": _choice(chance, "north south east west centre"),
            "joined": f"{_day(chance, 2001, 2019):%d-%b-%y}".upper(),
            "party": _choice(chance, "red green blue"),
        }


def blanks(chance: random.Random) -> Iterator[Row]:
    """A census with a blank behind each comma."""
    for _ in range(1000):
        yield {
            "age": chance.randrange(17, 91),
            "workclass": _choice(chance, "Private State-gov Self-emp ?", [7, 1, 1, 1]),
            "fnlwgt": chance.randrange(12_000, 900_000),
            "education": _choice(chance, "Bachelors HS-grad Masters 11th Some-college"),
            "education-num": chance.randrange(1, 17),
            "marital-status": _choice(chance, "Married Divorced Never-married Widowed"),
            "occupation": _choice(chance, "Sales Craft-repair Exec-managerial Adm-clerical ?"),
            "race": _choice(chance, "White Black Asian Other", [8, 1, 1, 1]),
            "sex": _choice(chance, "Male Female"),
            "capital-gain": chance.choice([0] * 9 + [2174, 7688, 15024]),
            "hours-per-week": chance.choice([20, 35, 40, 40, 40, 45, 50]),
            "native-country": _choice(chance, "United-States Mexico ? India", [30, 2, 1, 1]),
            "income": _choice(chance, "<=50K >50K", [3, 1]),
        }


def lists(chance: random.Random) -> Iterator[Row]:
    """Several diagnoses in one cell."""
    for number in range(600):
        codes = chance.sample(["J45", "E11.9", "I10", "F32.1", "M54.5", "B20", "K21.0"], chance.choice([1, 1, 2, 3]))
        yield {
            "patient": f"Q{number * 29 + 7}",
            "town": _choice(chance, "Aach Bern Chur Davos Elm"),
            "sex": _choice(chance, "f m"),
            "birth_year": chance.randrange(1930, 2010),
            "icd10": "|".join(codes),
        }


def partial_dates(chance: random.Random) -> Iterator[Row]:
    """Adverse events of which some days, and some months, are unknown."""
    for subject in range(250):
        sex, age = _choice(chance, "F M"), chance.randrange(20, 85)
        for _ in range(chance.randrange(2, 5)):
            onset = f"{_day(chance, 2014, 2015)}"
            yield {
                "subject_id": f"S{subject * 11 + 1000}",
                "sex": sex,
                "age": age,
                "onset": onset[: chance.choice([10, 10, 10, 7, 4])],
                "term": _choice(chance, "RASH HEADACHE NAUSEA FATIGUE DIZZINESS"),
                "serious": _choice(chance, "Y N", [1, 7]),
            }


def households(chance: random.Random) -> Iterator[Row]:
    """Members of households, who share a region and a size."""
    member = 0
    for house in range(350):
        size, region = chance.choice([1, 2, 2, 3, 4, 5]), _choice(chance, "N E S W")
        for position in range(size):
            member += 1
            yield {
                "pid": 100 + 7 * member,
                "hid": f"H{house * 11 + 5}",
                "region": region,
                "hsize": size,
                "relationship": ("head", "spouse", "child", "child", "parent")[position],
                "sex": _choice(chance, "m f"),
                "age": chance.randrange(20, 90) if position < 2 else chance.randrange(0, 20),
                "employment": _choice(chance, "employed unemployed retired none"),
                "income": int(chance.lognormvariate(10, 0.7)),
                "religion": _choice(chance, "catholic protestant muslim none"),
            }


def _roles(**columns: str) -> dict[str, tuple[Role, ...]]:
    """Roles by columns, which stand between blanks."""
    return {
        column: tuple(Role[role] for role in roles.split("_OR_"))
        for roles, names in columns.items()
        for column in names.split()
    }


SHAPES = (
    Shape(
        "panel",
        panel,
        "nr",
        _roles(
            IDENTIFYING="rownames nr",
            QUASI_IDENTIFIER="year sex black school married industry occupation",
            SENSITIVE="union wage",
        ),
    ),
    Shape(
        "exclusive dates",
        exclusive_dates,
        "",
        _roles(
            IDENTIFYING="id name",
            QUASI_IDENTIFIER="sex dob age age_cat race c_jail_in c_jail_out escaped_on juv_fel_count priors_count",
            SENSITIVE="c_charge_degree c_charge_desc score_text is_recid",
            INSENSITIVE="type_of_assessment",
        ),
    ),
    Shape(
        "171 columns",
        trial,
        "USUBJID",
        _roles(
            IDENTIFYING="USUBJID",
            QUASI_IDENTIFIER="SITEID SITENAME BRTHDTC AGE SEX SEXN RACE COUNTRY RFSTDTC RFSTYEAR RFSTMONTH RFSTDAY",
            QUASI_IDENTIFIER_OR_SENSITIVE="LAB* ARM ARMCD Q*",
            SENSITIVE="DTHFL SAEYN AE*",
            INSENSITIVE="STUDYID AGEU",
        ),
    ),
    Shape(
        "789 columns",
        tax_units,
        "",
        _roles(
            IDENTIFYING="SERIALNO",
            QUASI_IDENTIFIER="ST AGEP SEX RAC1P MAR SCHL OCCP INDP",
            SENSITIVE="WAGP PINCP",
            QUASI_IDENTIFIER_OR_SENSITIVE="ANS*",
            QUASI_IDENTIFIER_OR_INSENSITIVE="F* PWGTP*",
        ),
    ),
    Shape(
        "Spanish codes",
        spanish_codes,
        "",
        _roles(
            IDENTIFYING="ID_REGISTRO",
            QUASI_IDENTIFIER="SEXO EDAD ENTIDAD_RES MUNICIPIO_RES FECHA_INGRESO FECHA_DEF",
            SENSITIVE="INTUBADO NEUMONIA DIABETES EPOC ASMA HIPERTENSION OBESIDAD TABAQUISMO RESULTADO",
        ),
    ),
    Shape(
        "laboratory values",
        lab_values,
        "patient_id",
        _roles(
            IDENTIFYING="patient_id",
            QUASI_IDENTIFIER="birth_year sex taken_on",
            SENSITIVE="loinc value",
            QUASI_IDENTIFIER_OR_SENSITIVE="flag",
            QUASI_IDENTIFIER_OR_INSENSITIVE="unit",
        ),
    ),
    Shape(
        "money",
        money,
        "",
        _roles(
            IDENTIFYING="loan_id member_id",
            QUASI_IDENTIFIER="term int_rate emp_length home_ownership zip_code addr_state",
            SENSITIVE="loan_amnt annual_inc dti loan_status",
            QUASI_IDENTIFIER_OR_SENSITIVE="purpose",
        ),
    ),
    Shape(
        "two-digit years",
        two_digit_years,
        "member_no",
        _roles(IDENTIFYING="member_no", QUASI_IDENTIFIER="born sex district joined", SENSITIVE="party"),
    ),
    Shape(
        "blanks",
        blanks,
        "",
        _roles(
            QUASI_IDENTIFIER="age workclass education education-num marital-status occupation race sex hours-per-week "
            "native-country",
            SENSITIVE="capital-gain income",
            QUASI_IDENTIFIER_OR_INSENSITIVE="fnlwgt",
        ),
        blanks=True,
    ),
    Shape(
        "lists",
        lists,
        "patient",
        _roles(IDENTIFYING="patient", QUASI_IDENTIFIER="town sex birth_year", SENSITIVE="icd10"),
    ),
    Shape(
        "partial dates",
        partial_dates,
        "subject_id",
        _roles(IDENTIFYING="subject_id", QUASI_IDENTIFIER="sex age onset", SENSITIVE="term serious"),
    ),
    Shape(
        "households",
        households,
        "pid",
        _roles(
            IDENTIFYING="pid hid",
            QUASI_IDENTIFIER="region hsize relationship sex age employment",
            SENSITIVE="income religion",
        ),
    ),
)
"""Deaths as placeholders are in the file of Spanish codes, as in the real one."""
