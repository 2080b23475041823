"""Shows that a release with aggregated columns reveals its figures, and nothing of the values behind them."""

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from tests.adversary import samples
from tests.adversary.publishing import Document, PublishEach, Published, changed, texts
from tests.adversary.samples import K, canary
from tests.adversary.test_bytes import contents, found
from tests.adversary.test_order import assert_same, permuted
from tests.once import once

Row = dict[str, Any]

KEPT = 60
SET_ASIDE = 3
CITIES = {"F": [canary("city", "north", i) for i in range(3)], "M": [canary("city", "south", i) for i in range(3)]}
REGIONS = [*((city, "north", "*") for city in CITIES["F"]), *((city, "south", "*") for city in CITIES["M"])]


def people() -> list[Row]:
    """Many agree in all aggregated columns; the last ones have no weight, so that they are set aside."""
    draw = random.Random("aggregated")
    rows = []
    for i in range(KEPT + SET_ASIDE):
        sex = "FM"[i % 2]
        rows.append(
            {
                "id": canary("id", i),
                "name": canary("name", i),
                "sex": sex,
                "age": draw.choice([23, 31, 47]),
                "height": draw.choice([160, 170, 170, 170, 180]),
                "weight": draw.choice([60, 70, 80]) if i < KEPT else None,
                "city": draw.choice(CITIES[sex]),
                "diagnosis": draw.choice(["flu", "cold", "gout"]),
                "ward": draw.choice(["east", "west"]),
            }
        )
    return rows


def visits(rows: list[Row]) -> list[Row]:
    """The rows as those of twenty people, of whom three have one that is set aside, too."""
    return [{**row, "id": canary("id", i * 7 % 20)} for i, row in enumerate(rows)]


def with_the_same_aggregates(rows: list[Row]) -> list[Row]:
    """Others of each sex, with the same ends of intervals, middle values, sums and regions."""
    cities = {city: CITIES[sex][i - 1] for sex in CITIES for i, city in enumerate(CITIES[sex])}
    moved = [
        {
            **row,
            "age": row["age"] // 10 * 10 + 9 - row["age"] % 10,
            "height": row["height"] + (row["height"] - 170) // 2,
            "city": cities[row["city"]],
        }
        for row in rows
    ]
    for row, change in zip(moved, (5, 5, -5, -5), strict=False):
        row["weight"] += change
    return moved


def with_others_set_aside(rows: list[Row]) -> list[Row]:
    """The table with people of another age, city and diagnosis in place of those set aside."""
    others = [
        {**row, "age": 90, "height": 200, "city": CITIES[row["sex"]][0], "diagnosis": canary("unheard of")}
        for row in rows[KEPT:]
    ]
    return rows[:KEPT] + others


def policy(form: str) -> Document:
    """A policy for clusters of the whole table, of people or of visits, or for classes by sex."""
    attribute = samples.attribute
    sex = attribute("sex", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}, maximum_level=0)
    return changed(
        samples.policy(),
        attributes=[
            attribute("id", "IDENTIFYING"),
            attribute("name", "IDENTIFYING"),
            sex if form == "classes" else attribute("sex", "IDENTIFYING"),
            attribute("age", "QUASI_IDENTIFIER", aggregation={"function": "INTERVAL", "grid": "10"}),
            attribute("height", "QUASI_IDENTIFIER", aggregation={"function": "MEDIAN"}),
            attribute("weight", "QUASI_IDENTIFIER", aggregation={"function": "MEAN"}, nulls="SUPPRESS"),
            attribute(
                "city",
                "QUASI_IDENTIFIER",
                hierarchy=samples.inline(REGIONS),
                aggregation={"scale": "NOMINAL", "function": "COMMON_LABEL"},
            ),
            attribute("diagnosis", "SENSITIVE"),
            attribute("ward", "INSENSITIVE", acknowledged=True),
        ],
        **({"microaggregation": {}, "suppressed_records": samples.BLANK} if form != "classes" else {}),
    )


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows)


@pytest.fixture(params=once(["classes", "clusters", "visits"]), scope="module")
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def releases(publish_each: PublishEach, form: str) -> list[Published]:
    """Releases of people and of others in another order.

    Clusters depend on every value: there, only the people set aside differ.
    """
    rows = visits(people()) if form == "visits" else people()
    others = with_others_set_aside(people())
    if form == "classes":
        others = with_the_same_aggregates(others)
    elif form == "visits":
        others = visits(others)
    return publish_each([(table(rows), policy(form)), (permuted(table(others), 1), policy(form))])


def test_neither_order_nor_values_of_the_same_aggregates_change_a_byte(releases: list[Published]) -> None:
    assert_same(releases)
    assert releases[0].suppressed == SET_ASIDE


def test_no_value_behind_an_aggregate_is_in_the_files(releases: list[Published], form: str) -> None:
    published = releases[0]
    rows = visits(people()) if form == "visits" else people()
    hidden = texts([table(rows)]) - texts(list(published.objects.values())) - {"sex"}
    hidden -= {"id", "name", "F", "M"}
    # All people of a cluster may be of one city.
    assert len(hidden) >= len({row["id"] for row in rows} | {row["name"] for row in rows})
    assert form != "classes" or set(CITIES["F"] + CITIES["M"]) < hidden
    for name, content in contents(published).items():
        assert not found(hidden, content), name


def test_the_columns_are_the_sources_and_the_classes_are_those_of_the_rows(
    releases: list[Published], form: str
) -> None:
    """No cluster is numbered, and no figure of a cluster is published that the rows do not have as well."""
    published = releases[0]
    quasi_identifiers = ["sex"] * (form == "classes") + ["age", "height", "weight", "city"]
    types = {field.name: str(field.type) for field in published.rows.schema}
    assert types == {
        **({"sex": "string"} if form == "classes" else {"suppressed": "bool"}),
        **dict.fromkeys(["age", "city", "diagnosis", "ward"], "string"),
        **dict.fromkeys(["height", "weight"], "double"),
        **dict.fromkeys(["age_from", "age_to"], "int64"),
        **dict.fromkeys(["age_rank", "city_rank"], "int32"),
    }
    rows = [row for row in published.rows.to_pylist() if not row.get("suppressed")]
    assert len(rows) == KEPT
    sizes = Counter(tuple(row[name] for name in quasi_identifiers) for row in rows)
    assert min(sizes.values()) >= K
    classes = published.objects["CLASSES"]
    assert set(classes.column_names) == {
        *quasi_identifiers,
        *("class_id", "class_size", "risk", "distinct_l_diagnosis", "entropy_l_diagnosis"),
    }
    listed = [tuple(row[name] for name in quasi_identifiers) for row in classes.to_pylist()]
    assert listed == sorted(sizes)
    assert classes["class_size"].to_pylist() == [sizes[key] for key in listed]
