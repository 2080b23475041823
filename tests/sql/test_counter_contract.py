"""The contract of `ClassCounter`: every implementation says of any table what plain counting in Python says."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.backend import Database, Session, Settings
from tableveil.classes import ClassCounter, EquivalenceClasses, Marginals, NumpyCounter
from tableveil.counting import BaseHistogram, DuckDBCounter, choose, histogram_counter, open_counter
from tableveil.hierarchy import AttributeLevels, InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.lattice import Transformation
from tableveil.policy import NullHandling
from tests.once import once
from tests.sql.tables import Table, Value, base_of, random_table, with_details

Combination = tuple[int, ...]

Opened = Callable[[Session, BaseHistogram, Transformation | None], ClassCounter]
"""Opens a counter for the transformations from a least one on, or for all."""

IMPLEMENTATIONS: dict[str, Opened] = {
    "numpy": open_counter,
    "duckdb": lambda session, base, bottom: DuckDBCounter(session, base, hand_over_rows=0, bottom=bottom),
    "duckdb that hands over small roll-ups": lambda session, base, bottom: DuckDBCounter(
        session, base, 10, bottom, memory=100_000
    ),
    "duckdb that hands over all": lambda session, base, bottom: DuckDBCounter(session, base, bottom=bottom),
}


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One database for the many tables of a property."""
    opened = Database(Settings(tmp_path_factory.mktemp("contract") / "contract.duckdb", threads=1))
    yield opened
    opened.close()


@pytest.fixture(scope="module", autouse=True)
def parts_of_any_table() -> Iterator[None]:
    """Small tables are counted in parts, too."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(histogram_counter, "LEAST_GROUPS", 2)
        patched.setattr(histogram_counter, "WORTH_PROVING", 0.0)
        yield


# --- what is true of a table ----------------------------------------------------------------------------------------


def in_order(values: Iterable[Value]) -> dict[Value, int]:
    """The position of each value among all in order, NULL last."""
    present = set(values)
    texts = sorted(value for value in present if isinstance(value, str))
    numbers = sorted(value for value in present if isinstance(value, int))
    return {value: code for code, value in enumerate([*texts, *numbers, None])}


@functools.cache
def codes_of(table: Table, population: bool = False) -> tuple[Combination, ...]:
    """Per row that is counted, of the source or of the population, its codes."""
    everyone = table.population or ()
    columns = [in_order(row[j] for row in (*table.rows, *everyone)) for j in range(len(table.types))]
    rows = [row for row in everyone if table.counts(row)] if population else table.counted
    return tuple(tuple(columns[j][value] for j, value in enumerate(row)) for row in rows)


def groups_at(
    levels: tuple[AttributeLevels, ...], codes: Sequence[Combination], at: Transformation
) -> list[Combination]:
    """Per row its groups."""
    columns = zip(*codes, strict=True)
    groups = [
        attribute.groups[level][list(column)].tolist()
        for attribute, level, column in zip(levels, at, columns, strict=False)
    ]
    return list(zip(*groups, strict=True))


def names_of(classes: EquivalenceClasses, width: int) -> list[Combination]:
    """The groups of each class."""
    columns = [classes.groups(j).tolist() for j in range(width)]
    return [tuple(column[i] for column in columns) for i in range(len(classes.counts))]


def classes_of(classes: EquivalenceClasses, width: int) -> Counter[Combination]:
    found = names_of(classes, width)
    assert len(set(found)) == len(found)
    return Counter(dict(zip(found, classes.counts.tolist(), strict=True)))


def check_classes(table: Table, counter: ClassCounter, transformation: Transformation) -> None:
    expected = Counter(groups_at(counter.levels, codes_of(table), transformation))
    assert classes_of(counter.classes(transformation), len(table.types)) == expected


def check_values(table: Table, counter: ClassCounter, classes: EquivalenceClasses, attribute: int) -> None:
    """Checks the values of all classes and of every second one."""
    column = table.valued[attribute]
    code = in_order(column)
    values = [code[value] for row, value in zip(table.rows, column, strict=True) if table.counts(row)]
    expected = Counter(zip(groups_at(counter.levels, codes_of(table), classes.at), values, strict=True))
    chosen = np.arange(len(classes.counts)) % 2 == 0
    for some in (classes, classes.selected(chosen), classes.selected(chosen).selected(chosen[chosen])):
        names = names_of(some, len(table.types))
        among = set(names)
        found = some.values(attribute)
        entries = list(zip(found.classes.tolist(), found.values.tolist(), strict=True))
        assert entries == sorted(set(entries))
        assert sorted(set(found.classes.tolist())) == list(range(len(names)))
        held = {(names[i], value): n for (i, value), n in zip(entries, found.counts.tolist(), strict=True)}
        assert held == {key: n for key, n in expected.items() if key[0] in among}


def check_population(table: Table, counter: ClassCounter, classes: EquivalenceClasses) -> None:
    expected = Counter(groups_at(counter.levels, codes_of(table, population=True), classes.at))
    names = names_of(classes, len(table.types))
    assert classes.population().tolist() == [expected[name] for name in names]
    assert classes.population_only() == len(expected.keys() - set(names))
    last = np.arange(len(names)) == len(names) - 1
    assert classes.selected(last).population().tolist() == [expected[name] for name in names[-1:]]


def check_people(table: Table, counter: ClassCounter, classes: EquivalenceClasses) -> None:
    """Their numbers say nothing: how many people a class has, and how many of its records each."""
    people = [person for row, person in zip(table.rows, table.people, strict=True) if table.counts(row)]
    of: dict[Combination, Counter[int]] = {name: Counter() for name in names_of(classes, len(table.types))}
    for name, person in zip(groups_at(counter.levels, codes_of(table), classes.at), people, strict=True):
        of[name][person] += 1
    found = classes.values(len(table.valued))
    for i, records in enumerate(of.values()):
        assert sorted(found.counts[found.classes == i].tolist()) == sorted(records.values())
    everybody = counter.sensitive[len(table.valued)]
    assert everybody.people
    assert sorted(everybody.counts.tolist()) == sorted(Counter(table.people).values())
    for s, (_, values) in enumerate(table.sensitive):
        check_pairs(table, counter, classes, s, values)


def check_pairs(
    table: Table, counter: ClassCounter, classes: EquivalenceClasses, attribute: int, values: Sequence[Value]
) -> None:
    """Per class and value the records of each person who has it; people by numbers that say nothing."""
    code = {**in_order(values), None: -1}
    of: dict[Combination, Counter[tuple[int, int]]] = {name: Counter() for name in names_of(classes, len(table.types))}
    counted = [i for i, row in enumerate(table.rows) if table.counts(row)]
    for name, i in zip(groups_at(counter.levels, codes_of(table), classes.at), counted, strict=True):
        of[name][table.people[i], code[values[i]]] += 1
    place = len(table.valued) + 1 + attribute
    owned, found = counter.sensitive[place].owned, classes.values(place)
    assert owned is not None
    everything = Counter(zip(table.people, (code[value] for value in values), strict=True))
    assert sorted(counter.sensitive[place].counts.tolist()) == sorted(everything.values())
    for i, records in enumerate(of.values()):
        pairs = found.values[found.classes == i]
        counts = found.counts[found.classes == i]
        told = sorted(zip(owned.values[pairs].tolist(), counts.tolist(), strict=True))
        assert told == sorted((value, n) for (_, value), n in records.items())
        # Nobody is two people, and no two are one.
        assert len(set(owned.people[pairs].tolist())) == len({person for person, _ in records})


def check_details(table: Table, counter: ClassCounter, transformation: Transformation) -> None:
    classes = counter.classes(transformation)
    for attribute in range(len(table.valued)):
        check_values(table, counter, classes, attribute)
    if table.population is not None:
        check_population(table, counter, classes)
    if table.people:
        check_people(table, counter, classes)
    elif not table.valued and table.population is None:
        assert classes.details is None


def check_marginals(
    counter: ClassCounter, records: Sequence[Combination], marginals: Marginals, transformation: Transformation
) -> None:
    """The marginals count these records, by groups at least as fine as the transformation's."""
    assert all(fine <= level for fine, level in zip(marginals.at, transformation, strict=True))
    for j, (levels, at) in enumerate(zip(counter.levels, marginals.at, strict=True)):
        expected = np.zeros(len(levels.leaves[at]), np.int64)
        for code in records:
            expected[levels.groups[at][code[j]]] += 1
        assert marginals.counts[j].tolist() == expected.tolist()


def check_small_classes(table: Table, counter: ClassCounter, transformation: Transformation, minimum_size: int) -> None:
    groups = groups_at(counter.levels, codes_of(table), transformation)
    sizes = Counter(groups)
    small = [code for code, group in zip(codes_of(table), groups, strict=True) if sizes[group] < minimum_size]
    mask = counter.classes(transformation).counts < minimum_size
    check_marginals(counter, small, counter.records_in(transformation, mask), transformation)


def check_too_many_small(
    table: Table, counter: ClassCounter, transformation: Transformation, minimum_size: int, share: float
) -> bool:
    """Checks that no false claim is proven; returns whether one is for this share of the records in small classes."""
    groups = groups_at(counter.levels, codes_of(table), transformation)
    sizes = Counter(groups)
    small = sum(sizes[group] < minimum_size for group in groups)
    assert not counter.too_many_small(transformation, minimum_size, small)
    return counter.too_many_small(transformation, minimum_size, int(share * small)) and small > 0


def check_totals(table: Table, counter: ClassCounter) -> None:
    assert counter.records == len(table.rows)
    assert counter.withheld == len(table.rows) - len(table.counted)
    bottom = (0,) * len(table.types)
    check_marginals(counter, codes_of(table), counter.marginals(), bottom)
    assert counter.marginals().at == bottom
    assert [column.protected for column in counter.sensitive] == [
        s < len(table.sensitive)
        for s in range(len(table.valued) + bool(table.people) + len(table.sensitive) * bool(table.people))
    ]
    for column, values in zip(counter.sensitive, table.valued, strict=False):
        code = in_order(values)
        found = Counter(code[value] for value in values)
        assert column.counts.tolist() == [found[i] for i in range(len(found))]
        assert column.null_code == (code[None] if None in values else None)


# --- random tables --------------------------------------------------------------------------------------------------

LISTED = InlineLevels(tuple((v, {"a": "x", "b": "x"}.get(v, "y"), "z" if v < "c" else "y", "*") for v in "abcdef"))
NUMBERS = Intervals("0", "29", ("2", "10"))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    kinds = draw(st.lists(st.sampled_from(["VARCHAR", "INTEGER"]), min_size=width, max_size=width))
    values = {"VARCHAR": st.sampled_from("abcdef"), "INTEGER": st.integers(0, 29)}
    with_null = [values[kind] | st.none() if draw(st.booleans()) else values[kind] for kind in kinds]
    handling = st.sampled_from([NullHandling.VALUE, NullHandling.SUPPRESS])
    drawn = draw(st.lists(st.tuples(*with_null), min_size=1, max_size=25))
    # Some of the population may be in the source, or all, or none; NULLs need not be where the source has them.
    anyone = st.sampled_from(drawn) | st.tuples(*(st.none() | values[kind] for kind in kinds))
    population = draw(st.none() | st.lists(anyone, max_size=25))
    kinds_of_sensitive = draw(st.lists(st.sampled_from(["VARCHAR", "INTEGER"]), max_size=2))
    return Table(
        types=tuple(kinds),
        hierarchies=tuple(LISTED if kind == "VARCHAR" else NUMBERS for kind in kinds),
        nulls=tuple(draw(st.lists(handling, min_size=width, max_size=width))),
        rows=tuple(drawn),
        sensitive=tuple(
            (kind, draw(st.tuples(*[st.none() | values[kind]] * len(drawn)))) for kind in kinds_of_sensitive
        ),
        population=None if population is None else tuple(population),
        prefix=draw(st.sampled_from(["", "it's \"; --", "c0 n v "])),
        aggregated=draw(st.lists(st.tuples(*[st.integers(-3, 3)] * len(drawn)), max_size=1).map(tuple)),
        people=draw(st.just(()) | st.tuples(*[st.integers(0, 9)] * len(drawn))),
    )


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(table=tables(), implementation=st.sampled_from(list(IMPLEMENTATIONS)), data=st.data())
def test_counts_any_table(shared: Database, implementation: str, table: Table, data: st.DataObject) -> None:
    with shared.session() as session:
        base = base_of(session, table)
        tops = [dictionary.levels.top for dictionary in base.dictionaries]
        bottom = data.draw(st.none() | st.tuples(*(st.integers(0, top) for top in tops)))
        assert base.population_records == (None if table.population is None else len(table.population))
        counter = IMPLEMENTATIONS[implementation](session, base, bottom)
        check_totals(table, counter)
        least = bottom or (0,) * len(tops)
        lattice = st.tuples(*(st.integers(low, top) for low, top in zip(least, tops, strict=True)))
        for transformation in data.draw(st.lists(lattice, min_size=1, max_size=15)):
            # Small classes may be asked for after the classes, or without them.
            if data.draw(st.booleans()):
                check_classes(table, counter, transformation)
            size = data.draw(st.integers(1, 6))
            check_too_many_small(table, counter, transformation, size, data.draw(st.floats(0, 1)))
            check_small_classes(table, counter, transformation, size)
            if data.draw(st.booleans()):
                check_details(table, counter, transformation)


@pytest.mark.parametrize("implementation", once(IMPLEMENTATIONS))
def test_a_long_search_in_one_region(session: Session, implementation: str) -> None:
    """Roll-ups are made and used: answers stay the same, whatever was asked before."""
    table = with_details(random_table(rows=400, width=3, values=200, seed=1), values=[7], seed=1)
    counter = IMPLEMENTATIONS[implementation](session, base_of(session, table), None)
    random = Random(2)
    proven = 0
    for least in ((1, 1, 1), (2, 1, 2), (0, 2, 3), (2, 3, 2), (0, 0, 0)):
        for _ in range(7):
            transformation = tuple(
                random.randint(low, levels.top) for low, levels in zip(least, counter.levels, strict=True)
            )
            check_classes(table, counter, transformation)
            size = random.choice([2, 5, 50])
            proven += check_too_many_small(table, counter, transformation, size, 0.2)
            check_small_classes(table, counter, transformation, size)
            check_details(table, counter, transformation)
    assert (proven > 5) == (implementation != "numpy")


@pytest.mark.parametrize("implementation", once(IMPLEMENTATIONS))
def test_keys_of_several_words(session: Session, implementation: str) -> None:
    """12 attributes of 1,000 values each do not fit into one 64-bit key."""
    table = random_table(rows=1500, width=12, values=3000, seed=3)
    # A few equal rows, so that not every class is a single record.
    rows = (*table.rows[:1200], *table.rows[:300])
    # Five values fit into the last word of the key, 200 do not.
    table = with_details(Table(table.types, table.hierarchies, table.nulls, rows), values=[5, 200], seed=3)
    counter = IMPLEMENTATIONS[implementation](session, base_of(session, table), None)
    assert all(len(levels.groups[0]) >= 900 for levels in counter.levels)
    assert len(counter.classes((0,) * 12).words) > 1
    check_totals(table, counter)
    for transformation in ((0,) * 12, (1,) * 12, (2, 0) * 6, (0, *(4,) * 11), (4,) * 12):
        check_classes(table, counter, transformation)
        check_too_many_small(table, counter, transformation, 2, 0.2)
        check_small_classes(table, counter, transformation, 2)
        check_details(table, counter, transformation)


VALUE, SUPPRESS = NullHandling.VALUE, NullHandling.SUPPRESS


@pytest.mark.parametrize(
    ("rows", "nulls"),
    [
        pytest.param([("a", 1)], (VALUE, VALUE), id="one row"),
        pytest.param([(None, 1), (None, 2), (None, 1)], (VALUE, VALUE), id="all-NULL column"),
        pytest.param([(None, None)] * 3, (VALUE, VALUE), id="nothing but NULL"),
        pytest.param([(None, 1), (None, 2)], (SUPPRESS, VALUE), id="all withheld"),
        pytest.param([(None, 1), ("a", None), ("a", 1)], (SUPPRESS, SUPPRESS), id="withheld by either"),
        pytest.param([("a", 1)] * 20, (VALUE, VALUE), id="one class"),
    ],
)
@pytest.mark.parametrize(
    "population", once([((None, None), ("a", 1)), (), (("f", 29),)]), ids=["some", "nobody", "others"]
)
def test_extremes(
    session: Session,
    rows: list[tuple[Value, ...]],
    nulls: tuple[NullHandling, NullHandling],
    population: tuple[tuple[Value, ...], ...],
) -> None:
    sensitive = (("VARCHAR", (None,) * len(rows)), ("INTEGER", tuple(range(len(rows)))))
    table = Table(("VARCHAR", "INTEGER"), (LISTED, NUMBERS), nulls, tuple(rows), sensitive, population)
    base = base_of(session, table)
    for implementation in IMPLEMENTATIONS.values():
        counter = implementation(session, base, None)
        check_totals(table, counter)
        for transformation in ((0, 0), (1, 2), (3, 3), (0, 3)):
            check_classes(table, counter, transformation)
            check_too_many_small(table, counter, transformation, 2, 0.0)
            check_small_classes(table, counter, transformation, 2)
            check_details(table, counter, transformation)
        # Tables of one counter would be in the way of the next one's.
        for kind, made in (("table", "roll_up"), ("table", "levels"), ("view", "searchable")):
            named = f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE {kind}_name LIKE '{made}%'"
            for (name,) in session.rows(named):
                session.execute(f"DROP {kind} {name}")


def test_few_combinations_are_counted_in_memory(session: Session) -> None:
    table = random_table(rows=50, width=2, values=20, seed=4)
    base = base_of(session, table)
    counter = open_counter(session, base)
    assert isinstance(counter, NumpyCounter)
    assert counter.account == f"all {base.combinations} combinations in numpy"


@pytest.mark.parametrize("limit", ["FEW", "FEW_VALUES"])
def test_many_of_anything_stay_in_the_database(session: Session, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """The population and the values count as well."""
    table = random_table(rows=50, width=2, values=20, seed=4)
    detailed = with_details(table, values=[30], seed=4)
    base = base_of(session, replace(detailed, people=()))
    assert base.population is not None
    most = {"FEW": base.combinations + base.population.rows, "FEW_VALUES": sum(of.rows for of in base.by_value)}[limit]
    monkeypatch.setattr(choose, limit, most)
    assert isinstance(open_counter(session, base), NumpyCounter)
    monkeypatch.setattr(choose, limit, most - 1)
    assert isinstance(open_counter(session, base), DuckDBCounter)


def test_people_are_counted_where_memory_suffices(session: Session) -> None:
    table = random_table(rows=50, width=2, values=20, seed=4)
    base = base_of(session, with_details(table, values=[30], seed=4))
    assert isinstance(open_counter(session, base), NumpyCounter)
    session.memory = 1000
    assert isinstance(open_counter(session, base), DuckDBCounter)
