"""The store of jobs: what was asked, what happened and how it ended comes back as it was put in, newest first."""

from datetime import datetime

import pytest

from tableveil.backend import Ledger
from tableveil.errors import TableveilError, Warned, note
from tableveil.policy import TableReference
from tableveil.state import jobs
from tableveil.state.jobs import Event, JobKind, JobPhase, JobState, Outcome, Request

AT = datetime(2024, 2, 29, 12, 30, 15, 123456)


def request(ledger: Ledger, request_id: str = "") -> Request:
    number = jobs.next_number(ledger)
    source = TableReference("test", "main", 'it"s; a table')
    stored = Request(number, request_id, '{"a": "é"}', "digest", source, "main", "out", AT)
    jobs.insert_request(ledger, stored)
    return stored


def test_a_request_comes_back_as_it_was(ledger: Ledger) -> None:
    asked = request(ledger, "r-1")
    (found,) = jobs.find_all(ledger, [asked.number])
    assert found.request == asked
    assert (found.started_at, found.last_event, found.outcome) == (None, None, None)
    assert jobs.find_request(ledger, "r-1", JobKind.RELEASE) == asked
    assert jobs.find_request(ledger, "r-2", JobKind.RELEASE) is None
    assert jobs.find_all(ledger, [asked.number + 1]) == []


def test_many_requests_have_no_request_id(ledger: Ledger) -> None:
    first, second = request(ledger), request(ledger)
    assert first.number != second.number
    assert jobs.find_request(ledger, "", JobKind.RELEASE) is None


def test_a_request_id_names_its_latest_job(ledger: Ledger) -> None:
    first = request(ledger, "r-1")
    assert jobs.find_request(ledger, "r-1", JobKind.RELEASE) == first
    second = request(ledger, "r-1")
    assert jobs.find_request(ledger, "r-1", JobKind.RELEASE) == second


def test_first_and_last_event_and_outcome(ledger: Ledger) -> None:
    asked, other = request(ledger), request(ledger)
    events = [
        Event(AT.replace(hour=13), JobPhase.READING),
        Event(AT.replace(hour=14), JobPhase.SEARCHING, 17, "1" + "0" * 30, 0.5, 0.25, 0.01),
        # Two events at one moment: the later one counts.
        Event(AT.replace(hour=14), JobPhase.WRITING),
    ]
    for event in events:
        jobs.insert_event(ledger, asked.number, event)
    outcome = Outcome(JobState.SUCCEEDED, AT.replace(hour=15), 3, None, (Warned("It's at its top."), note("b")))
    jobs.insert_outcome(ledger, asked.number, outcome)
    (found,) = jobs.find_all(ledger, [asked.number])
    assert (found.started_at, found.last_event, found.outcome) == (events[0].at, events[-1], outcome)
    assert jobs.unfinished(ledger) == [other.number]


def test_progress_comes_back_as_it_was(ledger: Ledger) -> None:
    asked = request(ledger)
    event = Event(AT, JobPhase.SEARCHING, 17, "1" + "0" * 30, 0.5, 0.25, 0.01)
    jobs.insert_event(ledger, asked.number, event)
    (found,) = jobs.find_all(ledger, [asked.number])
    assert found.last_event == event


def test_a_job_ends_once(ledger: Ledger) -> None:
    asked = request(ledger)
    jobs.insert_outcome(ledger, asked.number, Outcome(JobState.SUCCEEDED, AT, 1))
    with pytest.raises(TableveilError):
        jobs.insert_outcome(ledger, asked.number, Outcome(JobState.FAILED, AT, None, "{}"))
    (found,) = jobs.find_all(ledger, [asked.number])
    assert found.outcome == Outcome(JobState.SUCCEEDED, AT, 1)


def test_pages_newest_first_without_gaps_or_repetition(ledger: Ledger) -> None:
    numbers = [request(ledger).number for _ in range(7)]
    found: list[int] = []
    before = None
    while page := jobs.page(ledger, before, 3):
        found += page
        before = found[-1]
    assert found == numbers[::-1]


@pytest.mark.parametrize("state", list(JobState))
def test_which_states_are_ends(state: JobState) -> None:
    assert state.ended == (state not in (JobState.QUEUED, JobState.RUNNING))
