"""Dictionaries of several columns together: which combinations there are, how they are numbered, what is no class."""

import pytest

from tableveil.backend import Database, Session
from tableveil.counting import BaseHistogram, CountedColumns, DuckDBCounter, build_base, open_counter
from tableveil.dictionary import JointDictionary, build_dictionary, build_joint
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import Source, resolve_source

QUASI_IDENTIFIER = AttributePolicy("q", Role.QUASI_IDENTIFIER, SuppressionOnly())


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


def source_of(session: Session, columns: str, values: str) -> Source:
    """A table `t` with a quasi-identifier `q` and these columns."""
    session.execute("DROP TABLE IF EXISTS joint_3")
    session.execute(f"CREATE OR REPLACE TABLE t (q INTEGER, {columns})")
    session.execute(f"INSERT INTO t {values}")
    reference, release = TableReference("", "main", "t"), ReleaseTarget("main", "out")
    policy = Policy(reference, (QUASI_IDENTIFIER,), None, (KAnonymity(2),), release, default_role=Role.INSENSITIVE)
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    return source


def built(session: Session, source: Source, *columns: str) -> JointDictionary:
    dictionary, faults = build_joint(session, source, tuple(map(source.column, columns)), 3, "field")
    assert dictionary is not None, faults
    return dictionary


def base_of(session: Session, source: Source, dictionary: JointDictionary) -> BaseHistogram:
    for name in ("base_histogram", "values_0_histogram"):
        session.execute(f"DROP TABLE IF EXISTS {name}")
    of_q, faults = build_dictionary(session, source, CodedAttribute(QUASI_IDENTIFIER, SuppressionOnly(), "", 0, ""))
    assert of_q is not None, faults
    base = build_base(session, source, [of_q], CountedColumns(joint=(dictionary,)))
    session.execute(f"DROP TABLE {of_q.table_name}")
    return base


def test_codes_number_the_combinations_in_the_order_of_their_values(session: Session) -> None:
    rows = "VALUES (0, 2, 'no'), (0, 1, 'yes'), (1, 2, 'no'), (1, NULL, 'no'), (0, 1, NULL), (0, 1, 'no')"
    dictionary = built(session, source_of(session, "f INTEGER, c VARCHAR", rows), "f", "c")
    found = session.rows("SELECT v0, v1, code, n FROM joint_3 ORDER BY code")
    assert found == [(1, "no", 0, 1), (1, "yes", 1, 1), (1, None, 2, 1), (2, "no", 3, 2), (None, "no", 4, 1)]
    assert dictionary.values.counts.tolist() == [1, 1, 1, 2, 1]
    assert dictionary.features.tolist() == [0, 0, 0, 1, 2]
    assert dictionary.classes.tolist() == [0, 1, 2, 0, 0]


def test_a_class_without_features_of_its_own(session: Session) -> None:
    source = source_of(session, "c BOOLEAN", "VALUES (0, true), (0, false), (1, true), (1, NULL)")
    dictionary = built(session, source, "c")
    assert dictionary.values.counts.tolist() == [1, 2, 1]
    assert dictionary.features.tolist() == [0, 0, 0]
    assert dictionary.classes.tolist() == [0, 1, 2]


def test_floats_have_one_spelling(session: Session) -> None:
    values = "VALUES (0, 0.0, 'a'), (0, '-0.0', 'a'), (1, 'nan', 'b'), (1, '-nan', 'b'), (1, 'inf', 'b')"
    source = source_of(session, "f DOUBLE, c VARCHAR", values)
    dictionary = built(session, source, "f", "c")
    assert dictionary.values.counts.tolist() == [2, 1, 2]
    # Every record is found again, whichever way its value is written.
    assert entries(session, base_of(session, source, dictionary)) == {(0, 0): 2, (1, 1): 1, (1, 2): 2}


def test_the_histogram_has_every_record_by_its_combination(session: Session) -> None:
    columns = '"v0" VARCHAR, "a ""b"".n" VARCHAR, "code" INTEGER'
    values = "VALUES (0, '', 'x', 1), (0, NULL, 'x', 1), (1, '', NULL, 1), (1, '', NULL, NULL), (1, '', NULL, 1)"
    source = source_of(session, columns, values)
    dictionary = built(session, source, "v0", 'a "b".n', "code")
    # In order: '', x, 1; '', NULL, 1; '', NULL, NULL; NULL, x, 1.
    assert dictionary.features.tolist() == [0, 1, 1, 2]
    assert dictionary.classes.tolist() == [0, 0, 1, 0]
    assert entries(session, base_of(session, source, dictionary)) == {(0, 0): 1, (0, 3): 1, (1, 1): 2, (1, 2): 1}


def entries(session: Session, base: BaseHistogram) -> dict[tuple[int, int], int]:
    """Records by the value of q and the code of their combination, as the counters of a search have them."""
    (known,) = base.columns.counted
    assert not known.protected
    found = []
    for counter in (open_counter(session, base, (0,)), DuckDBCounter(session, base)):
        assert counter.sensitive == (known,)
        values = counter.classes((0,)).values(0)
        cells = zip(values.classes.tolist(), values.values.tolist(), strict=True)
        found.append(dict(zip(cells, values.counts.tolist(), strict=True)))
    session.execute("DROP VIEW searchable_base")
    session.execute("DROP VIEW searchable_values_0")
    assert found[0] == found[1]
    return found[0]


def fault_of(session: Session, rows: int, values: int) -> Fault | None:
    query = f"SELECT 0, '' || i % {values} FROM range({rows}) AS r(i)"
    source = source_of(session, "c VARCHAR", query)
    dictionary, faults = build_joint(session, source, (source.column("c"),), 3, "classes[0]")
    assert (dictionary is None) == bool(faults)
    return faults[0] if faults else None


@pytest.mark.parametrize(
    ("rows", "values", "refused"),
    [(100, 100, False), (201, 101, True), (202, 101, False), (20_000, 10_000, False), (30_000, 10_001, True)],
)
def test_a_class_of_too_many_values_is_refused(session: Session, rows: int, values: int, refused: bool) -> None:
    fault = fault_of(session, rows, values)
    assert (fault is not None) == refused
    if fault is not None:
        assert fault.field == "classes[0]"
        assert fault.found == f"'c', which has {values} values in {rows} records"
