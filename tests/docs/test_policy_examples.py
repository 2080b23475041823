"""Holds the pages on policies against the code: examples, worked labels and shares, names of fields and of columns."""

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor

from tableveil.backend import Database, Session, Settings
from tableveil.convert import canonical_json, policy_from_proto
from tableveil.document import read_policy
from tableveil.hierarchy import (
    HierarchyDefinition,
    InlineLevels,
    SafeHarborAge,
    SafeHarborDate,
    ValueKind,
    attribute_levels,
    label_values,
    safe_harbor,
)
from tableveil.hierarchy.definition import RuleHierarchy
from tableveil.pipelines.anonymize import release_work
from tableveil.policy import Policy
from tableveil.release import described
from tableveil.state.jobs import JobState
from tableveil.state.migrate import migrate
from tableveil.state.release_objects import ObjectKind
from tableveil.v1 import policy_pb2
from tests.service.jobs.elsewhere import run

DOCS = Path(__file__).parents[2] / "docs"
POLICY, HIERARCHIES, OBJECTS, MODELS = (
    (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    for page in ("policy", "hierarchies", "objects", "models")
)

NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Example:
    """A YAML block: a whole policy, or some fields of one; and the rows of the table of labels that follows it."""

    title: str
    yaml: str
    kind: ValueKind | None
    rows: tuple[tuple[str, ...], ...]


def examples() -> Iterator[Example]:
    for section in re.split(r"^##+ ", POLICY + HIERARCHIES, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        _, *blocks = re.split(r"^```yaml\n", section, flags=re.MULTILINE)
        for block in blocks:
            yaml, _, after = block.partition("\n```\n")
            tables = [table for table in tables_of(after) if table[0][0].strip("`") in ValueKind.__members__]
            kind = ValueKind[tables[0][0][0].strip("`")] if tables else None
            yield Example(title, yaml, kind, tuple(tables[0][1:]) if tables else ())


def tables_of(text: str) -> Iterator[list[tuple[str, ...]]]:
    """The Markdown tables in a text: their rows, the header first."""
    for found in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
        rows = [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in found.splitlines()]
        yield [row for row in rows if not set("".join(row)) <= {"-", " "}]


EXAMPLES = list(examples())
WORKED = [example for example in EXAMPLES if example.rows]


def read(yaml: str) -> policy_pb2.Policy:
    message, faults = read_policy(yaml, "yaml")
    assert not faults, faults
    return message


def whole(example: Example) -> policy_pb2.Policy:
    """The example's policy; where it is only a part, in place of the same fields of the full example."""
    part = read(example.yaml)
    message = read(EXAMPLES[0].yaml)
    if part.source_query:
        message.ClearField("source")
    for field, _ in part.ListFields():
        message.ClearField(field.name)  # type: ignore[arg-type]  # the stubs list the names
    message.MergeFrom(part)
    return message


def converted(message: policy_pb2.Policy) -> Policy:
    policy, faults = policy_from_proto(message, before_upload=True)
    assert policy is not None, faults
    assert not faults
    return policy


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 10
    assert {example.title for example in WORKED} >= {
        "`inline`",
        "`intervals`",
        "`dates`",
        "`redaction`",
        "`suppression_only`",
        "`grouping`",
        "`order_based`",
        "`times_of_day`",
        "`combination`",
        "`safe_harbor_age`",
        "`safe_harbor_date`",
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_examples_are_valid(example: Example) -> None:
    converted(whole(example))


def with_rows(definition: HierarchyDefinition | None) -> InlineLevels | RuleHierarchy:
    """The definition, in rows if these need no table."""
    match definition:
        case SafeHarborAge():
            return safe_harbor.age_levels()
        case SafeHarborDate():
            return safe_harbor.date_levels(definition)
    assert isinstance(definition, InlineLevels | RuleHierarchy)
    return definition


TYPED: dict[ValueKind, Callable[[str], object]] = {
    ValueKind.INTEGER: int,
    ValueKind.DECIMAL: Decimal,
    ValueKind.DATE: datetime.date.fromisoformat,
    ValueKind.TIMESTAMP: datetime.datetime.fromisoformat,
    ValueKind.TIME: datetime.time.fromisoformat,
    ValueKind.TEXT: str,
}


@pytest.mark.parametrize("example", WORKED, ids=lambda example: f"{example.title} {example.kind}")
def test_worked_labels_and_shares(example: Example) -> None:
    (attribute,) = converted(whole(example)).attributes
    hierarchy, kind = with_rows(attribute.hierarchy), example.kind
    assert kind is not None

    texts = [row[0] for row in example.rows]
    labelled = label_values(hierarchy, kind, [TYPED[kind](text) for text in texts], texts)
    covered = [row for row in example.rows if NOT_COVERED not in row]
    assert [set(row[1:]) != {NOT_COVERED} for row in example.rows] == labelled.covered.tolist()

    texts = [row[0] for row in covered]
    levels = attribute_levels(label_values(hierarchy, kind, [TYPED[kind](text) for text in texts], texts), False)
    for code, (_, *cells) in enumerate(covered):
        assert len(cells) == levels.top
        for level, cell in enumerate(cells, start=1):
            group = levels.groups[level][code]
            found = re.fullmatch(r"`(.+)` ([\d.]+)/([\d.]+)", cell)
            assert found, cell
            assert found[1] == levels.labels[level - 1][group]
            assert float(Fraction(found[2]) / Fraction(found[3])) == pytest.approx(
                levels.shares(level)[group], abs=1e-15
            )


def paths(descriptor: Descriptor, prefix: str, seen: set[str]) -> Iterator[str]:
    """Every field of a message and those below it; the fields of a message that occurs again only once."""
    for field in descriptor.fields:
        yield prefix + field.name
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        if field.message_type.full_name not in seen:
            seen.add(field.message_type.full_name)
            yield from paths(field.message_type, f"{prefix}{field.name}{'[]' * field.is_repeated}.", seen)


def test_no_other_field_is_explained() -> None:
    fields = set(paths(policy_pb2.Policy.DESCRIPTOR, "", set()))
    assert {"attributes[].hierarchy.intervals.widths", "release.if_exists"} <= fields
    top = "|".join(field.name for field in policy_pb2.Policy.DESCRIPTOR.fields)
    named = set(re.findall(rf"`((?:{top})(?:\[\])?\.[\w.\[\]]+)`", POLICY + HIERARCHIES))
    assert {"search.levels", "population.size", "attributes[].hierarchy"} <= named
    assert not named - fields


def test_every_model_and_every_kind_of_hierarchy_has_its_place() -> None:
    for message, page in (
        (policy_pb2.PrivacyModel, MODELS),
        (policy_pb2.QualityModel, MODELS),
        (policy_pb2.Hierarchy, HIERARCHIES),
    ):
        shown = set(re.findall(r"^### `?(\w+)`?$", page, re.MULTILINE))
        assert {field.name for field in message.DESCRIPTOR.fields} <= shown


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(Settings(tmp_path / "clinic.duckdb", threads=1))
    yield opened
    opened.close()


def columns(session: Session, schema: str) -> dict[str, list[str]]:
    rows = session.rows(
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "WHERE schema_name = ? AND NOT internal GROUP BY table_name",
        [schema],
    )
    return dict(rows)


def test_owners_tables_have_the_columns_listed(database: Database) -> None:
    with database.session() as session:
        migrate(session.ledger)
        found = columns(session, "tableveil")
    (listed,) = (table for table in tables_of(OBJECTS) if table[0] == ("table", "holds", "columns"))
    assert {
        name.strip("`").removeprefix("tableveil."): re.findall(r"`([^`]+)`", names) for name, _, names in listed[1:]
    } == found


def test_the_full_example_writes_the_objects_listed(database: Database) -> None:
    with database.session() as session:
        session.execute(
            "CREATE TABLE visits AS SELECT i AS patient_id, 'Name ' || i AS name, (i * 7 % 60)::INTEGER AS age, "
            "lpad((i % 3)::VARCHAR, 5, '0') AS zip_code, CASE WHEN i > 4 THEN DATE '2023-05-01' END AS admitted, "
            "CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, 'flu' AS diagnosis, 'B' || i AS bill_number "
            "FROM range(1000) AS r(i)"
        )
        message = whole(EXAMPLES[0])
        job = run(database, release_work(converted(message), canonical_json(message)))
        assert job.state is JobState.SUCCEEDED, job.failure
        found = columns(session, "main")
        measures = {name for (name,) in session.rows("SELECT measure FROM visits_released_risk")}
    quasi_identifiers = ["age", "zip_code", "admitted", "sex"]
    others = ("_classification", "_estimated", "_<event>", "_known_rows")
    written = {
        f"visits_released{of.suffix}": of for of in described.OBJECTS.values() if not of.suffix.startswith(others)
    }
    assert set(found) == {"visits", *written}
    beside = {f"{column}_{part}" for column in quasi_identifiers for part in ("from", "to", "rank")}
    rows = [column for column in found.pop("visits_released") if column not in beside]
    assert rows == [*quasi_identifiers, "diagnosis", "bill_number", "suppressed"]
    for name in found.keys() - {"visits"}:
        names = [column.replace("<sensitive>", "diagnosis") for column in written[name].columns]
        if names[0] == "<quasi-identifier>":
            names[:1] = quasi_identifiers
        assert found[name] == [column for column in names if column not in ("estimated_share", "typical_width")]
    assert measures <= set(re.findall(r"`(\w+)`", described.OBJECTS[ObjectKind.RISK].columns["measure"]))
