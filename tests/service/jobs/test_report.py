"""The phases of a job, as its report measures them."""

from tableveil.pipelines.work import JobReport
from tableveil.state.jobs import JobPhase


def test_seconds_of_phases() -> None:
    report = JobReport()
    # A job that is refused or cancelled before its first phase is counted as well.
    assert report.seconds() == {}
    report.phase(JobPhase.READING)
    assert list(report.seconds()) == ["reading"]
    report.phase(JobPhase.COUNTING)
    found = report.seconds()
    assert list(found) == ["reading", "counting"]
    assert all(seconds >= 0.0 for seconds in found.values())
