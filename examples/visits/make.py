"""Writes a month of a made-up hospital's visits as such files come: `python make.py 2026-01 > january.csv`.

It is in Latin-1 with semicolons and decimal commas, has zip codes that lost their zeros, three spellings of nothing,
rows twice, and two lines that broke off. A month has the same people as the one before, but for a tenth.
"""

import random
import sys
from datetime import date, timedelta

PEOPLE, VISITS = 900, 1400
NAMES = ["Müller", "Schäfer", "Groß", "Weiß", "Köhler", "Jäger", "Böhm", "Krüger", "Voß", "Lindner"]
CODES = (1067, 4109, 7743, 9111, 10115, 20095, 50667, 80331, 97070)
DIAGNOSES = ("J45", "I10", "E11", "M54", "F32")

month = date.fromisoformat(f"{sys.argv[1]}-01")
first = (12 * month.year + month.month) * PEOPLE // 10
people = []
for number in range(first, first + PEOPLE):
    chance = random.Random(number)
    born = date(1930, 1, 1) + timedelta(days=chance.randrange(33_000))
    name = f"{chance.choice(NAMES)}, {chance.choice('ABCDEFGH')}."
    people.append((200_000 + 13 * number, name, f"{born:%d.%m.%Y}", chance.choice("mf"), chance.choice(CODES)))

chance = random.Random(sys.argv[1])
lines = ["patient_nr;name;born;sex;zip;admitted;ward;diagnosis;weight;remark"]
for number in range(VISITS):
    person, name, born, sex, code = people[number] if number < PEOPLE else chance.choice(people)
    zip_code = f"{code:05d}" if chance.random() < 0.8 else str(code)
    admitted = month + timedelta(days=chance.randrange(28))
    weight = chance.choice((f"{chance.gauss(75, 12):.1f}".replace(".", ","), "n/a", "", "-"))
    remark = chance.choice(("", "", "calls back"))
    where = f"ward {chance.randrange(1, 7)};{chance.choice(DIAGNOSES)}"
    lines.append(f"{person};{name};{born};{sex};{zip_code};{admitted:%d.%m.%Y};{where};{weight};{remark}")
    if chance.random() < 0.002:
        lines.append(lines[-1])
    if number in (1000, 1001):
        lines.append("999999;broke off")
sys.stdout.buffer.write("\r\n".join([*lines, ""]).encode("latin-1"))
