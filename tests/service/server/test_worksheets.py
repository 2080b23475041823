"""Worksheets over gRPC: kept, changed by one writer at a time, and gone with their table or its people."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tableveil.cli.main import cli
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.runtime import worksheets
from tableveil.v1 import policy_pb2, proposal_service_pb2, worksheet_service_pb2
from tests.service.access.house import House, opened

Worksheet = worksheet_service_pb2.Worksheet
PATIENTS = policy_pb2.TableReference(schema="ward_a", table="patients")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("worksheets")) as house:
        yield house


def kept(house: House, table: policy_pb2.TableReference = PATIENTS, **contents: object) -> Worksheet:
    return house.clients["ann"].create_worksheet(Worksheet(table=table, **contents))  # type: ignore[arg-type]


def test_a_worksheet_is_kept_and_changed(house: House) -> None:
    request = proposal_service_pb2.ProposalRequest(recurs=True, leave_out=['"; DROP', "ä"])
    made = kept(house, request=request)
    assert (made.etag, made.updated_by, made.request.leave_out) == ("1", "ann", request.leave_out)
    assert made.request.table == made.table == policy_pb2.TableReference(schema="ward_a", table="patients")
    made.policy.suppression_limit = "not a number yet"
    made.policy.source.table = "another"
    made.table.table = "another"
    changed = house.clients["ann"].update_worksheet(made)
    assert changed.policy.suppression_limit == "not a number yet"
    assert changed.policy.source.table == changed.table.table == "patients", "it stays about its table"
    assert changed.update_time.ToNanoseconds() >= made.create_time.ToNanoseconds()
    assert house.clients["ann"].get_worksheet(made.name) == changed
    (listed,) = [one for one in house.clients["ann"].list_worksheets() if one.name == made.name]
    assert not listed.HasField("policy")
    assert listed.request == changed.request


def test_a_second_writer_is_shown_the_conflict(house: House) -> None:
    made = kept(house)
    house.clients["admin"].update_worksheet(made)
    with pytest.raises(ConflictError) as conflict:
        house.clients["ann"].update_worksheet(made)
    (fault,) = conflict.value.faults
    assert (conflict.value.code, fault.field, fault.expected) == ("WORKSHEET_CHANGED", "worksheet.etag", "2")
    assert "admin" in fault.found
    with pytest.raises(ConflictError):
        house.clients["ann"].delete_worksheet(made.name, made.etag)
    assert house.clients["ann"].get_worksheet(made.name).updated_by == "admin"


def test_of_writers_at_once_one_succeeds(house: House) -> None:
    made, ends = kept(house), []

    def write() -> None:
        try:
            house.clients["ann"].update_worksheet(made)
            ends.append("written")
        except ConflictError as error:
            ends.append(error.code)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends) == [*["WORKSHEET_CHANGED"] * 5, "written"]


def test_it_goes_with_its_table_and_with_erased_people(house: House) -> None:
    house.clients["ann"].load(pa.table({"code": [1]}), "ward_a.people")
    copied = policy_pb2.TableReference(schema="ward_a", table="copied")
    kept(house, policy_pb2.TableReference(schema="ward_a", table="people"))
    kept(house, copied, request=proposal_service_pb2.ProposalRequest(leave_out=["7"]))
    needed = kept(house, copied)
    other = kept(house)
    client = house.clients["ann"]
    erased = client.erase_persons(copied, ["7"], "code")
    assert erased.deleted_worksheets == 1
    assert client.get_worksheet(needed.name) == needed, "it holds nothing of theirs"
    client.drop_table(policy_pb2.TableReference(schema="ward_a", table="people"))
    left = [one for one in client.list_worksheets() if one.table.table != "patients"]
    assert ([one.name for one in left], client.get_worksheet(other.name)) == ([needed.name], other)


def test_another_steward_sees_none(house: House) -> None:
    made = kept(house)
    assert [*house.clients["bob"].list_worksheets()] == []
    with pytest.raises(NotFoundError):
        house.clients["bob"].get_worksheet(made.name)


@pytest.mark.parametrize(
    ("contents", "code", "field"),
    [
        ({"table": policy_pb2.TableReference(schema="ward_a", table="patience")}, "WORKSHEET_INVALID", "table"),
        ({"proposal": "releases/1"}, "NAME_INVALID", "worksheet.proposal"),
        ({"job": "3"}, "NAME_INVALID", "worksheet.job"),
    ],
)
def test_bad_contents_are_refused_by_field(house: House, contents: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(InvalidError) as error:
        kept(house, **contents)
    assert error.value.code == code
    assert field in error.value.faults[0].field


def test_no_etag_changes_nothing(house: House) -> None:
    made = kept(house)
    made.etag = ""
    with pytest.raises(InvalidError, match="etag"):
        house.clients["ann"].update_worksheet(made)


def test_sizes_are_bounded(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worksheets, "LONGEST_CONTENTS", 500)
    policy = policy_pb2.Policy(repeat_reason="x" * 600)
    with pytest.raises(InvalidError, match="characters"):
        kept(house, policy=policy)
    monkeypatch.setattr(worksheets, "MOST_PER_TABLE", 1)
    zips = policy_pb2.TableReference(schema="ward_a", table="zips")
    kept(house, zips)
    with pytest.raises(ConflictError) as error:
        kept(house, zips)
    assert error.value.code == "WORKSHEETS_TOO_MANY"


def test_the_command_lists_shows_and_deletes(house: House) -> None:
    made = kept(house, policy=policy_pb2.Policy(suppression_limit="0.05"))

    def run(*words: str) -> str:
        options = ["--server", house.server.address, "--token-file", str(house.token_file("ann"))]
        result = CliRunner().invoke(cli, ["worksheets", words[0], *options, *words[1:]], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    assert made.name in run("list")
    assert "suppression_limit: 0.05" in run("policy", made.name).replace('"', "").replace("'", "")
    assert json.loads(run("policy", made.name, "--json"))["worksheet"]["name"] == made.name
    run("delete", made.name)
    assert made.name not in run("list")
