"""Hierarchies as people live with them: files imported as they are, looked at, compared, and named by a release."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tableveil.cli.exit_codes import ExitCode
from tableveil.client import Client
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve

DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = sorted(DATA.glob("*/hierarchies/*.csv"))
DOWN_TO_TENS = "".join(f"{age};{age // 10}0s;*\n" for age in range(20, 90))

Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def address(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    database = tmp_path_factory.mktemp("hierarchies") / "clinic.duckdb"
    by_decade = "SELECT range::VARCHAR AS age, (range // 10)::VARCHAR || '0s' AS decade, '*' AS top FROM range(20, 90)"
    samples.create(database, people=samples.PEOPLE, ages=by_decade)
    return serve_all_along(database).address


@pytest.fixture
def run(address: str) -> Run:
    def command(*arguments: str) -> Outcome:
        return tableveil("hierarchies", *arguments, server=address)

    return command


def written(directory: Path, content: str | bytes, name: str = "ages.csv") -> str:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.skipif(not FILES, reason="needs the shared data")
def test_files_of_arx_import_as_they_are(run: Run, tmp_path: Path) -> None:
    for file in FILES:
        name = f"{file.parent.parent.name}.{file.stem}"
        imported = run("import", name, str(file), "--json")
        assert imported.exit_code == 0, imported.stderr
        [document] = imported.documents
        lines = file.read_text().splitlines()
        assert (document["delimiter"], document["hierarchy"]["values"]) == (";", str(len(lines)))
        out = tmp_path / f"{name}.csv"
        assert run("show", name, "--csv", str(out)).exit_code == 0
        assert out.read_text().splitlines() == lines


def test_a_file_is_stored_looked_at_and_compared(run: Run, tmp_path: Path) -> None:
    first = run("import", "looked", written(tmp_path, DOWN_TO_TENS))
    assert first.stdout == "looked@1: 70 values of 3 levels, columns separated by ';'.\n"
    changed = DOWN_TO_TENS.replace("89;80s;*\n", "90;90s;*\n").replace("25;20s", "25;30s")
    assert "looked@2" in run("import", "looked", written(tmp_path, changed.replace(";", ","))).stdout
    listed = [line.split() for line in run().stdout.splitlines()]
    assert [(row[0], row[1], row[-1]) for row in listed if row[0] == "looked"] == [
        ("looked", "2", "ages.csv"),
        ("looked", "1", "ages.csv"),
    ]
    [document] = run("compare", "looked@1", "looked", "--examples", "5", "--json").documents
    assert (document["values_added"], document["values_removed"], document["values_unchanged"]) == ("1", "1", "68")
    assert (document["added_examples"], document["removed_examples"]) == (["90"], ["89"])
    assert document["levels"][0]["examples"] == [{"value": "25", "earlier": "20s", "later": "30s"}]
    shown = run("compare", "looked@1", "looked@2").stdout
    assert "90" not in shown.split()
    assert "looked@1, 70 values, 3 levels" in shown
    assert "from ages.csv" in run("show", "looked@1").stdout


def test_a_preview_beside_a_column_and_by_itself(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, DOWN_TO_TENS.replace("20;20s;*\n", ""))
    [document] = run("preview", "people", "age", "--hierarchy", path, "--json").documents
    assert document["coverage"]["uncovered_values"] == "1"
    assert "examples" not in document["coverage"] or not document["coverage"]["examples"]
    assert not document["levels"][0]["first"]
    shown = run("preview", "people", "age", "--hierarchy", path, "--values", "--groups", "2").stdout
    assert "1 value in " in shown
    assert ": 20\n" in shown
    assert "… 3 more …" in shown
    alone = run("preview", "--hierarchy", path).stdout
    assert "rows" not in alone
    assert "not covered" not in alone
    # Nothing was stored.
    assert all(info["name"] != "ages" for info in run("--json").documents[0]["hierarchies"])


def test_a_preview_of_a_policy(run: Run, tmp_path: Path) -> None:
    policy = samples.policy()
    written(tmp_path, DOWN_TO_TENS)
    for attribute in policy["attributes"]:
        if attribute["column"] == "age":
            attribute["hierarchy"] = {"csv": {"path": "ages.csv"}}
    path = written(tmp_path, json.dumps(policy), "policy.json")
    [beside] = run("preview", "age", "--policy", path, "--json").documents
    assert int(beside["coverage"]["values"]) > 0
    [named] = run("preview", "main.people", "age", "--policy", path, "--json").documents
    assert named == beside
    [alone] = run("preview", "age", "--policy", path, "--alone", "--json").documents
    assert "coverage" not in alone or alone["coverage"] is None
    wrong = run("preview", "agee", "--policy", path)
    assert wrong.exit_code == ExitCode.INVALID
    assert "Did you mean 'age'?" in wrong.stderr


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", (), "ages.csv: no rows"),
        ("a;b;*\nc;*\n", (), "ages.csv, line 2: 2 columns; 1 row unlike the others"),
        ("a;*\nb;*\na;*\n", (), "ages.csv, line 3, column 1: the value of rows[0] again; 1 value repeated"),
        ("a,b,*\nc,b,+\n", (), "ages.csv, line 2, column 3: 2 labels at the top"),
        ("a\nb\n", (), "ages.csv: 1 column"),
        ("a;x;1;*\nb;x;2;*\n", (), "a label of level 1 that is under another one"),
        (";".join(map(str, range(10_001))) + "\n", (), "ages.csv: 10,001 columns"),
        ("süß;*\n".encode("latin-1"), (), "bytes that are not UTF-8"),
        ("süß;*\n".encode(), ("--encoding", "latin-one"), "'latin-one'"),
        ('"a;*\n', (), "ages.csv, line 1: unexpected end of data"),
    ],
)
def test_files_that_are_refused(
    run: Run, tmp_path: Path, content: str | bytes, options: tuple[str, ...], message: str
) -> None:
    found = run("import", "refused", written(tmp_path, content), *options)
    assert found.exit_code == ExitCode.INVALID
    assert message in " ".join(found.stderr.split())
    assert all(info["name"] != "refused" for info in run("--json").documents[0]["hierarchies"])


@pytest.mark.parametrize(
    ("content", "options", "delimiter"),
    [
        ("\ufeffa;[20, 40[;*\r\nb;[40, 60[;*\r\n\r\n", (), ";"),
        ("a,x,*\nb,y,*\n", (), ","),
        ("a\tx,y\t*\nb\tx,z\t*\n", (), "\t"),
        ("a\tx\t*\nb\ty\t*\n".encode("utf-16"), (), "\t"),
        ('a|"x\n2"|*\nb|ü|*\n'.encode("latin-1"), ("--encoding", "latin-1", "--delimiter", "|"), "|"),
        ("a\tx,1\t*\nb\tx,1\t*\n", ("--delimiter", "\\t"), "\t"),
    ],
)
def test_files_of_all_sorts(
    run: Run, tmp_path: Path, content: str | bytes, options: tuple[str, ...], delimiter: str
) -> None:
    found = run("import", "sorts", written(tmp_path, content), *options, "--json")
    assert found.exit_code == 0, found.stderr
    [document] = found.documents
    assert (document["delimiter"], document["hierarchy"]["values"], document["hierarchy"]["levels"]) == (
        delimiter,
        "2",
        3,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("show", "agess"), ExitCode.NOT_FOUND, "Did you mean"),
        (("compare", "ages@0", "ages@7"), ExitCode.NOT_FOUND, "later.version"),
        (("compare", "ages@-1", "ages"), ExitCode.NOT_FOUND, "earlier.version"),
        (("show", "agess", "--csv", "x.csv"), ExitCode.NOT_FOUND, "Did you mean"),
        (("preview", "people", "agge", "--stored", "ages"), ExitCode.NOT_FOUND, "Did you mean 'age'?"),
        (("preview", "peeple", "age", "--stored", "ages"), ExitCode.NOT_FOUND, "Did you mean 'people'?"),
        (("preview", "people", "--stored", "ages"), ExitCode.INVALID, "name a TABLE and its COLUMN"),
        (("preview", "people", "age"), ExitCode.INVALID, "say which hierarchy"),
        (("preview", "--stored", "ages", "--alone"), ExitCode.INVALID, "--alone is for a COLUMN of a policy"),
    ],
)
def test_what_is_not_there(run: Run, tmp_path: Path, arguments: tuple[str, ...], code: ExitCode, message: str) -> None:
    run("import", "ages", written(tmp_path, DOWN_TO_TENS))
    found = run(*arguments)
    assert found.exit_code == code
    assert message in " ".join(found.stderr.split())
    assert not Path("x.csv").exists()


def test_a_release_names_the_versions_that_it_used(run: Run, address: str, tmp_path: Path) -> None:
    run("import", "wards", written(tmp_path, "east;*\nwest;*\n", "wards.csv"))
    written(tmp_path, "".join(f"{number:05};{number % 10};*\n" for number in range(90)), "zip.csv")
    hierarchies: dict[str, samples.Document] = {
        "age": {"table": {"table": {"table": "ages"}, "columns": ["age", "decade", "top"]}},
        "zip": {"csv": {"path": "zip.csv"}},
        "sex": {"inline": {"rows": [["F", "*"], ["M", "*"]]}},
        "ward": {"stored": {"name": "wards"}},
    }
    policy = samples.policy()
    for attribute in policy["attributes"]:
        if attribute["column"] in hierarchies:
            attribute.pop("acknowledged", None)
            attribute.update(role="QUASI_IDENTIFIER", hierarchy=hierarchies[attribute["column"]])
    with Client(address) as client:
        job = client.wait(client.submit(samples.message(policy), tmp_path).name)
        release = client.get_release(job.result)
        origins = {f"{info.name}@{info.version}": info.origin for info in client.list_hierarchies()}
    used = {result.column: result.hierarchy for result in release.attributes}
    assert used == {"age": "people.age@1", "zip": "zip@1", "sex": "people.sex@1", "ward": "wards@1"}
    assert [origins[used[column]] for column in hierarchies] == [
        "the table main.ages",
        "zip.csv",
        "a policy",
        "wards.csv",
    ]
    shown = tableveil("show", release.name, "--all", server=address).stdout
    assert all(reference in shown for reference in used.values())
