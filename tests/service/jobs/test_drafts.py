"""Drafts of tables of all shapes: they read back, cannot be submitted as they are, and run once they are filled in."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.convert import policy_from_proto
from tableveil.convert.drafts import policy_draft_to_proto
from tableveil.document import read_policy, to_commented_yaml
from tableveil.drafting import PolicyDraft, RemarkKind
from tableveil.errors import InvalidError, NotFoundError
from tableveil.pipelines.draft import Drafts
from tableveil.policy import LossModel, Policy, Role, SearchOptions, TableReference
from tableveil.policy.methods.local_recoding import LOCAL_RECODING
from tableveil.state.releases import Release
from tests.once import once

Draft = Callable[[str], PolicyDraft]


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def draft(session: Session, database: Database) -> Iterator[Draft]:
    """Makes a table by a query, and drafts a policy for it."""

    def draft(query: str) -> PolicyDraft:
        session.execute(f"CREATE OR REPLACE TABLE people AS {query}")
        return Drafts(database).draft(TableReference("", "main", "people"), Control())

    yield draft
    session.execute("DROP TABLE IF EXISTS people")


def roles(found: PolicyDraft) -> dict[str, Role | None]:
    return {column.facts.name: column.role if column.decided else None for column in found.columns}


def remarks(found: PolicyDraft, field: str) -> str:
    return " ".join(remark.text for remark in found.remarks if remark.field == field)


def checked(found: PolicyDraft) -> Policy:
    """Its proposal, once it is known that the draft is a document and lacks just what has to be decided."""
    message = policy_draft_to_proto(found)
    assert read_policy(to_commented_yaml(message), "yaml") == (message.policy, [])
    _, faults = policy_from_proto(message.policy)
    undecided = {remark.field for remark in found.remarks if remark.kind is RemarkKind.DECIDE}
    # Nobody has stated anything on people yet, whichever of both is proposed.
    named = {"person_column" if field == "rows_are_people" else field for field in undecided}
    assert {fault.field for fault in faults} == named >= {"person_column", "privacy_models"}
    policy, faults = policy_from_proto(message.proposal)
    assert faults == []
    assert policy is not None
    return policy


HOSPITAL = """
    SELECT i AS patient_id, 'N' || i AS name, (20 + i * 7 % 71)::TINYINT AS age, CASE i % 2 WHEN 0 THEN 'F' ELSE 'M' END
        AS sex, lpad((i * 37 % 1000)::VARCHAR, 5, '0') AS zip, DATE '2024-01-01' + (i % 300)::INT AS admitted,
        (i % 9)::DECIMAL(9, 2) / 4 AS score, 'd' || i * i % 5 AS diagnosis, 'EUR' AS currency, [i] AS scans,
        TIME '08:00:00' + INTERVAL (i % 600) MINUTE AS at, i % 3 = 0 AS flag, 100 * sqrt(i) AS depth
    FROM range(400) r(i)
"""


def test_a_draft_that_is_filled_in_runs(
    draft: Draft, database: Database, session: Session, run: Callable[..., Release]
) -> None:
    found = draft(HOSPITAL)
    identifying, quasi, sensitive, insensitive = Role
    assert roles(found) == {
        "patient_id": identifying, "name": identifying, "age": quasi, "sex": quasi, "zip": quasi, "admitted": quasi,
        "score": None, "diagnosis": sensitive, "currency": insensitive, "scans": identifying, "at": None, "flag": None,
        "depth": None,
    }  # fmt: skip
    policy = checked(found)
    assert policy.person_column == "patient_id"
    limits = {a.column: a.maximum_level for a in policy.attributes if a.maximum_level is not None}
    assert limits == {"age": 4, "zip": 4, "admitted": 2}
    assert "may be erased" in remarks(found, "attributes[2].hierarchy")
    assert policy.quality_model == LossModel()
    assert "cover the least part" in remarks(found, "quality_model")
    assert "'sex'" in remarks(found, "quality_model")
    assert found.k == 11
    release = run(database, replace(policy, search=SearchOptions(Decimal(1))))
    assert release.target_name == "people_released"
    assert policy.method is LOCAL_RECODING
    assert release.proof.strategy.startswith("local recoding")
    assert "levels of its own" in remarks(found, "local_recoding")
    (rows,) = session.row("SELECT count(*) FROM people_released")
    assert rows >= 380


def test_a_sensitive_column_that_singles_people_out_is_released_if_the_owner_says_so(
    draft: Draft, database: Database, run: Callable[..., Release]
) -> None:
    found = draft("SELECT i AS id, i % 5 AS age, 1000 + 7 * i AS salary FROM range(100) r(i)")
    message = policy_draft_to_proto(found)
    message.policy.person_column = message.proposal.person_column
    message.policy.privacy_models.extend(message.proposal.privacy_models)
    message.policy.release.name = message.proposal.release.name = "salaries"
    message.policy.repeat_reason = message.proposal.repeat_reason = "another test's table of this name"
    as_drafted, faults = policy_from_proto(message.policy)
    assert as_drafted is not None, faults
    with pytest.raises(InvalidError) as caught:
        run(database, as_drafted)
    assert [fault.field for fault in caught.value.faults] == ["attributes[2].role"]
    assert "finds the row" in remarks(found, "attributes[2].acknowledged")
    acknowledging, faults = policy_from_proto(message.proposal)
    assert acknowledging is not None, faults
    assert run(database, acknowledging).target_name == "salaries"


def test_figures_speak_about_columns_and_the_table(draft: Draft) -> None:
    found = draft("SELECT 20 + i % 40 AS age, i % 2 AS sex, i // 40 AS version, i % 2 AS batch FROM range(1600) r(i)")
    assert roles(found)["version"] is roles(found)["batch"] is Role.INSENSITIVE
    told = remarks(found, "attributes[2].role")
    assert "Together with 'age' it tells nearly all apart" in told
    assert "make it a quasi-identifier" in told
    assert "make it a quasi-identifier" not in remarks(found, "attributes[3].role")
    assert "unlike all others" not in remarks(found, "privacy_models"), "no record is"


@pytest.mark.parametrize("also", once(["", "i AS visit_id, "]))
def test_people_with_several_rows_are_proposed_as_people(
    draft: Draft, database: Database, run: Callable[..., Release], also: str
) -> None:
    found = draft(f"SELECT {also}i // 2 AS patient_id, i // 2 % 40 AS age FROM range(400) r(i)")
    assert (found.person_column, found.repeating) == ("patient_id", True)
    assert "'patient_id' has 200 different values in 400 rows" in remarks(found, "person_column")
    message = policy_draft_to_proto(found).proposal
    assert [model.WhichOneof("kind") for model in message.privacy_models] == ["k_anonymity", "dominance"]
    assert message.privacy_models[1].dominance.share == "0.2"
    message.release.name, message.repeat_reason = f"visits_{bool(also)}", "another test's table of this name"
    policy, faults = policy_from_proto(message)
    assert policy is not None, faults
    reached = {guarantee.model: guarantee.after for guarantee in run(database, policy).guarantees}
    assert (reached["k_anonymity"] or 0) >= 5
    assert (reached["dominance"] or 1) <= 0.2


def test_rows_without_a_person_are_not_proposed_as_people(draft: Draft) -> None:
    found = draft("SELECT nullif(i // 2, 7) AS patient_id, i % 60 AS age FROM range(400) r(i)")
    assert (found.person_column, found.repeating) == (None, False)
    assert "none in 2 of them" in remarks(found, "rows_are_people")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS age, 'a' AS x, DATE '2020-01-01' AS d WHERE false",
        "SELECT 1 AS age, 'a' AS x, DATE '2020-01-01' AS d",
        "SELECT i % 7 AS x FROM range(50) r(i)",
        "SELECT 'infinity'::DOUBLE AS income, 'nan'::FLOAT AS f, 'infinity'::DATE AS d, '-infinity'::TIMESTAMP AS dob",
        "SELECT (i * 1e300)::DOUBLE AS f, i * 10::HUGEINT**36 AS h, (i / 1000)::DECIMAL(4, 3) AS d, i::UTINYINT AS u "
        "FROM range(250) r(i)",
        "SELECT DATE '4000-01-01 (BC)' + i::INT AS d, TIMESTAMPTZ '2020-01-01' + INTERVAL (i) HOUR AS dob, "
        "uuid() AS u, ('v' || i % 30)::ENUM ('v0') AS e FROM range(0) r(i)",
    ],
    ids=["empty", "one row", "one column", "infinite", "extreme", "types"],
)
def test_any_table(draft: Draft, query: str) -> None:
    checked(draft(query))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT NULL::INT AS age, NULL::VARCHAR AS x, NULL::DATE AS d, NULL::BLOB AS b FROM range(50)",
        "SELECT [i] AS x FROM range(50) r(i)",
    ],
    ids=["all NULL", "unreleasable"],
)
def test_a_table_without_anything_to_generalize(draft: Draft, query: str) -> None:
    """The draft says of each column why; that no policy can do without quasi-identifiers is for the check to say."""
    message = policy_draft_to_proto(draft(query))
    assert read_policy(to_commented_yaml(message), "yaml") == (message.policy, [])
    assert [fault.field for fault in policy_from_proto(message.proposal)[1]] == ["attributes"]


def test_hostile_names(draft: Draft) -> None:
    names = [
        '"',
        "a\nb",
        "# x",
        "- y",
        "z: {}",
        "\u2028",
        "é数😀",
        "NO",
        " ",
        "x" * 5000,
        "*",
        "'; DROP TABLE people; --",
    ]
    columns = ", ".join('i % 7 AS "' + name.replace('"', '""') + '"' for name in names)
    found = draft(f"SELECT {columns} FROM range(50) r(i)")
    assert [attribute.column for attribute in checked(found).attributes] == names


@pytest.mark.long
def test_many_columns(draft: Draft) -> None:
    columns = ", ".join(f"(hash(i, {j}) % 50)::INT AS {'age' if j % 3 else 'foo'}_{j}" for j in range(300))
    found = draft(f"SELECT {columns} FROM range(200) r(i)")
    assert len(checked(found).attributes) == 300
    assert "200 columns are guessed to be quasi-identifiers" in remarks(found, "")
    assert len(to_commented_yaml(policy_draft_to_proto(found)).splitlines()) < 300 * 20


def test_more_rows_than_are_measured(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableveil.pipelines.draft.MOST_ROWS_MEASURED", 100)
    found = draft("SELECT i AS age FROM range(200) r(i)")
    assert "were not measured: it has more than 100 rows" in remarks(found, "")
    checked(found)


def test_no_table(database: Database) -> None:
    with pytest.raises(NotFoundError) as caught:
        Drafts(database).draft(TableReference("", "main", "peopel"), Control())
    assert [fault.field for fault in caught.value.faults] == ["table.table"]


VISITS = """
    SELECT {number} AS "{name}", i AS "Fallnummer", md5_number_lower('s' || p) % 2 AS c1,
        1930 + md5_number_lower('b' || p) % 90 AS c2, 'o' || md5_number_lower('o' || p) % 100 AS c3,
        DATE '2024-01-01' + (md5_number_lower('d' || i) % 300)::INT AS c4, md5_number_lower('w' || i) % 12 AS ward,
        md5_number_lower('c' || i) % 200 AS diagnosis
    FROM (SELECT i, md5_number_lower('p' || i) % 400 AS p FROM range(2000) r(i))
"""

NAMES = ("Versicherten-Nr", "Patienten-Nr", "PatNr", "KVNR", "Behandlungsfall", "pid", "c0", "Wohnheim", "ref")


@pytest.mark.parametrize("name", once(NAMES, 2))
def test_people_with_several_rows_are_known_by_the_rows(draft: Draft, name: str) -> None:
    for number in ("p", "'A-' || p"):
        found = draft(VISITS.format(number=number, name=name))
        assert roles(found)[name] is Role.IDENTIFYING, number
        assert found.person_column == name
        assert found.repeating
        assert "as rows of one person do" in remarks(found, "person_column")


def test_a_person_is_preferred_to_their_cases(draft: Draft) -> None:
    """Several rows of a case agree as well."""
    found = draft(VISITS.format(number="p", name="x").replace('i AS "Fallnummer"', "p * 10 + i % 2 AS y"))
    assert roles(found) | {"x": Role.IDENTIFYING, "y": Role.IDENTIFYING} == roles(found)
    assert found.person_column == "x"


def test_a_number_of_cases_is_no_person(draft: Draft) -> None:
    for name in ("Fallnummer", "visit_id", "Aufnahme-Nr"):
        found = draft(VISITS.format(number="i", name="Fall-Nr").replace('"Fallnummer"', f'"{name}"'))
        assert roles(found)[name] is Role.IDENTIFYING
        assert found.person_column is None
