"""Released people are recognized in a table of another name, with other columns, by the values themselves."""

from collections import Counter
from dataclasses import replace
from itertools import count, product
from math import comb, exp, factorial, log2, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.backend import Database, Session
from tableveil.disclosure.accident import significance_bits
from tableveil.errors import InvalidError
from tableveil.lifecycle import check_ledger
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import Source, find_source, sketch
from tableveil.source.fingerprint import Fingerprint, full_fingerprint
from tableveil.source.sketch import LEVEL_SHIFT
from tableveil.state import sketches
from tableveil.state.sketches import Likeness
from tests.once import once

KEY = b"k" * 32
NUMBERS = count(1)

POLICY = Policy(
    source=TableReference("", "main", "t"),
    attributes=(AttributePolicy("a", Role.SENSITIVE),),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=ReleaseTarget("main", "out"),
    default_role=Role.SENSITIVE,
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def read(session: Session, name: str, key: bytes = KEY, person: str | None = None) -> tuple[Source, Fingerprint]:
    source, _, _ = find_source(session, TableReference("", "main", name), "", "source")
    assert source is not None
    return source, full_fingerprint(session, source, key, person)


def released(session: Session, name: str, key: bytes = KEY, person: str | None = None) -> int:
    """The number under which the ledger has the columns of a table."""
    number = next(NUMBERS)
    found = read(session, name, key, person)[1].sketch
    assert found is not None
    sketches.insert(session.ledger, number, found)
    return number


def asked(session: Session, name: str, person: str | None = None) -> str:
    """The reason demanded before a table is released; an empty text if none is."""
    try:
        check_ledger(session, POLICY, *read(session, name, person=person))
    except InvalidError as error:
        found = error
    else:
        return ""
    assert (found.code, found.faults[0].field) == ("REPEATED_RELEASE", "repeat_reason")
    check_ledger(session, replace(POLICY, repeat_reason="asked for"), *read(session, name))
    return found.faults[0].found


@pytest.fixture
def people(session: Session) -> int:
    """Sixty people with a number, and columns that recur; the release that was made of them."""
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT (100 + 7 * i)::INTEGER AS id, (20 + hash(i) % 5)::INTEGER AS age, "
        "'ward ' || hash(i, 1) % 3 AS ward, DATE '2020-01-01' + (hash(i, 2) % 4)::INTEGER AS since, 'DE' AS country, "
        "hash(i, 3) % 2 = 0 AS ill, (hash(i, 4) % 7)::INTEGER / 10 AS score FROM range(60) r(i)"
    )
    return released(session, "people")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT * FROM people ORDER BY hash(id)", id="rows in another order"),
        pytest.param("SELECT country, ward, score, age, ill, id, since FROM people", id="columns in another order"),
        pytest.param("SELECT id AS n, age AS years, ward AS w FROM people", id="columns renamed"),
        pytest.param("SELECT *, now() AS loaded_at FROM people", id="a column more"),
        pytest.param("SELECT id FROM people", id="nothing but what tells all apart"),
        pytest.param("SELECT id::BIGINT AS id FROM people", id="numbers of another type"),
        pytest.param("SELECT id::VARCHAR AS id FROM people", id="numbers written as text"),
        pytest.param("SELECT lpad(id::VARCHAR, 9, '0') AS id FROM people", id="numbers with zeros before them"),
        pytest.param("SELECT * REPLACE (id::VARCHAR AS id, age::DOUBLE AS age) FROM people", id="all cast"),
        pytest.param("SELECT * FROM people UNION ALL SELECT * FROM people WHERE id = 100", id="a row more"),
        pytest.param("SELECT * FROM people WHERE id > 100", id="a row less"),
        pytest.param("SELECT id AS n, now() AS loaded_at FROM people WHERE id > 160", id="people of nine tenths"),
        pytest.param("SELECT id FROM people WHERE id < 170", id="a sixth of the people"),
        pytest.param("FROM people UNION ALL SELECT * REPLACE (id + 999 AS id) FROM people", id="as many besides"),
    ],
)
def test_the_same_people_are_known_again(session: Session, people: int, query: str) -> None:
    session.execute(f"CREATE OR REPLACE TABLE again AS {query}")
    assert f"releases/{people}" in asked(session, "again")


@pytest.mark.parametrize(
    ("columns", "agreeing"),
    [
        pytest.param("age::DECIMAL(9, 2) AS a", "'a'", id="decimals"),
        pytest.param("age::UTINYINT AS a", "'a'", id="numbers of smaller types"),
        pytest.param("score::FLOAT AS s", "'s'", id="a smaller type of parts"),
        pytest.param("score::DECIMAL(4, 3) AS d", "'d'", id="decimals of parts"),
        pytest.param("score::FLOAT::DOUBLE AS s", "'s'", id="numbers that were a FLOAT"),
        pytest.param("score::VARCHAR AS s", "'s'", id="decimals written as text"),
        pytest.param("since::TIMESTAMP AS s", "'s'", id="timestamps instead of dates"),
        pytest.param("since::VARCHAR AS s", "'s'", id="dates written as text"),
        pytest.param("ward::ENUM('ward 0', 'ward 1', 'ward 2') AS ward", "'ward'", id="an ENUM"),
        pytest.param("ill::VARCHAR AS ill", "'ill'", id="text instead of booleans"),
        pytest.param("age, hash(id, 9) % 4 AS other", "'age'", id="a column with other values"),
        pytest.param("if(hash(id, 9) % 9 > 0, age, 0) AS age", "'age'", id="some with other values"),
        pytest.param("score AS s, age AS a", "'s' and 'a'", id="two of them"),
    ],
)
def test_numbered_people_are_known_by_their_rows(session: Session, columns: str, agreeing: str) -> None:
    """Numbers from 1 are in any table: the rows of a number must agree."""
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute(
        "CREATE OR REPLACE TABLE numbered AS SELECT i AS id, (20 + hash(i) % 5)::INTEGER AS age, "
        "'ward ' || hash(i, 1) % 3 AS ward, DATE '2020-01-01' + (hash(i, 2) % 4)::INTEGER AS since, "
        "hash(i, 3) % 2 = 0 AS ill, (hash(i, 4) % 7)::INTEGER / 10 AS score FROM range(1, 81) r(i)"
    )
    number = released(session, "numbered")
    session.execute(f"CREATE OR REPLACE TABLE again AS SELECT id AS n, {columns} FROM numbered WHERE id < 71")
    found = asked(session, "again")
    assert f"all 70 values of 'n' here are in releases/{number}, in 'id'" in found
    assert found.endswith(f"of 70 rows that share one have the same {agreeing}")
    session.execute(
        f"CREATE OR REPLACE TABLE others AS SELECT id, {columns.replace('(id', '(id + 1')} FROM "
        "(SELECT * REPLACE (80 - id AS id) FROM numbered)"
    )
    assert asked(session, "others") == ""


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(
            "SELECT * EXCLUDE (id) FROM people WHERE id > 100", id="a row less and no column that tells apart"
        ),
        pytest.param("SELECT age, country FROM people", id="one column that recurs"),
        pytest.param("SELECT ill, country FROM people", id="a boolean"),
        pytest.param("SELECT ill, ward FROM people", id="two columns that recur by chance"),
        pytest.param("SELECT age, ward, since FROM people", id="equal columns that recur"),
        pytest.param("SELECT ward, ward AS again, ward AS once_more FROM people", id="one column three times"),
        pytest.param("SELECT 'DE' AS country, 5 AS one, NULL AS nothing FROM people", id="columns that never vary"),
        pytest.param("SELECT id + 1 AS id, age, country FROM people", id="other people of these ages"),
        pytest.param("SELECT id + 1 AS id, if(id = 100, NULL, age) AS age, ward FROM people", id="a value less"),
    ],
)
def test_others_are_not(session: Session, people: int, query: str) -> None:
    session.execute(f"CREATE OR REPLACE TABLE again AS {query}")
    assert asked(session, "again") == ""


OTHERS = {
    "sorted alike": ("hash(i, {seed}) % 90 AS x, i * 4 // {rows} AS part", 300, 300),
    "cycles": ("hash(i, {seed}) % 90 AS x, i % 4 AS part, i % 12 AS month", 300, 200),
    "pay against numbers": ("hash(i, {seed}) % 1500 AS x, hash(hash(i, {seed})) % 2 AS sex", 300, 900),
    "most alike": ("hash(i, {seed}) % 50 = 0 AS ill, hash(i, {seed}) % 90 AS age", 500, 400),
    "dates by number": ("20240100 + i // 28 * 100 + i % 28 + 1 AS day, hash(i, {seed}) % 9 AS x", 280, 336),
    "times": ("1974 + i / 12 AS time, hash(i, {seed}) % 9 AS x", 70, 80),
    "codes": ("'P' || lpad(i::VARCHAR, 4, '0') AS code, hash(i, {seed}) % 9 AS x", 70, 80),
    "years": ("1950 + i AS year, hash(i, {seed}) % 9 AS x", 60, 60),
    "no more than the number and a sex": ("hash(hash(i, {seed})) % 2 AS sex", 900, 900),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_numbered_rows_of_others_are_not(session: Session, kind: str) -> None:
    session.execute("DELETE FROM tableveil.release_sample_values")
    columns, *sizes = OTHERS[kind]
    for name, rows, seed in zip(("first", "second"), sizes, (1, 2), strict=True):
        of = columns.format(seed=seed, rows=rows)
        session.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT i + 1 AS id, {of} FROM range({rows}) r(i)")
    released(session, "first", person="id")
    assert asked(session, "second", "id") == ""


def test_a_few_people_are_known_by_sparse_keys(session: Session) -> None:
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute(
        "CREATE OR REPLACE TABLE few AS SELECT 100_000 + hash(i) % 900_000 AS id, 1940 + hash(i, 1) % 60 AS birth, "
        "hash(i, 2) % 2 AS sex FROM range(8) r(i);"
        "CREATE OR REPLACE TABLE more AS FROM few UNION ALL SELECT 17, 1950, 1 UNION ALL SELECT 923_111, 1960, 0"
    )
    number = released(session, "few")
    found = asked(session, "more")
    assert f"all 8 values of 'id' in releases/{number} recur here" in found
    assert "8 of 8 rows that share one have the same 'birth'" in found


@pytest.mark.parametrize("key", ["(hash(i, {m}) % 1000000000)::BIGINT", "row_number() OVER (ORDER BY hash(i, {m}))"])
@pytest.mark.parametrize("same", [True, False])
def test_people_under_other_keys_are_known_by_what_stays_the_same(session: Session, key: str, same: bool) -> None:
    """Others have about as many equal rows as columns that have nothing to do with each other."""
    session.execute("DELETE FROM tableveil.release_sample_values; DELETE FROM tableveil.release_samples")
    for month in (1, 2):
        seed = 1 if same else month
        session.execute(
            f"CREATE OR REPLACE TABLE month_{month} AS SELECT {key.format(m=10 + month)} AS id, "
            f"20 + hash(i, 20 + {seed}) % 60 AS age, hash(i, 30 + {seed}) % 2 AS sex, "
            f"hash(i, 40 + {seed}) % 3 AS ward, hash(i, 50 + {month}) % 5 AS illness FROM range(100) r(i)"
        )
    number = released(session, "month_1", person="id")
    found = asked(session, "month_2", "id")
    told = f"100 of 100 rows have the same 'age', 'sex' and 'ward' as one of 100 in releases/{number}, and by chance "
    assert (told in found) == same == bool(found), found


def test_releases_without_rows_are_known_by_values_alone(session: Session, people: int) -> None:
    """Releases of earlier versions have none, and the sentence says so."""
    session.execute("UPDATE tableveil.release_samples SET filled = NULL WHERE release = ?", [people])
    session.execute("CREATE OR REPLACE TABLE again AS SELECT id FROM people")
    assert asked(session, "again") == (
        f"none, although the column 'id' has the same values as in releases/{people} (by its values alone: the ledger "
        "keeps no rows of that release)"
    )


VISITS = "SELECT id, hash(id, n) % 90 AS ward FROM people, range(40) r(n) WHERE n < {}"
"""Some visits of each person."""


@pytest.mark.parametrize("most", once(["2 + hash(id) % 9", "2", "1 + hash(id) % 40"]))
@pytest.mark.parametrize(("first", "second"), [("people", "visits"), ("visits", "people"), ("visits", "month")])
def test_people_are_known_whatever_their_numbers_of_records(
    session: Session, people: int, most: str, first: str, second: str
) -> None:
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute(f"CREATE OR REPLACE TABLE visits AS {VISITS.format(most)}")
    session.execute(f"CREATE OR REPLACE TABLE month AS {VISITS.format('1 + hash(id, 1) % 5')}")
    number = released(session, first, person="id")
    assert f"all 60 values of 'id' in releases/{number} recur here" in asked(session, second, "id")
    session.execute(f"CREATE OR REPLACE TABLE half AS FROM {second} WHERE id < 310")
    assert "all 30 values of 'id' here are in" in asked(session, "half", "id")
    session.execute(f"CREATE OR REPLACE TABLE others AS SELECT id + 1 AS id, ward FROM {second}")
    assert asked(session, "others", "id") == ""


@pytest.mark.parametrize("times", ["2", "3", "2 + hash(id) % 3"])
@pytest.mark.parametrize("turned", [False, True])
def test_repeated_rows_are_known(session: Session, people: int, times: str, turned: bool) -> None:
    """Every row of a table twice, under another name, is of the same people; others of these ages are not."""
    session.execute(f"CREATE OR REPLACE TABLE twice AS SELECT people.* FROM people, range(9) r(n) WHERE n < {times}")
    session.execute("CREATE OR REPLACE TABLE others AS SELECT id + 1 AS id, age FROM twice")
    if turned:
        session.execute("DELETE FROM tableveil.release_sample_values")
    number = released(session, "twice") if turned else people
    assert f"releases/{number}" in asked(session, "people" if turned else "twice")
    if turned:
        session.execute("CREATE OR REPLACE TABLE others AS SELECT id + 1 AS id, age FROM people")
    assert asked(session, "others") == ""


@pytest.mark.parametrize("times", ["2", "2 + hash(id) % 3", "1 + (hash(id) % 3 > 0)::INTEGER"])
@pytest.mark.parametrize("turned", [False, True])
def test_many_repeated_people_are_known(session: Session, times: str, turned: bool) -> None:
    """With many people, copies are as uneven as their rule says, and not by luck more even."""
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute("CREATE OR REPLACE TABLE once AS SELECT 'p' || hash(i) AS id, i % 4 AS ward FROM range(600) r(i)")
    session.execute(f"CREATE OR REPLACE TABLE twice AS SELECT once.* FROM once, range(9) r(n) WHERE n < {times}")
    first, second = ("twice", "once") if turned else ("once", "twice")
    assert f"releases/{released(session, first)}" in asked(session, second)


@pytest.mark.parametrize("people", once([200, 40_000]))
@pytest.mark.parametrize("turned", [False, True])
def test_repeated_rows_with_sequential_ids_are_known(session: Session, people: int, turned: bool) -> None:
    """The rows by themselves say so; not of others. The ids alone could be anybody's."""
    session.execute(
        f"CREATE OR REPLACE TABLE once AS SELECT i + 1 AS id, 20 + hash(i) % 60 AS age FROM range({people}) r(i);"
        "CREATE OR REPLACE TABLE twice AS SELECT once.* FROM once, range(2);"
        "CREATE OR REPLACE TABLE numbered AS SELECT *, 'row ' || row_number() OVER () AS line FROM twice;"
        "CREATE OR REPLACE TABLE others AS SELECT id AS case_id, hash(id, 1) % 60 AS age FROM twice"
    )
    for other in ("twice", "numbered", "others"):
        session.execute("DELETE FROM tableveil.release_sample_values")
        first, second = (other, "once") if turned else ("once", other)
        known = f"releases/{released(session, first)}" in asked(session, second)
        assert known == (other != "others"), other


@pytest.mark.parametrize("ages", ["100 + i % 25", "hash(i, {}) % 90", "i % 90"])
@pytest.mark.parametrize("second", [200, 300, 3_000])
def test_ages_of_tables_of_other_sizes_are_no_people(session: Session, ages: str, second: int) -> None:
    session.execute("DELETE FROM tableveil.release_sample_values")
    for name, rows in (("ages", 250), ("others", second)):
        of_one = ages.format(rows)
        session.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT ({of_one})::INTEGER AS age FROM range({rows}) r(i)")
    released(session, "ages")
    assert asked(session, "others") == ""


@pytest.mark.parametrize("mean", [0.1, 0.4, 1, 2, 5])
def test_days_that_recur_by_chance_are_no_people(session: Session, mean: float) -> None:
    """Two tables of other people share their dates of birth, each of which a few records have."""
    session.execute("DELETE FROM tableveil.release_sample_values")
    for name, seed in (("born", 1), ("others", 2)):
        session.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT DATE '1990-01-01' + (hash(i, {seed}) % 2000)::INTEGER AS born "
            f"FROM range({round(2000 * mean)}) r(i)"
        )
    released(session, "born")
    assert asked(session, "others") == ""


def test_says_by_which_columns_and_no_value(session: Session, people: int) -> None:
    session.execute("CREATE OR REPLACE TABLE again AS SELECT id AS n, country FROM people")
    assert asked(session, "again") == f"none, although all 60 values of 'id' in releases/{people} recur here, in 'n'"
    session.execute("CREATE OR REPLACE TABLE again AS SELECT id AS n FROM people WHERE id < 170")
    assert asked(session, "again") == f"none, although all 10 values of 'n' here are in releases/{people}, in 'id'"
    session.execute("CREATE OR REPLACE TABLE again AS SELECT if(id < 310, id, id + 1) AS n FROM people")
    assert "30 of the 60 values of 'id' in" in asked(session, "again")
    later = released(session, "people")
    found = asked(session, "people")
    assert f"all 60 values of 'id' in releases/{people}, releases/{later} recur here, and 60 of 60 rows" in found
    assert found.endswith("have the same 'score', 'age' and 'since'")


def test_rows_are_known_though_no_column_is(session: Session) -> None:
    """Values of every column are in as many records by chance only; combined in rows, most occur once."""
    session.execute(
        "CREATE OR REPLACE TABLE combined AS "
        "SELECT hash(i, 1) % 90 AS a, 100 + hash(i, 2) % 90 AS b, 200 + hash(i, 3) % 90 AS c FROM range(2000) r(i)"
    )
    number = released(session, "combined")
    session.execute(
        "CREATE OR REPLACE TABLE again AS SELECT c, a, b, 1 AS one FROM combined WHERE hash(a, b, c) % 2 = 0"
    )
    assert asked(session, "again") == f"none, although all 1,046 different rows here are in releases/{number}"


@pytest.mark.parametrize(
    ("query", "is_known"),
    [
        pytest.param("SELECT i AS number FROM range(1, 3001) r(i)", False, id="numbered by another name"),
        pytest.param("SELECT i AS patient FROM range(1, 3001) r(i)", False, id="numbered by the same name"),
        pytest.param("SELECT i AS number FROM range(1, 3001) r(i) WHERE i % 9 > 0", False, id="other gaps"),
        pytest.param("SELECT patient AS number FROM numbered WHERE patient % 9 > 0", False, id="the same gaps"),
    ],
)
def test_numbers_without_gaps_are_no_people(session: Session, query: str, is_known: bool) -> None:
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute("CREATE OR REPLACE TABLE numbered AS SELECT i AS patient FROM range(1, 5001) r(i) WHERE i % 7 > 0")
    released(session, "numbered")
    session.execute(f"CREATE OR REPLACE TABLE again AS {query}")
    assert bool(asked(session, "again")) == is_known


def test_a_small_part_of_many_people_is_known(session: Session) -> None:
    """For a large table only a sample of the people is kept, for a small one all are."""
    session.execute("DELETE FROM tableveil.release_sample_values")
    session.execute("CREATE OR REPLACE TABLE many AS SELECT hash(i) AS id FROM range(200_000) r(i)")
    session.execute("CREATE OR REPLACE TABLE few AS FROM many ORDER BY id LIMIT 2000")
    for first, second in (("many", "few"), ("few", "many")):
        session.execute("DELETE FROM tableveil.release_sample_values")
        number = released(session, first)
        assert session.value("SELECT count(*) FROM tableveil.release_sample_values") < 40_000
        assert f"releases/{number}" in asked(session, second)
    session.execute("CREATE OR REPLACE TABLE others AS SELECT hash(i) AS id FROM range(200_000, 400_000) r(i)")
    assert asked(session, "others") == ""


def test_a_sketch_needs_the_key(session: Session, people: int) -> None:
    """However few values a column has, an attacker who guesses them all cannot identify them without the key."""
    of_one, of_other = (read(session, "people", key)[1].sketch for key in (KEY, b"j" * 32))
    assert of_one is not None
    assert of_other is not None
    assert len(of_one.samples) == len(of_other.samples) == 7
    for one, other in zip(of_one.samples, of_other.samples, strict=True):
        mask = np.uint64(2**LEVEL_SHIFT - 1)
        assert len(one.values) > 1
        assert not set((one.values & mask).tolist()) & set((other.values & mask).tolist())


ROWS_OF = (
    "SELECT hash(i) AS id, 'p ' || i AS name, i % 3 AS few, if(i % 4 = 0, NULL, i) AS gaps, NULL::DATE AS nothing, "
    "if(i % 5 = 0, 'NaN', i / 7)::DOUBLE AS part, 'x' AS one, i::VARCHAR AS spelled, i % 2 = 0 AS even, "
    "DATE '2020-01-01' + (i % 9)::INTEGER AS h FROM range({rows}) r(i)"
)


@pytest.mark.parametrize("rows", [0, 1, 2, 300])
def test_samples_do_not_depend_on_how_they_are_taken(
    session: Session, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, as of a small table; column by column; and with so few values that most are left out."""
    session.execute(f"CREATE OR REPLACE TABLE sampled_alike AS {ROWS_OF.format(rows=rows)}")

    def samples() -> dict[str, sketch.ValueSample]:
        found = read(session, "sampled_alike")[1].sketch
        assert found is not None
        return {sample.column: sample for sample in found.samples}

    small = samples()
    varying = {"id", "name", "few", "gaps", "part", "spelled", "even", "h", ""}
    assert set(small) == (varying if rows > 1 else set())
    monkeypatch.setattr(sketch, "_MOST_FETCHED", 0)
    large = samples()
    monkeypatch.setattr(sketch, "MOST_VALUES", 16)
    part = samples()
    assert small.keys() == large.keys() == part.keys()
    for name, whole in small.items():
        expected = dict(zip(whole.values.tolist(), whole.records.tolist(), strict=True))
        assert dict(zip(large[name].values.tolist(), large[name].records.tolist(), strict=True)) == expected
        assert (large[name].scale, large[name].density) == (0, whole.density)
        kept = {value: n for value, n in expected.items() if value >> LEVEL_SHIFT >= part[name].scale}
        assert dict(zip(part[name].values.tolist(), part[name].records.tolist(), strict=True)) == kept
        assert sum(expected.values()) == rows
    assert rows < 300 or (part["id"].scale > 0 and part["few"].scale == 0 and part[""].scale > 0)


@given(data=st.data())
def test_the_significance_is_never_more_than_the_exact_one(data: st.DataObject) -> None:
    """Chernoff's bound against the exact tail: all ways in which values may be shared, each by its probability."""
    tried = data.draw(st.dictionaries(st.integers(1, 6), st.integers(1, 4), min_size=1, max_size=3))
    shared = {size: data.draw(st.integers(0, number)) for size, number in tried.items()}
    chances = {size: size**size * exp(-size) / factorial(size) for size in tried}
    weights = {size: -log2(chance) for size, chance in chances.items()}
    weight = sum(weights[size] * number for size, number in shared.items())
    tail = 0.0
    for ways in product(*(range(number + 1) for number in tried.values())):
        if sum(weights[size] * number for size, number in zip(tried, ways, strict=True)) >= weight - 1e-9:
            tail += prod(
                comb(tried[size], number) * chances[size] ** number * (1 - chances[size]) ** (tried[size] - number)
                for size, number in zip(tried, ways, strict=True)
            )
    # At a coarser scale, where nothing is taken off for the number of all records.
    likeness = Likeness(1, "a", 1, 100, 1, Counter(tried), Counter(tried), Counter(shared))
    assert significance_bits(likeness, 100) <= -log2(tail) + 1e-6
    if shared == tried:
        assert significance_bits(likeness, 100) == pytest.approx(-log2(tail))


@pytest.mark.long
def test_wide_tables_are_known_by_their_last_columns(session: Session) -> None:
    """More columns than are looked at in one scan, of which only those at the end vary."""
    constants = ", ".join(f"{i} AS c{i}" for i in range(420))
    session.execute(f"CREATE OR REPLACE TABLE wide AS SELECT {constants}, hash(i) AS x, i % 9 AS y FROM range(60) r(i)")
    number = released(session, "wide")
    assert f"all 60 values of 'x' in releases/{number} recur here" in asked(session, "wide")


@pytest.mark.parametrize("rows", once([1_500, 4_000]))
def test_what_follows_from_a_shared_code_makes_nobody_known(session: Session, rows: int) -> None:
    """Other people with the same postal codes live in the same counties; the people themselves are known."""
    for name, seed in (("town", 1), ("village", 2)):
        session.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT code, 'county ' || code % 40 AS county, "
            f"hash(i, {seed}, 1) % 90 AS age, 'w' || hash(i, {seed}, 2) % 9 AS ward "
            f"FROM (SELECT i, (hash(i, {seed}) % 4500)::INTEGER AS code FROM range({rows}) r(i))"
        )
    session.execute("DELETE FROM tableveil.release_sample_values")
    number = released(session, "town")
    assert asked(session, "village") == ""
    session.execute(f"CREATE OR REPLACE TABLE again AS FROM town LIMIT {rows // 2}")
    assert f"releases/{number}" in asked(session, "again")
