"""Hierarchies in CSV files: what is read, what is refused and where, and what takes their place."""

from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.client.csv_hierarchies import read_csv_hierarchies
from tableveil.errors import Fault, InvalidError
from tableveil.v1 import faults_pb2, policy_pb2
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

FIELD = "attributes[0].hierarchy.csv"


def read(directory: Path, content: bytes, delimiter: str = "") -> tuple[list[list[str]], list[Fault]]:
    """The rows and faults of a file with that content."""
    (directory / "sex.csv").write_bytes(content)
    levels, faults = read_csv_hierarchies(samples.csv_policy("sex.csv", delimiter=delimiter), directory)
    return [list(row) for file in levels for row in file.rows], faults


def rows(directory: Path, content: bytes, delimiter: str = "") -> list[list[str]]:
    found, faults = read(directory, content, delimiter)
    assert faults == []
    return found


def fault(directory: Path, content: bytes, delimiter: str = "") -> Fault:
    found, [only] = read(directory, content, delimiter)
    assert found == []
    return only


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_lines_are_rows(tmp_path: Path, line_end: bytes) -> None:
    content = line_end.join([b"F;any", b"M;any", b"", b""])
    assert rows(tmp_path, content) == [["F", "any"], ["M", "any"]]


def test_a_byte_order_mark_is_no_value(tmp_path: Path) -> None:
    assert rows(tmp_path, "\ufeffé;*\n".encode()) == [["é", "*"]]


@pytest.mark.parametrize(("delimiter", "sign"), [(",", b","), ("\t", b"\t"), ("|", b"|"), ("§", "§".encode())])
def test_delimiters(tmp_path: Path, delimiter: str, sign: bytes) -> None:
    assert rows(tmp_path, sign.join([b"02139", b"0213*", b"*"]), delimiter) == [["02139", "0213*", "*"]]


def test_quotes_hold_anything(tmp_path: Path) -> None:
    content = b'"a;b";"*"\n"say ""hi""";"*"\n"two\nlines";*\n" ";*\n'
    assert rows(tmp_path, content) == [["a;b", "*"], ['say "hi"', "*"], ["two\nlines", "*"], [" ", "*"]]


def test_the_empty_text_is_a_value(tmp_path: Path) -> None:
    assert rows(tmp_path, b";*\nF;*\n") == [["", "*"], ["F", "*"]]


def test_a_ragged_row_is_found_in_its_line(tmp_path: Path) -> None:
    found = fault(tmp_path, b'F;any;*\n\n"M\nM";any;*\nX;*\n')
    assert found.field == FIELD
    assert found.found == "sex.csv, line 5: 2 columns; 1 row unlike the others"


def test_a_repeated_value_is_found_in_the_file(tmp_path: Path) -> None:
    found = fault(tmp_path, b"F;*\nM;*\nF;*\n")
    assert found.field == FIELD
    assert found.found.startswith("sex.csv")


def test_a_level_is_a_column(tmp_path: Path) -> None:
    # The label x falls apart at the next level.
    found = fault(tmp_path, b"1;x;a;*\n2;y;a;*\n3;x;b;*\n")
    assert found.field == FIELD
    assert ", line 3, column " in found.found


@pytest.mark.parametrize("sign", [";", ",", "\t"])
def test_what_separates_all_rows_is_the_delimiter(tmp_path: Path, sign: str) -> None:
    # All of them have the other signs, and none has as many of these.
    labels = [["a,b;c\td", "x;,\t", "*"], ["e", "y", "*"]]
    content = "\n".join(sign.join(f'"{label}"' if sign in label else label for label in row) for row in labels)
    assert rows(tmp_path, content.encode(), "") == labels


def test_the_delimiter_of_a_file_with_a_ragged_row(tmp_path: Path) -> None:
    # Commas would make three columns of every row.
    assert fault(tmp_path, b"0;[0,4];[0,9]\n1;[0,4],[0,9]\n").found == (
        "sex.csv, line 2: 2 columns; 1 row unlike the others"
    )


def test_no_delimiter_at_all(tmp_path: Path) -> None:
    found = fault(tmp_path, b"F\nM\n")
    assert found.found == "sex.csv: 1 column"
    assert "separated by ';'" in found.hint


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_tell_themselves(tmp_path: Path, encoding: str) -> None:
    assert rows(tmp_path, "größe 漢字;*\nM;*\n".encode(encoding)) == [["größe 漢字", "*"], ["M", "*"]]


def test_an_empty_file(tmp_path: Path) -> None:
    assert fault(tmp_path, b"\n\n").found == "sex.csv: no rows"


def test_not_utf8(tmp_path: Path) -> None:
    found = fault(tmp_path, "F;*\nM;*\nunbekannt süß;*\n".encode("latin-1"))
    assert found.found == "sex.csv, line 3: bytes that are not UTF-8"
    assert "UTF-8" in found.hint


def test_a_quote_that_never_ends(tmp_path: Path) -> None:
    assert fault(tmp_path, b'F;*\n"M;*\nX;*\n').found.startswith("sex.csv, line 2: ")


@pytest.mark.parametrize("delimiter", [";;", '"', "\n"])
def test_no_delimiter(tmp_path: Path, delimiter: str) -> None:
    assert fault(tmp_path, b"F;*\n", delimiter).field == f"{FIELD}.delimiter"


@pytest.mark.parametrize("path", ["missing.csv", ".", "a\0b", ""])
def test_no_file(tmp_path: Path, path: str) -> None:
    _, [found] = read_csv_hierarchies(samples.csv_policy(path), tmp_path)
    assert found.field == f"{FIELD}.path"


def test_prepare_stores_and_refers(client: Client, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n")
    policy = samples.csv_policy("sex.csv", name="sexes")
    prepared = client.prepare(policy, tmp_path)
    assert service.hierarchy_rows == [[["F", "*"], ["M", "*"]]]
    expected = samples.policy()
    expected.attributes[0].hierarchy.stored.CopyFrom(policy_pb2.StoredHierarchy(name="sexes", version=1))
    assert prepared == expected
    # The policy that was passed in stays as it was.
    assert policy.attributes[0].hierarchy.csv.path == "sex.csv"


def test_the_column_names_a_hierarchy_without_a_name(client: Client, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "any.csv").write_text("F;*\nM;*\n")
    client.prepare(samples.csv_policy("any.csv"), tmp_path)
    assert [info.name for info in service.hierarchies] == ["sex"]


def test_hierarchies_of_sensitive_columns_are_stored_too(client: Client, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "icd.csv").write_text("E11;E;*\nE10;E;*\nJ06;J;*\n")
    policy = samples.policy()
    policy.attributes[1].hierarchy.csv.path = "icd.csv"
    policy.privacy_models.add().t_closeness.CopyFrom(
        policy_pb2.TCloseness(column="diagnosis", t="0.2", distance=policy_pb2.DISTANCE_HIERARCHICAL)
    )
    prepared = client.prepare(policy, tmp_path)
    assert service.hierarchy_rows == [[["E11", "E", "*"], ["E10", "E", "*"], ["J06", "J", "*"]]]
    assert prepared.attributes[1].hierarchy.stored == policy_pb2.StoredHierarchy(name="diagnosis", version=1)


def test_nothing_is_stored_if_one_file_is_wrong(client: Client, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("F;*\nM;*\n")
    policy = samples.csv_policy("good.csv")
    policy.attributes.add(column="x").hierarchy.csv.path = "missing.csv"
    with pytest.raises(InvalidError) as caught:
        client.prepare(policy, tmp_path)
    assert [fault.field for fault in caught.value.faults] == ["attributes[2].hierarchy.csv.path"]
    assert service.requests == []


def test_faults_of_files_come_with_all_others(client: Client, service: FakeService, tmp_path: Path) -> None:
    policy = samples.csv_policy("missing.csv")
    policy.privacy_models[0].k_anonymity.k = 1
    service.faults = [
        faults_pb2.Fault(field="attributes[0].hierarchy.stored", found="a stand-in", expected="a stored hierarchy"),
        faults_pb2.Fault(field="attributes[0].column", found="'sex'", expected="a column"),
    ]
    with pytest.raises(InvalidError) as caught:
        client.submit(policy, tmp_path)
    assert [fault.field for fault in caught.value.faults] == [
        f"{FIELD}.path",
        "privacy_models[0].k_anonymity.k",
        "attributes[0].column",
    ]


def test_one_fault_per_field_although_two_checks_look(client: Client, tmp_path: Path) -> None:
    faults = client.check_policy(samples.csv_policy("", delimiter=";"), tmp_path)
    assert [fault.field for fault in faults] == [f"{FIELD}.path"]
