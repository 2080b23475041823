"""Files of all kinds and shapes, each loaded, proposed and released, with at most one correction by its owner."""

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.journeys.kinds import Made, files
from benchmarks.journeys.shapes import SHAPES, Shape
from tableveil.cli.own_server import client_of_own_server
from tableveil.client import Client
from tableveil.convert.enums import ROLES
from tableveil.errors import InvalidError, TableveilError
from tableveil.pipelines.alternatives import MOST_HIDDEN
from tableveil.v1 import policy_pb2, table_service_pb2
from tableveil.v1.policy_pb2 import ROLE_IDENTIFYING
from tableveil.v1.proposal_service_pb2 import (
    READERS_CONTRACT,
    ColumnLeft,
    Proposal,
    ProposalRequest,
    SubmitProposalRequest,
)

SECONDS, SHAPE_SECONDS = 20, 40
"""For each proposal on an idle machine: the tables of kinds are small."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a file's journey; `problem` is empty if it became a release as it should.

    `to_decide` are the sentences about the release that are left to its owner.
    """

    made: Made
    corrections: int
    problem: str
    to_decide: int = 0


def outcomes(seed: int, times: int) -> Iterator[Outcome]:
    """The journeys of so many files of each kind."""
    with (
        tempfile.TemporaryDirectory(prefix="journeys-") as place,
        client_of_own_server(Path(place) / "journeys.duckdb") as client,
    ):
        for number, made in enumerate(files(seed, times)):
            path = Path(place) / f"file{number}.csv"
            path.write_bytes(made.contents)
            try:
                yield _outcome(client, made, path, f"file{number}")
            except TableveilError as error:
                yield Outcome(made, 0, f"{error.code}: {error}")


def _outcome(client: Client, made: Made, path: Path, name: str) -> Outcome:
    table = policy_pb2.TableReference(schema="main", table=name)
    how = client.guess_csv_format(path, table_service_pb2.CsvFormat(encoding_name="utf-8"), [], 4_000).format
    client.load_file(path, table, how=how)
    corrections = 0
    found = _proposal(
        client, ProposalRequest(table=table, readers=READERS_CONTRACT, time_limit_seconds=_limit(SECONDS))
    )
    if not _released(found):
        corrections = 1
        told = ProposalRequest(table=table, readers=READERS_CONTRACT, time_limit_seconds=_limit(SECONDS))
        if made.person:
            told.person_column = made.person
        else:
            told.rows_are_people = True
        found = _proposal(client, told)
    if not _released(found):
        return Outcome(made, corrections, _why(found))
    best = found.alternatives[0]
    policy = best.policy
    if policy.person_column != made.person and not (policy.rows_are_people and not made.person):
        return Outcome(made, corrections, f"the person column is {policy.person_column!r}, not {made.person!r}")
    identifying = {one.column for one in policy.attributes if one.role == ROLE_IDENTIFYING}
    if released := [one for one in made.identifying if one not in identifying]:
        return Outcome(made, corrections, f"released: {', '.join(released)}")
    client.wait(client.submit(policy).name)
    return Outcome(made, corrections, "", len(best.decisions))


@dataclass(frozen=True, slots=True)
class ShapeOutcome:
    """The end of the journey of a file in the shape of a real one.

    `wrong` are columns that were drafted in another role than the true one; `seconds` are those of CPU that all
    proposals took. `hidden` are columns of the release that are nearly all `*`, among so many `released` ones, and
    `to_decide` the sentences about the release that are left to its owner.
    """

    shape: Shape
    corrections: int
    columns: int
    wrong: tuple[str, ...]
    seconds: float
    problem: str
    released: int = 0
    hidden: tuple[str, ...] = ()
    to_decide: int = 0


def shape_outcomes(seed: int) -> Iterator[ShapeOutcome]:
    """The journeys of a file of each shape, by a server in this process."""
    with (
        tempfile.TemporaryDirectory(prefix="journeys-") as place,
        client_of_own_server(Path(place) / "journeys.duckdb") as client,
    ):
        for number, shape in enumerate(SHAPES):
            path = Path(place) / f"shape{number}.csv"
            path.write_bytes(shape.contents(seed))
            table = policy_pb2.TableReference(schema="main", table=path.stem)
            how = client.guess_csv_format(path, table_service_pb2.CsvFormat(encoding_name="utf-8"), [], 4_000).format
            corrections = 0
            try:
                client.load_file(path, table, how=how)
            except InvalidError as error:
                # As the error says: the columns with such values are text.
                corrections = 1
                for fault in error.faults:
                    how.types[fault.field.removeprefix("column ").strip("'")] = "VARCHAR"
                client.load_file(path, table, how=how)
            yield _shape_outcome(client, shape, table, corrections)


def _shape_outcome(client: Client, shape: Shape, table: policy_pb2.TableReference, corrections: int) -> ShapeOutcome:
    attributes = client.draft_policy(table).proposal.attributes
    drafted = {one.column: ROLES.from_proto(one.role) for one in attributes}
    wrong = tuple(column for column, role in drafted.items() if role not in shape.role_of(column.strip()))
    started, problem, released = time.process_time(), "", list[ColumnLeft]()
    to_decide = 0
    asked = ProposalRequest(table=table, readers=READERS_CONTRACT, time_limit_seconds=_limit(SHAPE_SECONDS))
    try:
        found = _proposal(client, asked)
        if not _recommended(found):
            corrections += 1
            _correct(asked, shape)
            found = _proposal(client, asked)
        seconds = time.process_time() - started
        if _released(found):
            client.wait(client.submit(found.alternatives[0].policy).name)
            released.extend(found.alternatives[0].columns)
            to_decide = len(found.alternatives[0].decisions)
        else:
            problem = _why(found)
    except TableveilError as error:
        seconds, problem = time.process_time() - started, f"{error.code}: {error}"
    hidden = tuple(one.column for one in released if _is_hidden(one))
    return ShapeOutcome(shape, corrections, len(drafted), wrong, seconds, problem, len(released), hidden, to_decide)


def _limit(seconds: int) -> str:
    """More of the clock where other work of the machine leaves a part of the CPU alone."""
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    return f"{seconds * crowd:.0f}"


def _is_hidden(left: ColumnLeft) -> bool:
    """Whether nearly nothing is left of a column."""
    return left.erased or left.hidden > MOST_HIDDEN


def _recommended(found: Proposal) -> bool:
    return bool(found.alternatives) and found.alternatives[0].recommended


def _released(found: Proposal) -> bool:
    """Whether nobody need say more for a release of the first policy.

    Something is always to be decided about it where people have several records: nobody but the owner can.
    """
    return bool(found.alternatives) and found.alternatives[0].HasField("score") and not found.decisions


def _why(found: Proposal) -> str:
    why = [*found.decisions, *(text for one in found.alternatives for text in (*one.decisions, one.failure))]
    return f"none is released: {found.recommendation} {why[:2]}"


def _correct(asked: ProposalRequest, shape: Shape) -> None:
    if shape.person:
        asked.person_column = shape.person
    else:
        asked.rows_are_people = True


def _proposal(client: Client, asked: ProposalRequest) -> Proposal:
    job = client.submit_analysis(SubmitProposalRequest(proposal=asked))
    return client.get_result(Proposal, client.wait(job.name).result)
