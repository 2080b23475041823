"""The statements rendered for tables with hostile names, held against golden/*.sql and golden/counting/*.sql.

TABLEVEIL_UPDATE_GOLDEN=1 writes the files anew; look at the difference before committing it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from tableveil.backend import Session, table
from tableveil.backend.interrupter import Interrupter
from tableveil.backend.render import DIALECT, render
from tableveil.counting import CountedColumns, DuckDBCounter, build_base
from tableveil.counting.choose import in_memory
from tableveil.dictionary import Dictionary, build_dictionary, build_sensitive
from tableveil.dictionary.values import CodedAttribute
from tableveil.hierarchy import InlineLevels
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    Population,
    ReleaseTarget,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.privacy import privacy_of
from tableveil.release import ReleasePlan, write
from tableveil.release.by_value import ByValue
from tableveil.source import Source, resolve_source

GOLDEN = Path(__file__).parent / "golden"

LEVELS = InlineLevels((("a", "it's 1", "*"), ("b", "it's 1", "*"), ("c", "2; --", "*")))

HOSTILE = {
    "quotes": ("""it's "quoted" """, "a \"table\" of 'quotes'", ['"', "'", '""']),
    "statements": ("x; DROP TABLE y; --", "y /* */", ["a;b", "--", "/* c */"]),
    "spaces": (" ", "  leading and trailing  ", ["a b", "\t", "\n"]),
    "keywords": ("table", "select", ["from", "group", "where"]),
    "unicode": ("größe 漢字", "☃", ["é", "e\u0301", "\u202e"]),
    "own_names": ("source", "released", ["d0", "n", "w0"]),
    "more_own_names": ("r", "base_histogram", ["value", "code", "c0"]),
    "companions": ("released_classes", "suppressed_classes", ["class_size", "risk", "recounted"]),
}
"""Per case: the target's name, the source's, and the columns' names, of which the last is no quasi-identifier."""


class Recorder:
    """A cursor that writes down what it is asked."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.statements: list[str] = []

    def execute(self, statement: str, parameters: list[object]) -> object:
        self.statements.append(statement)
        return self._cursor.execute(statement, parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@dataclass
class Recorded:
    """A session whose statements are written down under titles."""

    session: Session
    recorder: Recorder
    text: str = ""

    def title(self, title: str) -> None:
        """Holds the statements since the last title under this one."""
        statements = "".join(f"{statement};\n" for statement in self.recorder.statements)
        self.text += f"-- {title}\n{statements}\n"
        self.recorder.statements.clear()

    def forget(self) -> None:
        self.recorder.statements.clear()


def _rendered_twice(statement: exp.Expr) -> str:
    """Rendering does not change a tree, although it does not copy it."""
    first = render(statement)
    assert statement.sql(dialect=DIALECT) == first
    return first


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    monkeypatch.setattr("tableveil.backend.session.render", _rendered_twice)
    connection = duckdb.connect()
    recorder = Recorder(connection)
    interrupter = Interrupter()
    yield Recorded(Session(recorder, interrupter), recorder)  # type: ignore[arg-type]
    interrupter.close()
    connection.close()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def make_source(session: Session, name: str, columns: list[str]) -> None:
    session.execute(f"CREATE TABLE {quoted(name)} ({', '.join(f'{quoted(column)} VARCHAR' for column in columns)})")
    session.execute(
        f"INSERT INTO {quoted(name)} VALUES ('a', 'a', 'x'), ('b', 'a', 'y'), ('a', 'b', 'z'), ('c', 'c', 'x'), "
        "('a', NULL, 'x'), (NULL, 'a', 'x')"
    )


def policy_of(case: str, **options: Any) -> Policy:
    target, source, columns = HOSTILE[case]
    return Policy(
        source=TableReference("", "main", source),
        attributes=(
            AttributePolicy(columns[0], Role.QUASI_IDENTIFIER, LEVELS),
            AttributePolicy(columns[1], Role.QUASI_IDENTIFIER, LEVELS, nulls=NullHandling.SUPPRESS),
            AttributePolicy(columns[2], Role.SENSITIVE),
        ),
        person_column=None,
        privacy_models=(KAnonymity(2),),
        release=ReleaseTarget("main", target),
        suppression_limit=Decimal("0.5"),
        **options,
    )


def dictionaries_of(session: Session, policy: Policy) -> tuple[Source, list[Dictionary]]:
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    dictionaries = []
    for j, attribute in enumerate(policy.quasi_identifiers):
        dictionary, found = build_dictionary(session, source, CodedAttribute(attribute, LEVELS, "", j, ""))
        assert dictionary is not None, found
        dictionaries.append(dictionary)
    return source, dictionaries


def compare(recorded: Recorded, name: Path) -> None:
    """Holds what was recorded against the golden file, or writes it."""
    golden = GOLDEN / name
    if os.environ.get("TABLEVEIL_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(recorded.text, encoding="utf-8")
    assert recorded.text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", list(HOSTILE))
def test_statements(recorded: Recorded, case: str) -> None:
    session = recorded.session
    target, source_name, columns = HOSTILE[case]
    make_source(session, source_name, columns)
    marker = f"{target}?"
    policy = policy_of(case, suppressed_records=SuppressedRecords.BLANK, marker_column=marker)
    source, dictionaries = dictionaries_of(session, policy)
    recorded.forget()
    base = build_base(session, source, dictionaries)
    recorded.title("the base histogram")
    counter = DuckDBCounter(session, base, hand_over_rows=0)
    recorded.forget()
    classes = counter.classes((1, 0))
    recorded.title("classes at (1, 0)")
    kept = privacy_of(policy.privacy_models, counter).releasable(classes)
    plan = ReleasePlan(policy, source, base.dictionaries, ByValue((1, 0)), classes, kept, counter.records)
    plan.recoding.stage(session, plan)
    recorded.forget()
    rows = table(target, "main")
    write.write_rows(session, plan, rows)
    recorded.title("released rows at (1, 0), suppressed ones kept blank")
    write.write_classes(session, plan, rows, table(f"{target}_c", "main"))
    recorded.title("released classes")
    write.write_view(session, table(f"{target}_v", "main"), rows)
    recorded.title("a view of the released rows")
    compare(recorded, Path(f"{case}.sql"))
    # The statements have the intended effect: NULL withheld, c suppressed, the others under one label.
    found = session.rows(f"SELECT * FROM {quoted(f'{target}_v')}")
    assert found == [
        ("it's 1", 1, "a", 1, "x", False),
        ("it's 1", 1, "a", 1, "y", False),
        *[(None, None, None, None, None, True)] * 4,
    ]


@pytest.mark.parametrize("case", list(HOSTILE))
def test_statements_about_values_and_the_population(recorded: Recorded, case: str) -> None:
    session = recorded.session
    _, source_name, columns = HOSTILE[case]
    make_source(session, source_name, columns)
    everyone = f"{source_name}'\"s"
    make_source(session, everyone, columns)
    policy = policy_of(case, population=Population(TableReference("", "main", everyone)))
    recorded.forget()
    source, dictionaries = dictionaries_of(session, policy)
    recorded.forget()
    sensitive, faults = build_sensitive(session, source, CodedAttribute(policy.attributes[2], None, "", 0, ""))
    assert sensitive is not None, faults
    recorded.title("a dictionary of sensitive values")
    base = build_base(session, source, dictionaries, CountedColumns((sensitive,)))
    recorded.title("the base histogram, by values, and of the population")
    counter = DuckDBCounter(session, base, hand_over_rows=0)
    classes = counter.classes((1, 0))
    recorded.forget()
    values = classes.values(0)
    recorded.title("values in classes at (1, 0)")
    population = classes.population()
    recorded.title("the population in classes at (1, 0)")
    in_memory(session, base)
    recorded.title("all of it for numpy")
    compare(recorded, Path("counting") / f"{case}.sql")
    # The classes are c and c, a or b and a, a or b and b, NULL and a; the values are x, y, z.
    assert list(zip(values.classes.tolist(), values.values.tolist(), values.counts.tolist(), strict=True)) == [
        (0, 0, 1),
        (1, 0, 1),
        (1, 1, 1),
        (2, 2, 1),
        (3, 0, 1),
    ]
    assert population.tolist() == [1, 2, 1, 1]


def test_golden_files_have_a_case_each() -> None:
    for folder in (GOLDEN, GOLDEN / "counting"):
        assert {path.stem for path in folder.glob("*.sql")} == set(HOSTILE)
