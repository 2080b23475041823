"""Progress: bars on a terminal, sparing lines elsewhere."""

import io
import re

import pytest
from rich.console import Console

from tableveil.client.progress import Bars, Lines, progress_view
from tableveil.v1 import job_service_pb2
from tableveil.wording.progress import findings
from tests.service.client import samples


def queued(ahead: int) -> job_service_pb2.Job:
    return job_service_pb2.Job(name="jobs/1", state=job_service_pb2.JOB_STATE_QUEUED, queue_position=ahead)


def running(phase: job_service_pb2.JobPhase.ValueType) -> job_service_pb2.Job:
    return job_service_pb2.Job(name="jobs/1", state=job_service_pb2.JOB_STATE_RUNNING, phase=phase)


def test_the_console_decides() -> None:
    assert isinstance(progress_view(Console(file=io.StringIO(), force_terminal=True)), Bars)
    assert isinstance(progress_view(Console(file=io.StringIO())), Lines)


def lines(*shown: tuple[float, job_service_pb2.Job]) -> list[str]:
    """The printed lines if jobs are shown at these times."""
    file = io.StringIO()
    times = iter([at for at, _ in shown])
    with Lines(Console(file=file, width=40), lambda: next(times)) as view:
        for _, job in shown:
            view.show(job)
    return file.getvalue().splitlines()


def test_lines_tell_what_is_known() -> None:
    job = samples.searching("jobs/1", 1204, 0.2134, 0.1815)
    job.progress.recent_gain = 0.04
    writing = samples.searching("jobs/1", 1204, 0.2134, 0.1815)
    writing.progress.recent_gain = 0.04
    writing.phase = job_service_pb2.JOB_PHASE_WRITING
    assert lines(
        (0, queued(2)),
        (1, running(job_service_pb2.JOB_PHASE_READING)),
        (2, samples.searching("jobs/1", 1)),
        (3, job),
        (3.1, running(job_service_pb2.JOB_PHASE_COUNTING)),
        (4, writing),
        (4.1, samples.succeeded("jobs/1", "releases/1")),
    ) == [
        "jobs/1 queued, 2 ahead",
        "jobs/1 reading the table",
        "jobs/1 searching: 1 of 5,184 transformations checked",
        "jobs/1 searching: 1,204 of 5,184 transformations checked, "
        "best score 0.2134, lower bound 0.1815, 1.23 % suppressed, gap 0.0319, "
        "4 % better in the last tenth of the time",
        "jobs/1 writing",
        "jobs/1 succeeded",
    ]


def test_records_in_clusters_are_no_transformations() -> None:
    job = samples.searching("jobs/1", 1204)
    job.progress.of_records = True
    assert lines((0, job)) == ["jobs/1 searching: 1,204 of 5,184 records in clusters"]


def test_lines_come_at_most_once_a_second() -> None:
    times = [number / 10 for number in range(31)]
    printed = lines(*((at, samples.searching("jobs/1", 1 + round(10 * at))) for at in times))
    assert [line.split()[2] for line in printed] == ["1", "11", "21", "31"]


def test_short_phases_are_passed_over_but_not_the_end() -> None:
    phases = [running(phase) for phase in job_service_pb2.JobPhase.values()[1:]]
    ended = samples.succeeded("jobs/1", "releases/1")
    assert lines(*((0.1 * at, job) for at, job in enumerate([*phases, ended]))) == [
        "jobs/1 reading the table",
        "jobs/1 succeeded",
    ]


def test_nothing_new_is_nothing_to_say() -> None:
    assert len(lines(*((float(at), queued(0)) for at in range(10)))) == 1


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


def frames(screen: io.StringIO, *jobs: job_service_pb2.Job) -> str:
    """The output to a terminal while jobs are shown, without colours."""
    console = Console(file=screen, force_terminal=True, width=100, color_system=None, legacy_windows=False)
    with Bars(console) as view:
        for job in jobs:
            view.show(job)
            console.file.write("\n--frame--\n")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())


def test_bars_measure_the_proof(screen: io.StringIO) -> None:
    shown = frames(screen, running(job_service_pb2.JOB_PHASE_COUNTING), samples.searching("jobs/1", 1204, 0.2, 0.15))
    last = shown.rpartition("--frame--")[2]
    assert "jobs/1 searching" in last
    assert "75 % proven" in last
    assert "1,204 of 5,184 transformations checked, best score 0.2000, lower bound 0.1500, 1.23 % suppressed" in last


def test_bars_end_with_how_the_job_ended(screen: io.StringIO) -> None:
    shown = frames(screen, samples.searching("jobs/1", 1204, 0.2, 0.2), samples.succeeded("jobs/1", "releases/1"))
    assert "jobs/1 succeeded" in shown.rpartition("--frame--")[2]


def test_bars_show_the_step(screen: io.StringIO) -> None:
    job = running(job_service_pb2.JOB_PHASE_WRITING)
    job.statements, job.statement_percent = 1200, 98.43
    assert "jobs/1 writing, step 1,200: 98.4 %" in frames(screen, job)


def test_bars_fit_a_narrow_terminal(screen: io.StringIO) -> None:
    console = Console(file=screen, force_terminal=True, width=30, color_system=None, legacy_windows=False)
    with Bars(console) as view:
        view.show(samples.searching("jobs/1", 1204, 0.2, 0.15))
    assert screen.getvalue()


@pytest.mark.parametrize(("best", "bound"), [(0.0, 0.0), (0.1, 0.2), (0.1, -1.0)])
def test_bars_take_any_scores(screen: io.StringIO, best: float, bound: float) -> None:
    assert "proven" in frames(screen, samples.searching("jobs/1", 1, best, bound))


@pytest.mark.parametrize(
    ("kind", "counted"),
    [
        ("releases", "transformations checked"),
        ("classifications", "classifiers trained"),
        ("utilityReports", "columns compared"),
    ],
)
def test_what_is_counted_depends_on_the_job(kind: str, counted: str) -> None:
    progress = job_service_pb2.SearchProgress(transformations_checked=3, lattice_size="80")
    assert findings(job_service_pb2.Job(kind=kind, progress=progress)) == f"3 of 80 {counted}"
