"""Generated comparisons of labels with texts: those that pass are true of a label if it may mean what they ask for."""

from collections.abc import Callable, Iterator, Mapping
from random import Random

import duckdb
import pytest

from tableveil.endpoint.labels import LookInFiles
from tableveil.endpoint.statement import check
from tableveil.errors import InvalidError
from tests.once import once

FULL = {"[0, 4]": (0, 4), "[5, 9]": (5, 9), "[10, 14]": (10, 14)}
LOCAL = {**FULL, "[0, 9]": (0, 9), "7": (7, 7), ">= 15": (15, None), "*": (None, None)}
CODES = {"whole": ("02**", "03**", "10**"), "local": ("021*", "02**", "03**", "0***", "****", "10**")}
RELEASES: Mapping[str, Mapping[str, tuple[int | None, int | None]]] = {"whole": FULL, "local": LOCAL}
VALUES = frozenset(range(30))
ZIPS = frozenset(f"{number:04}" for number in range(1_100))
TEXTS = [*LOCAL, "3", "12", "17", "gone", "021*", "02**", "0213", "****", "9999"]


def means(release: str, column: str, text: str) -> frozenset[object] | None:
    """The values that a text stands for; None if nobody knows."""
    if column == "age":
        if text in LOCAL:
            low, high = LOCAL[text]
            return frozenset(v for v in VALUES if (low is None or v >= low) and (high is None or v <= high))
        return frozenset({int(text)}) if text.isdecimal() else None
    if len(text) != 4 or "*" not in text:
        return frozenset({text})
    return frozenset(z for z in ZIPS if all(a in ("*", b) for a, b in zip(text, z, strict=True)))


def labels(release: str, column: str) -> list[str]:
    return list(RELEASES[release] if column == "age" else CODES[release])


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS releases; USE releases")
        for release, ages in RELEASES.items():
            made = [f"('{text}', {low or 'NULL'}, {high or 'NULL'}, {i})" if low != 0 else f"('{text}', 0, {high}, {i})"
                    for i, (text, (low, high)) in enumerate(ages.items())]  # fmt: skip
            codes = ", ".join(f"('{text}', {i})" for i, text in enumerate(CODES[release]))
            connection.execute(
                f"CREATE TABLE releases.main.{release} AS SELECT age, age_from::BIGINT AS age_from, age_to::BIGINT "
                "AS age_to, age_rank::INTEGER AS age_rank, zip, zip_rank::INTEGER AS zip_rank FROM "
                f"(VALUES {', '.join(made)}) AS a (age, age_from, age_to, age_rank), "
                f"(VALUES {codes}) AS z (zip, zip_rank)"
            )
        yield connection


WRITTEN: list[Callable[[Random, str, list[str]], str]] = [
    lambda _, column, texts: f"{column} = '{texts[0]}'",
    lambda _, column, texts: f"'{texts[0]}' = {column}",
    lambda _, column, texts: f"{column} IN ({', '.join(map(repr, texts))})",
    lambda _, column, texts: f"{column} = CAST('{texts[0]}' AS VARCHAR)",
    lambda _, column, texts: f"{column} = '{texts[0][:1]}' || '{texts[0][1:]}'",
    lambda _, column, texts: f"{column} = (SELECT '{texts[0]}')",
    lambda _, column, texts: f"{column} IN (SELECT x FROM (VALUES {', '.join(f'({t!r})' for t in texts)}) AS v(x))",
    lambda _, column, texts: f"{column} = ANY ({texts!r})",
    lambda _, column, texts: f"coalesce({column}, 'none') = '{texts[0]}'",
    lambda _, column, texts: f"CASE {column} WHEN '{texts[0]}' THEN TRUE ELSE FALSE END",
    lambda _, column, texts: f"EXISTS (SELECT 1 FROM unnest({texts!r}) AS u(x) WHERE x = {column})",
    lambda _, column, texts: f"{column} LIKE '{texts[0][:2]}%'",
    lambda _, column, texts: f"NOT ({column} <> '{texts[0]}')",
    lambda _, column, texts: f"{column} NOT LIKE '{texts[0]}' IS FALSE",
    lambda _, column, texts: f"nullif('{texts[0]}', {column}) IS NULL",
    lambda _, column, texts: f"EXISTS (SELECT '{texts[0]}' INTERSECT SELECT {column})",
    lambda _, column, texts: f"{column} IN ({', '.join(f'${place}' for place in range(1, len(texts) + 1))})",
]
SEVERAL = (2, 6, 7, 10, 16)
BOUND = 16
FROM: list[Callable[[str, str, str], str]] = [
    lambda table, column, condition: f"SELECT DISTINCT {column} FROM {table} WHERE {condition}",
    lambda table, column, condition: f"SELECT {column} FROM (SELECT {column} FROM {table}) AS t WHERE {condition}",
    lambda table, column, condition: f"WITH t AS (FROM {table}) SELECT {column} FROM t AS u WHERE {condition}",
    lambda table, column, condition: (
        f"SELECT k FROM (SELECT {column} AS k FROM {table}) WHERE " + condition.replace(column, "k")
    ),
    lambda table, column, condition: f"SELECT {column} FROM {table} GROUP BY {column} HAVING {condition}",
    lambda table, column, condition: (
        f"SELECT {column[0]} FROM {table} AS t(a, f, u, r, z) WHERE " + condition.replace(column, column[0])
    ),
    lambda table, column, condition: (
        f"WITH p AS (PIVOT {table} ON age_rank IN (1) USING any_value({column}) AS k GROUP BY {column}) "
        f"SELECT {column} FROM p WHERE " + condition
    ),
]


@pytest.mark.parametrize("seed", once(range(20), 2))
def test_no_comparison_is_wrong_in_silence(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    random, passed, refused = Random(seed), 0, 0
    for _ in range(100):
        release, column = random.choice(["whole", "local"]), random.choice(["age", "zip"])
        known = labels(release, column)
        pool = known if random.random() < 0.7 else TEXTS
        texts = random.sample(pool, random.randint(1, min(4, len(pool))))
        which = random.randrange(len(WRITTEN))
        if random.random() < 0.3 and which in SEVERAL:
            texts = [
                text
                for text in known
                if (means(release, column, text) or set()) & (means(release, column, texts[0]) or set())
            ]
        if which not in SEVERAL:
            texts = texts[:1]
        statement = random.choice(FROM)(release, column, WRITTEN[which](random, column, texts or ["gone"]))
        given = [texts or ["gone"]] if which == BOUND else None
        look = LookInFiles(connection, lambda _: "releases", lambda *_, given=given: given)
        try:
            checked = check(statement, {("main", "whole"): 1, ("main", "local"): 1}, look)
        except InvalidError as error:
            assert error.code == "LABELS_MISREAD", statement  # noqa: PT017
            refused += 1
            continue
        passed += 1
        true = {label for (label,) in connection.execute(checked.text, given and given[0]).fetchall()}
        asked = [text for text in (texts if which != 11 else sorted(true)) if text != "*"]
        sets = [of for text in asked if (of := means(release, column, text)) is not None]
        assert len(sets) == len(asked), statement
        # The narrowest texts are asked for: any label that shares a value with them has to be found.
        narrow = [of for of in sets if not any(other < of for other in sets)]
        wanted = {label for label in known if any((means(release, column, label) or set()) & of for of in narrow)}
        assert true - {"*"} == wanted - {"*"}, statement
        assert "*" not in wanted or "*" in true, statement
    assert passed > 10
    assert refused > 10
