"""Takes random files from loading to a verified release, by the ways that refusals say, which are taken."""

import csv
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from google.protobuf import json_format

from tableveil.cli.own_server import client_of_own_server
from tableveil.client import Client
from tableveil.errors import Change, Fault, InfeasibleError, InternalError, InvalidError, TableveilError
from tableveil.v1 import policy_pb2, table_service_pb2
from tableveil.v1.proposal_service_pb2 import READERS_CONTRACT, Proposal, ProposalRequest, SubmitProposalRequest

SECONDS = "6"
"""For each proposal: some policies are not tried in time, and none of them is then missed."""

_MOST_HINTS = 4
"""Refusals of one policy, each of whose changes are made."""

Cell = Callable[[int], str]


@dataclass(slots=True)
class Report:
    """The ends of the files, and the findings."""

    ends: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    @property
    def files(self) -> int:
        """How many were taken along."""
        return self.ends.total()

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.files} files, {len(self.broken)} broken promises"
        yield ", ".join(f"{end} {number}" for end, number in self.ends.most_common())
        yield from self.broken


def take_files(seed: int, seconds: float, files: int) -> Report:
    """Takes so many files along, each computed from the seed and its number alone, or until the time is over."""
    report, until = Report(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="files-") as place:
        for number in range(files):
            if time.monotonic() > until:
                break
            path = Path(place) / f"file{number}.csv"
            _write(path, Random(f"{seed}/{number}"))
            # A database of its own: releases of other files would be about the same people.
            with client_of_own_server(Path(place) / f"file{number}.duckdb") as client:
                try:
                    report.ends[_end(client, path)] += 1
                except InternalError as error:
                    report.ends["internal"] += 1
                    report.broken.append(f"file {number}: {error.code}: {error}")
                except TableveilError as error:
                    report.ends[f"refused, {error.code}"] += 1
                    report.broken.append(f"file {number}, without a way that leads on: {error.code}: {error}")
    return report


def _end(client: Client, path: Path) -> str:
    table = policy_pb2.TableReference(schema="main", table=path.stem)
    how = client.guess_csv_format(path, table_service_pb2.CsvFormat(encoding_name="utf-8"), [], 4_000).format
    try:
        client.load_file(path, table, how=how)
    except InvalidError as error:
        if error.code != "CSV_LINES_REJECTED":
            raise
        # The way that the error says: the column as text.
        how.all_text = True
        how.types.clear()
        client.load_file(path, table, how=how)
    asked, end = ProposalRequest(table=table, readers=READERS_CONTRACT, time_limit_seconds=SECONDS), "released"
    try:
        found = _proposal(client, asked)
    except InvalidError as error:
        if [fault.field for fault in error.faults] != ["attributes"]:
            raise
        # The way that the error says: the role for a column, of a table whose columns all seem to identify.
        column = client.draft_policy(table).proposal.attributes[0].column
        asked.correct.add(column=column, role=policy_pb2.ROLE_QUASI_IDENTIFIER)
        asked.rows_are_people = True
        found = _proposal(client, asked)
    if not _recommended(found):
        # The decision asks for one of the two.
        asked.rows_are_people, end = True, "released after a correction"
        found = _proposal(client, asked)
    made = [one for one in found.alternatives if one.HasField("score")]
    if not made:
        failed = found.alternatives[0]
        if not failed.failure:
            raise InternalError("INTERNAL", "a policy that was tried neither makes a release nor says why")
        return _by_hints(client, failed.policy)
    client.wait(client.submit(made[0].policy).name)
    return end if made[0].recommended else "released with something to decide"


def _by_hints(client: Client, policy: policy_pb2.Policy) -> str:
    """Makes the changes that each refusal says would do, and nothing else, until there is a release."""
    for steps in range(_MOST_HINTS + 1):
        try:
            client.wait(client.submit(policy).name)
        except InfeasibleError as error:
            if steps == _MOST_HINTS or not error.relaxations:
                raise
            changes: Sequence[Change] = error.relaxations[0].changes
        except InvalidError as error:
            if steps == _MOST_HINTS or not all(_says_role(fault) for fault in error.faults):
                raise
            changes = [Change(fault.field, "ROLE_IDENTIFYING") for fault in error.faults]
            # From the last one on: numbers of those before stay.
            models = {int(n) for fault in error.faults for n in re.findall(r"privacy_models\[(\d+)\]", fault.hint)}
            changes += [Change(f"privacy_models[{n}]", "") for n in sorted(models, reverse=True)]
        else:
            return f"released after {steps} hints"
        document = json.loads(json_format.MessageToJson(policy, preserving_proto_field_name=True))
        for change in changes:
            _change(document, change)
        policy = json_format.ParseDict(document, policy_pb2.Policy())
    raise AssertionError


def _says_role(fault: Fault) -> bool:
    return fault.field.endswith(".role") and fault.hint.startswith("Make it IDENTIFYING")


def _change(document: Any, change: Change) -> None:
    """Sets the field of a policy at a path such as `privacy_models[0].k_anonymity.k`; without a value it goes."""
    *path, last = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", change.field)]
    for step in path:
        document = document[step] if isinstance(step, int) else document.setdefault(step, {})
    if change.value:
        document[last] = change.value
        if change.value == "ROLE_IDENTIFYING":
            # Such a column has nothing else.
            for field in document.keys() - {"column", "role"}:
                del document[field]
    else:
        del document[last]


def _recommended(found: Proposal) -> bool:
    return bool(found.alternatives) and found.alternatives[0].recommended


def _proposal(client: Client, asked: ProposalRequest) -> Proposal:
    job = client.submit_analysis(SubmitProposalRequest(proposal=asked))
    return client.get_result(Proposal, client.wait(job.name).result)


def _write(path: Path, random: Random) -> None:
    rows = random.choice([2, 5, 30, 120, 300])
    columns: dict[str, Cell] = {}
    for number in range(random.randint(2, random.choice([6, 14, 60]))):
        name, cell = _column(random)
        columns[name if name not in columns else f"{name} {number}"] = _sparse(random, cell)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([cell(row) for cell in columns.values()] for row in range(rows))


def _sparse(random: Random, cell: Cell) -> Cell:
    """The cell, or nothing: in some, in half, or in all rows, or in those that another column leaves out."""
    kind = random.random()
    if kind < 0.7:
        return cell
    if kind < 0.85:
        odd = random.randrange(2)
        return lambda row: cell(row) if row % 2 == odd else ""
    share = random.choice([0.05, 0.5, 0.95, 1.0])
    return lambda row: "" if random.random() < share else cell(row)


_NAMES = (
    *("id", "name", "sex", "age", "birth date", "zip", "diagnosis", "income", "admitted", "discharged", "site code"),
    *("score", "weight", "city", "Größe", 'a "quoted" one', "select", "party", "notes", "x", "y", "z", "visit", "%"),
)


def _column(random: Random) -> tuple[str, Cell]:
    first, span = date(random.choice([1940, 2000, 2024]), 1, 1), random.choice([30, 400, 20_000])
    words = random.sample(["red", "green", "it's", "ÄÖ", "a|b", "*", "NA", "-", "1.5", " x", "J45.0", "I10"], 5)
    cells: list[Cell] = [
        lambda row: str(row + 1),
        lambda row: f"P{row // random.randint(1, 3):05d}",
        lambda row: str(random.randrange(random.choice([2, 9, 100, 10**6]))),
        lambda row: f"{random.gauss(0, 10**6):.{random.randrange(4)}f}",
        lambda row: str(first + timedelta(days=random.randrange(span))),
        lambda row: f"{first + timedelta(days=random.randrange(span)):%d/%m/%Y}",
        lambda row: f"{first + timedelta(seconds=random.randrange(10**6))} 10:{random.randrange(60):02d}:00",
        lambda row: random.choice(words),
        lambda row: words[0],
        lambda row: random.choice(["true", "false"]),
        lambda row: f"{random.randrange(24):02d}:{random.randrange(60):02d}:00",
        lambda row: "word " * random.randint(1, 30),
        lambda row: random.choice(["NaN", "inf", "1.0", "2.5"]),
        lambda row: f"{random.randrange(100):05d}",
        lambda row: "|".join(random.sample(words, random.randint(1, 3))),
    ]
    return random.choice(_NAMES), random.choice(cells)
