"""Payout sweeps on a running server: asked for, looked up, drawn, queried by the owner."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError
from tableveil.v1 import payout_service_pb2 as v1
from tableveil.v1.payout_service_pb2 import PayoutSweep
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable

METHODS = ["FULL_DOMAIN", "FULL_DOMAIN_NO_ATTACK", "RECORD_LEVEL", "RECORD_LEVEL_NO_ATTACK"]
GAINS = [0, 10, 20, 30, 300]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    # There are two other people like everybody.
    everybody = (
        f"SELECT people.* REPLACE (id + {samples.ROWS} * i AS id) FROM ({samples.PEOPLE}) AS people, range(3) r(i)"
    )
    samples.create(path, people=samples.PEOPLE, everybody=everybody)
    return path


def document(source: str = "people") -> samples.Document:
    """A policy without any target."""
    made = samples.policy(
        source=source,
        privacy_models=[{"profitability": {"success": "JOURNALIST"}}],
        game={"publisher_benefit": "100", "adversary_cost": "4"},
        population={"table": {"table": "everybody"}},
    )
    del made["release"]
    return made


@pytest.mark.long
def test_from_command_to_table_and_chart(serve: Serve, database: Path) -> None:
    server = serve(database)
    file, chart = database.with_name("policy.json"), database.with_name("chart.html")
    file.write_text(json.dumps(document()))
    asked = ("sweep", str(file), "--gains", "0..30/10,300", "--if-method-known", "--chart", str(chart))
    outcome = tableveil(*asked, server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    assert "jobs/1 succeeded" in outcome.stderr
    assert outcome.stdout.splitlines()[0] == "payoutSweeps/1"
    assert outcome.stdout == tableveil("show", "payoutSweeps/1", server=server.address).stdout
    with Client(server.address) as client:
        sweep = client.get_result(PayoutSweep, "1")
        # The faults of message and database are told at once.
        wrong = samples.message(document(source="peple"))
        with pytest.raises(InvalidError) as raised:
            client.submit_analysis(v1.SubmitPayoutSweepRequest(policy=wrong, gains=["1", "-1", "1.0"]))
    assert sorted(fault.field for fault in raised.value.faults) == ["gains[1]", "gains[2]", "source.table"]
    assert (sweep.records, sweep.population_records) == (240, 720)
    assert [(v1.PayoutMethod.Name(p.method), v1.Among.Name(p.among), p.gain) for p in sweep.points] == [
        (f"PAYOUT_METHOD_{method}", f"AMONG_{among}", str(gain))
        for method in METHODS
        for among in ("SOURCE", "POPULATION")
        for gain in GAINS
    ]
    # Nobody attacks for less than the cost, and no payout is above the total; choosing per record is never worse.
    payouts = {(p.method, p.among, p.gain): p.payout for p in sweep.points}
    for (method, among, gain), payout in payouts.items():
        assert payout <= 24_000
        assert gain != "0" or payout == 24_000
        if method in (v1.PAYOUT_METHOD_FULL_DOMAIN, v1.PAYOUT_METHOD_FULL_DOMAIN_NO_ATTACK):
            assert payouts[v1.PAYOUT_METHOD_RECORD_LEVEL, among, gain] >= payout - 1e-6
    rows = [[cell.text for cell in row] for row in ElementTree.parse(chart).getroot().iter("tr")]
    assert len(rows) == 1 + len(sweep.points) * 3 // 2
    assert server.terminate() == 0
    with durable(database) as connection:
        stored = connection.execute(
            "SELECT method, among, gain::DOUBLE, payout, suppressed_records, attacked_records, levels, "
            "payout_if_method_known FROM tableveil.payout_points WHERE payout_sweep = 1"
        ).fetchall()
        assert sorted(stored, key=str) == sorted(
            (
                (v1.PayoutMethod.Name(p.method).removeprefix("PAYOUT_METHOD_"),
                 v1.Among.Name(p.among).removeprefix("AMONG_"), float(p.gain), p.payout, p.suppressed_records,
                 p.attacked_records, list(p.levels) or None,
                 p.payout_if_method_known if p.HasField("payout_if_method_known") else None)
                for p in sweep.points
            ),
            key=str,
        )  # fmt: skip
        assert connection.execute("SELECT job, records FROM tableveil.payout_sweeps").fetchall() == [(1, 240)]
