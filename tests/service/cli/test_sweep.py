"""The command `sweep`: what it asks for, how it shows what came out, and the chart of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from google.protobuf import json_format

from tableveil.convert.copied import duration
from tableveil.v1 import faults_pb2, job_service_pb2, payout_service_pb2, policy_pb2
from tests.service.cli.conftest import Run
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

Documents = Callable[..., list[Any]]
SWEEP = "payoutSweeps/3"

METHODS = payout_service_pb2.PayoutMethod.DESCRIPTOR.values_by_number
POPULATION, SOURCE = payout_service_pb2.AMONG_POPULATION, payout_service_pb2.AMONG_SOURCE


@pytest.fixture
def policy(tmp_path: Path) -> str:
    file = tmp_path / "policy.json"
    file.write_text(json_format.MessageToJson(samples.playing(), preserving_proto_field_name=True))
    return str(file)


@pytest.fixture
def sweep(service: FakeService) -> payout_service_pb2.PayoutSweep:
    """A job that has computed it: method m pays m percent less at a gain of 300, and half of that in the population."""
    service.jobs["jobs/1"] = job_service_pb2.Job(name="jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED, result=SWEEP)
    made = payout_service_pb2.PayoutSweep(
        name=SWEEP,
        source=policy_pb2.TableReference(schema="main", table="<b>dis\x1bcharges"),
        records=100_000,
        population_records=5_000_000,
        publisher_benefit="1200",
        adversary_cost="4",
        lattice_size="5760",
        transformations_counted=5760,
        sweep_duration=duration(1.25),
        policy=samples.playing(),
    )
    for method in (1, 3, 5):
        for among, share in ((SOURCE, 2), (POPULATION, 1)):
            for gain in ("0", "300"):
                payout = 120_000_000 * (1 - (method * share / 100 if gain != "0" else 0))
                made.points.add(
                    gain=gain, method=METHODS[method].number, among=among, payout=payout, suppressed_records=1234,
                    levels=[] if method == 3 else [2, 0],
                )  # fmt: skip
    service.payout_sweeps[SWEEP] = made
    return made


def requests(service: FakeService) -> list[payout_service_pb2.SubmitPayoutSweepRequest]:
    return [r for r in service.requests if isinstance(r, payout_service_pb2.SubmitPayoutSweepRequest)]


@pytest.mark.usefixtures("sweep")
def test_one_row_per_gain_and_one_column_per_method(run: Run, service: FakeService, policy: str) -> None:
    result = run("sweep", policy, "--gains", "0..0.3/0.1, 300,5..5/1, 7..12/3", "--if-method-known")
    assert result.exit_code == 0, result.output
    assert requests(service) == [
        payout_service_pb2.SubmitPayoutSweepRequest(
            policy=samples.playing(), gains=["0.0", "0.1", "0.2", "0.3", "300", "5", "7", "10"], if_method_known=True
        )
    ]
    assert result.stdout.splitlines() == [
        "payoutSweeps/3",
        r"source      main.<b>dis\x1bcharges, 100,000 records",
        "population  5,000,000 records",
        "maximum     120,000,000, a benefit of 1,200 per record",
        "attack      costs 4",
        "sweep       5,760 of 5,760 transformations counted in 1.2 s",
        "",
        "Payout in % of the maximum, if the adversary looks among the population",
        "gain  full-domain  record-level  Safe Harbor",
        "   0       100.00        100.00       100.00",
        " 300        99.00         97.00        95.00",
        "",
        "Payout in % of the maximum, if the adversary looks among the source",
        "gain  full-domain  record-level  Safe Harbor",
        "   0       100.00        100.00       100.00",
        " 300        98.00         94.00        90.00",
    ]
    assert result.stderr.splitlines() == ["jobs/1 succeeded"]
    assert run("show", SWEEP).stdout == result.stdout


@pytest.mark.usefixtures("sweep")
def test_asks_for_the_default_gains(run: Run, service: FakeService, policy: str) -> None:
    assert run("sweep", policy).exit_code == 0
    [request] = requests(service)
    assert (list(request.gains), request.if_method_known) == ([], False)


def test_a_known_method_is_one_more_column(run: Run, sweep: payout_service_pb2.PayoutSweep) -> None:
    for point in sweep.points:
        if point.method == payout_service_pb2.PAYOUT_METHOD_RECORD_LEVEL:
            point.payout_if_method_known = point.payout / 2
    shown = run("show", SWEEP).stdout
    assert "gain  full-domain  record-level  record-level, known  Safe Harbor" in shown
    assert " 300        99.00         97.00                48.50        95.00" in shown


@pytest.mark.usefixtures("sweep")
def test_as_json(documents: Documents, policy: str, tmp_path: Path) -> None:
    job, found = documents("sweep", policy, "--chart", str(tmp_path / "chart.svg"))
    assert job["job"]["result"] == SWEEP
    assert [p["gain"] for p in found["payout_sweep"]["points"]] == ["0", "300"] * 6
    assert documents("show", SWEEP) == [found]
    assert (tmp_path / "chart.svg").exists()


@pytest.mark.usefixtures("sweep")
def test_a_chart_of_every_curve(run: Run, policy: str, tmp_path: Path) -> None:
    drawing, whole = tmp_path / "chart.svg", tmp_path / "chart.HTML"
    assert run("sweep", policy, "--chart", str(drawing)).exit_code == 0
    assert run("show", SWEEP, "--chart", str(whole)).exit_code == 0
    svg, html = (ElementTree.fromstring(file.read_text(encoding="utf-8")) for file in (drawing, whole))
    texts = [element.text for element in svg.iter() if element.text]
    assert texts[0] == r"Payouts of releases of main.<b>dis\x1bcharges"
    words = " ".join(html.itertext())
    assert "100,000 records; benefit 1,200 each; an attack costs 4" in words
    curves = [f"{method}; {among}" for method in ("full-domain", "record-level", "Safe Harbor")
              for among in ("source", "population")]  # fmt: skip
    assert set(curves) <= set(texts)
    rows = [[cell.text for cell in row] for row in html.iter("tr")]
    assert len(rows) == 1 + 12
    assert ["full-domain", "source", "300", "117,600,000.00", "98.00", "1,234", "0", "2 0"] in rows
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("sweep")
def test_a_file_is_not_overwritten_unasked(run: Run, service: FakeService, policy: str, tmp_path: Path) -> None:
    file = tmp_path / "chart.svg"
    file.write_text("mine")
    for command in (("sweep", policy), ("show", SWEEP)):
        result = run(*command, "--chart", str(file))
        assert result.exit_code == 6
        assert "--overwrite" in result.stderr
        assert file.read_text() == "mine"
    # It is found before a job runs for nothing.
    assert requests(service) == []
    assert run("show", SWEEP, "--chart", str(file), "--overwrite").exit_code == 0
    assert file.read_text().startswith("<?xml")


def test_places_where_no_chart_can_be(run: Run, service: FakeService, policy: str, tmp_path: Path) -> None:
    for path, code in ((tmp_path / "chart.png", 2), (tmp_path / "nowhere" / "chart.svg", 2)):
        assert run("sweep", policy, "--chart", str(path)).exit_code == code
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    assert run("sweep", policy, "--chart", str(folder)).exit_code == 6
    assert run("show", "frontiers/3", "--chart", str(tmp_path / "chart.svg")).exit_code == 2
    assert run("show", SWEEP, "--explain").exit_code == 2
    assert service.requests == []


def test_a_folder_is_never_replaced(run: Run, sweep: payout_service_pb2.PayoutSweep, tmp_path: Path) -> None:
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    result = run("show", sweep.name, "--chart", str(folder), "--overwrite")
    assert result.exit_code == 1
    assert "cannot write" in result.stderr
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "gains", ["", "x", "0..2000", "0..2000/0", "5..2/1", "0,,3", "-2", "0..1000000/1", "1e3", "٣", "0..1/0.00001"]
)
def test_ranges_that_are_none(run: Run, service: FakeService, policy: str, gains: str) -> None:
    result = run("sweep", policy, "--gains", gains)
    assert result.exit_code == 2
    assert "Invalid value for '--gains'" in result.stderr
    assert service.requests == []


def test_refused(run: Run, service: FakeService, policy: str) -> None:
    service.failures["SubmitPayoutSweep"] = samples.failure(faults_pb2.FAILURE_KIND_INVALID, "SOMETHING", "gains[0]")
    result = run("sweep", policy)
    assert result.exit_code == 2
    assert "gains[0]" in result.stderr


def test_no_such_payout_sweep(run: Run) -> None:
    assert run("show", "payoutSweeps/8").exit_code == 8
    assert run("show", "payoutSweeps/x").exit_code == 2
