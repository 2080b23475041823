"""A small table in which every hidden value is a canary: a text that occurs nowhere else and that nothing shortens."""

import random
import string
from collections.abc import Sequence

import pyarrow as pa

from tests.adversary.publishing import Document

K = 3

# Dense texts: DuckDB's string compression finds no repetition in them, so that they stand in files as they are.
_ALPHABET = string.ascii_letters + string.digits + "!#$%&()+,-./:;<=>?@[]^_{|}~"

_REGIONS = {"north": 5, "south": 5, "rare": 2}
_AGES = range(20, 60)


def canary(*of: object) -> str:
    """A text that looks random, but is equal for equal arguments."""
    return "".join(random.Random(repr(of)).choices(_ALPHABET, k=20))


def cities() -> list[tuple[str, str]]:
    """Cities, which are never released themselves, and their regions."""
    return [(canary("city", region, i), region) for region, number in _REGIONS.items() for i in range(number)]


def patients(kept: int = 60, outliers: int = 2, outlier_sex: str = "M") -> pa.Table:
    """A table of patients in no order; the outliers, fewer than K, are the only ones of the region `rare`.

    All ages are generalized to one label, so that only sex and region separate the kept records.
    """
    draw = random.Random("patients")
    cities_of = {region: [city for city, r in cities() if r == region] for region in _REGIONS}
    records = [
        {"age": draw.choice(_AGES), "sex": "FM"[i % 2], "city": draw.choice(cities_of["north" if i % 3 else "south"])}
        for i in range(kept)
    ]
    records += [{"age": 20 + i, "sex": outlier_sex, "city": cities_of["rare"][i % 2]} for i in range(outliers)]
    for i, record in enumerate(records):
        who = ("kept", i) if i < kept else ("outlier", i - kept, outlier_sex)
        record |= {
            "id": canary("id", *who),
            "name": canary("name", *who),
            "diagnosis": canary("diagnosis", *who),
            "ward": "east" if i % 4 else "west",
        }
    draw.shuffle(records)
    return pa.Table.from_pylist(records).select(["id", "name", "age", "sex", "city", "diagnosis", "ward"])


def attribute(column: str, role: str, **options: object) -> Document:
    """One column in a policy."""
    return {"column": column, "role": role, **options}


def inline(rows: Sequence[Sequence[str]]) -> Document:
    """A written-out hierarchy."""
    return {"inline": {"rows": [list(row) for row in rows]}}


def policy() -> Document:
    """Releases sex as it is, regions instead of cities, no ages; suppresses the outliers.

    The levels are given, so that the transformation does not depend on the outliers.
    """
    regions = inline([(city, region, "*") for city, region in cities()])
    ages = {"intervals": {"minimum": "0", "maximum": "99", "widths": ["10", "50"]}}
    return {
        "source": {"table": "patients"},
        "person_column": "id",
        "attributes": [
            attribute("id", "IDENTIFYING"),
            attribute("name", "IDENTIFYING"),
            attribute("age", "QUASI_IDENTIFIER", hierarchy=ages, minimum_level=3, maximum_level=3),
            attribute("sex", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}, maximum_level=0),
            attribute("city", "QUASI_IDENTIFIER", hierarchy=regions, minimum_level=1, maximum_level=1),
            attribute("diagnosis", "SENSITIVE", acknowledged=True),
            attribute("ward", "INSENSITIVE", acknowledged=True),
        ],
        "privacy_models": [{"k_anonymity": {"k": K}}],
        "suppression_limit": "0.1",
        "release": {"name": "released"},
    }


BLANK = {"handling": "BLANK", "marker_column": "suppressed"}
VIEW = {"name": "released", "kind": "VIEW"}

FORMS: dict[str, Document] = {
    "a table without suppressed records": {},
    "a view with blank ones": {"release": VIEW, "suppressed_records": BLANK},
}
"""Changes of the policy that lead to releases of every form."""
