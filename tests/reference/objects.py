"""The page of objects: what a release writes for analysts, and the tables that the owner of the database has."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tableveil.backend import Database, Session, Settings
from tableveil.convert import canonical_json, policy_from_proto
from tableveil.document import read_policy
from tableveil.pipelines.anonymize import release_work
from tableveil.release.described import OBJECTS
from tableveil.state.jobs import JobState
from tableveil.state.migrate import migrate
from tests.reference.markdown import head, names, table
from tests.reference.meanings import FAMILIES, MEANINGS
from tests.service.jobs.elsewhere import run

POLICY = """
source: {schema: main, table: visits}
release: {schema: main, name: released, class_id: true}
suppressed_marker: suppressed
rows_are_people: true
attributes:
  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {intervals: {minimum: 0, maximum: 39, widths: [10, 20]}}}
  - {column: day, role: QUASI_IDENTIFIER, hierarchy:
      {dates: {minimum: 2024-01-01, maximum: 2024-03-31, units: [YEAR]}}}
  - {column: diagnosis, role: SENSITIVE}
privacy_models: [{k_anonymity: {k: 2}}, {distinct_l_diversity: {column: diagnosis, l: 2}}]
"""

INTRODUCTION = """\
`<name>` is the name of the release, which the policy gives. If a quasi-identifier has the name of another column here,
that column gets a `_` behind its name. [evidence.md](../explanations/evidence.md) says how to read the figures.
"""

OWNERS = """\
They are in the schema `tableveil` of the database, and analysts never see them. A row belongs to the number in
`releases/3` or `jobs/3`. An open server has the file for itself: read them in a backup, or by the commands.
"""


def page() -> Iterator[str]:
    """The public objects, then the owner's tables."""
    yield head("Objects", "This page has every table and column that a release writes.", "the code that writes them")
    yield "## Public objects\n"
    yield INTRODUCTION
    released, owners = _columns()
    assert owners.keys() == MEANINGS.keys(), "give each table of the state its meaning in tests/reference/meanings.py"
    for described in OBJECTS.values():
        yield f"### `<name>{described.suffix}`\n"
        yield f"Each row stands for {described.row}.\n"
        types = released.get(f"released{described.suffix}", {})
        rows = ([f"`{name}`", types.get(name, "") or "-", words] for name, words in described.columns.items())
        yield from table(["column", "type", "meaning"], rows)
    yield "## The owner's tables\n"
    yield OWNERS
    rows = ([f"`tableveil.{name}`", words, names(owners[name])] for name, words in MEANINGS.items())
    yield from table(["table", "holds", "columns"], rows)
    yield from table(["tables", "hold"], ([f"`tableveil.{name}`", words] for name, words in FAMILIES.items()))


def _columns() -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """The columns of a release that was made, with their types, and those of the state."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Database(Settings(Path(folder, "clinic.duckdb"), threads=1))) as database,
    ):
        with database.session() as session:
            migrate(session.ledger)
            owners = {name: [*columns] for name, columns in _of_schema(session, "tableveil").items()}
            session.execute(
                "CREATE TABLE visits AS SELECT (i % 40)::INTEGER AS age, DATE '2024-01-01' + (i % 90)::INTEGER AS day, "
                "'d' || (i % 7) AS diagnosis FROM range(4000) AS r(i)"
            )
        _release(database)
        with database.session() as session:
            return _of_schema(session, "main"), owners


def _release(database: Database) -> None:
    message, faults = read_policy(POLICY, "yaml")
    policy, more = policy_from_proto(message, before_upload=True)
    assert policy is not None, [*faults, *more]
    job = run(database, release_work(policy, canonical_json(message)))
    assert job.state is JobState.SUCCEEDED, job.failure


def _of_schema(session: Session, schema: str) -> dict[str, dict[str, str]]:
    by_table: dict[str, dict[str, str]] = {}
    for table_name, column, type_ in session.rows(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND NOT internal "
        "ORDER BY table_name, column_index",
        [schema],
    ):
        by_table.setdefault(table_name, {})[column] = type_
    return by_table
