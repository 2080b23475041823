"""The store of jobs: what was asked, what happened and how it ended comes back as it was put in, newest first."""

from __future__ import annotations

from datetime import datetime

import pytest

from tableveil.backend import Session
from tableveil.errors import TableveilError
from tableveil.policy import TableReference
from tableveil.state import jobs
from tableveil.state.jobs import Event, JobPhase, JobState, Outcome, Request

AT = datetime(2024, 2, 29, 12, 30, 15, 123456)


def request(session: Session, request_id: str = "") -> Request:
    number = jobs.next_number(session)
    source = TableReference("test", "main", 'it"s; a table')
    stored = Request(number, request_id, '{"a": "é"}', "digest", source, "main", "out", AT)
    jobs.insert_request(session, stored)
    return stored


def test_a_request_comes_back_as_it_was(session: Session) -> None:
    asked = request(session, "r-1")
    (found,) = jobs.find_all(session, [asked.number])
    assert found.request == asked
    assert (found.started_at, found.last_event, found.outcome) == (None, None, None)
    assert jobs.find_request(session, "r-1") == asked
    assert jobs.find_request(session, "r-2") is None
    assert jobs.find_all(session, [asked.number + 1]) == []


def test_many_requests_have_no_request_id(session: Session) -> None:
    first, second = request(session), request(session)
    assert first.number != second.number
    assert jobs.find_request(session, "") is None


def test_a_request_id_names_its_latest_job(session: Session) -> None:
    first = request(session, "r-1")
    assert jobs.find_request(session, "r-1") == first
    second = request(session, "r-1")
    assert jobs.find_request(session, "r-1") == second


def test_first_and_last_event_and_outcome(session: Session) -> None:
    asked, other = request(session), request(session)
    events = [
        Event(AT.replace(hour=13), JobPhase.READING),
        Event(AT.replace(hour=14), JobPhase.SEARCHING, 17, "1" + "0" * 30, 0.5, 0.25, 0.01),
        # Two events at one moment: the later one counts.
        Event(AT.replace(hour=14), JobPhase.WRITING),
    ]
    for event in events:
        jobs.insert_event(session, asked.number, event)
    outcome = Outcome(JobState.SUCCEEDED, AT.replace(hour=15), 3, None, ("It's at its top.", "b"))
    jobs.insert_outcome(session, asked.number, outcome)
    (found,) = jobs.find_all(session, [asked.number])
    assert (found.started_at, found.last_event, found.outcome) == (events[0].at, events[-1], outcome)
    assert jobs.unfinished(session) == [other.number]


def test_progress_comes_back_as_it_was(session: Session) -> None:
    asked = request(session)
    event = Event(AT, JobPhase.SEARCHING, 17, "1" + "0" * 30, 0.5, 0.25, 0.01)
    jobs.insert_event(session, asked.number, event)
    (found,) = jobs.find_all(session, [asked.number])
    assert found.last_event == event


def test_a_job_ends_once(session: Session) -> None:
    asked = request(session)
    jobs.insert_outcome(session, asked.number, Outcome(JobState.SUCCEEDED, AT, 1))
    with pytest.raises(TableveilError):
        jobs.insert_outcome(session, asked.number, Outcome(JobState.FAILED, AT, None, "{}"))
    (found,) = jobs.find_all(session, [asked.number])
    assert found.outcome == Outcome(JobState.SUCCEEDED, AT, 1)


def test_pages_newest_first_without_gaps_or_repetition(session: Session) -> None:
    numbers = [request(session).number for _ in range(7)]
    found: list[int] = []
    before = None
    while page := jobs.page(session, before, 3):
        found += page
        before = found[-1]
    assert found == numbers[::-1]


@pytest.mark.parametrize("state", list(JobState))
def test_which_states_are_ends(state: JobState) -> None:
    assert state.ended == (state not in (JobState.QUEUED, JobState.RUNNING))
