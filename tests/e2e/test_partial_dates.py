"""Dates of which some lack a day or a month, from a file to a verified release by months and years."""

import csv
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import duckdb
import pytest

from tableveil.cli.own_server import client_of_own_server
from tableveil.v1 import policy_pb2, table_service_pb2
from tableveil.v1.proposal_service_pb2 import READERS_CONTRACT, Proposal, ProposalRequest, SubmitProposalRequest
from tests.once import once

Written = Callable[[datetime, int], str]

WAYS: dict[str, tuple[Written, str]] = {
    "days": (lambda at, part: at.date().isoformat()[: (10, 10, 7, 4)[part]], r"\d{4}-..\*{3}|\d{4}\*{6}"),
    "nothing": (
        lambda at, part: ("", at.date().isoformat(), f"{at:%Y-%m}", f"{at:%Y}")[part],
        r"\d{4}-..\*{3}|\d{4}\*{6}",
    ),
    "times": (lambda at, part: at.isoformat(timespec="minutes")[: (16, 10, 7, 4)[part]], r"\d{4}(-..)?(-..)?\*{6,12}"),
    "unknown": (lambda at, part: f"{at:%Y-%m-}UN" if part else at.date().isoformat(), r"\d{4}-..\*{3}|\d{4}\*{6}"),
    "year last": (lambda at, part: f"{at:%d.%m.%Y}"[(0, 0, 3, 6)[part] :], r"\*{3}..[.-]\d{4}|\*{6}\d{4}"),
}
"""How a moment is written, by which part of it is unknown, and the pattern of labels that group such."""


@pytest.mark.parametrize("way", once(list(WAYS)))
def test_partial_dates_are_released_by_months_and_years(way: str, tmp_path: Path) -> None:
    written, grouped = WAYS[way]
    chance, table = Random(way), policy_pb2.TableReference(schema="main", table="events")
    path, database = tmp_path / "events.csv", tmp_path / "events.duckdb"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["subject_id", "sex", "onset"])
        for subject in range(240):
            at = datetime(2014, 1, 1) + timedelta(minutes=chance.randrange(700 * 24 * 60))
            rows.writerow(
                [f"S{subject * 11 + 1000}", chance.choice("fm"), written(at, chance.choice((0, 0, 0, 1, 2, 3)))]
            )
    with client_of_own_server(database) as client:
        guess = client.guess_csv_format(path, table_service_pb2.CsvFormat(encoding_name="utf-8"), [], 4_000)
        client.load_file(path, table, how=guess.format)
        asked = ProposalRequest(table=table, readers=READERS_CONTRACT, person_column="subject_id")
        job = client.submit_analysis(SubmitProposalRequest(proposal=asked))
        found = client.get_result(Proposal, client.wait(job.name).result)
        policy = found.alternatives[0].policy
        assert found.alternatives[0].recommended, found.recommendation
        roles = {one.column: one.role for one in policy.attributes}
        assert roles["onset"] == policy_pb2.ROLE_QUASI_IDENTIFIER
        client.wait(client.submit(policy).name)
    with duckdb.connect(database, read_only=True) as connection:
        labels = connection.execute(f'SELECT onset, count(*) FROM "{policy.release.name}" GROUP BY 1').fetchall()
    counts = {label: number for label, number in labels if label is not None and re.fullmatch(grouped, label)}
    assert sum(counts.values()) > 60, labels
    # No label stands for more than a year, but the one for everything.
    assert all("201" in label for label, _ in labels if label not in (None, "*")), labels
