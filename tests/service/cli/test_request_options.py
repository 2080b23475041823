"""Options of requests: each kind of field, and the help, which is the comment of the proto."""

from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from google.protobuf.message import Message

from tableveil.cli.request_options import option, request_options
from tableveil.v1.classification_service_pb2 import CLASSIFIER_RANDOM_FOREST, ClassificationRequest
from tableveil.v1.comments import comments
from tableveil.v1.policy_pb2 import Population
from tableveil.v1.proposal_service_pb2 import READERS_PUBLIC, ProposalRequest
from tableveil.v1.risk_service_pb2 import RiskRequest
from tableveil.v1.table_service_pb2 import CsvFormat


def run(kind: type[Message], *fields: Any, given: str = "") -> tuple[Result, list[Message]]:
    made: list[Message] = []

    @click.command()
    @request_options(kind, "asked", *fields)
    def command(asked: Message) -> None:
        made.append(asked)

    return CliRunner().invoke(command, given.split()), made


@pytest.mark.parametrize(
    ("fields", "given", "expected"),
    [
        (["recurs", "person_column"], "", ProposalRequest()),
        (["recurs", "person_column"], "--recurs --person-column p", ProposalRequest(recurs=True, person_column="p")),
        (["readers"], "--readers public", ProposalRequest(readers=READERS_PUBLIC)),
        ([option("leave_out", metavar="C")], "--leave-out a --leave-out b", ProposalRequest(leave_out=["a", "b"])),
        (
            [option("classifiers", "--classifier")],
            "--classifier random-forest",
            ClassificationRequest(classifiers=[CLASSIFIER_RANDOM_FOREST]),
        ),
        (["folds"], "--folds 3", ClassificationRequest(folds=3)),
        (["population.size"], "--population-size 0", RiskRequest(population=Population(size=0))),
        ([option("types", "--type", metavar="C=T")], "--type a=b=DATE", CsvFormat(types={"a=b": "DATE"})),
    ],
)
def test_each_kind_of_field(fields: list[Any], given: str, expected: Message) -> None:
    result, made = run(type(expected), *fields, given=given)
    assert made == [expected], result.output


@pytest.mark.parametrize(
    ("kind", "fields", "given", "said"),
    [
        (ClassificationRequest, [option("classes", "--class")], "", "Missing option '--class'"),
        (CsvFormat, [option("types", "--type", metavar="C=T")], "--type a", "--type: 'a' is not C=T"),
        (
            RiskRequest,
            ["population.size", option("population.sampling_fraction", "--share")],
            "--population-size 3 --share 0.1",
            "--population-size and --share say the same in two ways",
        ),
    ],
)
def test_what_is_refused(kind: type[Message], fields: list[Any], given: str, said: str) -> None:
    result, made = run(kind, *fields, given=given)
    assert (result.exit_code, made) == (2, [])
    assert said in result.output


def test_the_help_is_the_comment() -> None:
    """Without what the server refuses; other fields go by the names of their options."""
    fields = ("readers", "recurs", option("leave_out", note="All of it."), option("record_column", "--record"))
    result, _ = run(ProposalRequest, *fields, given="--help")
    said = " ".join(result.output.split())
    assert comments()["tableveil.v1.ProposalRequest.recurs"] in said
    assert "Columns that are not released. All of it. May be repeated." in said
    assert "With --recurs: the column that identifies each record." in said
    assert "Default: each k of contract;" in said
    assert "Refused" not in said
