"""The rights of jobs come back as they were, and go with the job."""

import pytest

from tableveil.backend import ALL, Ledger, Scopes
from tableveil.policy import TableReference
from tableveil.state import jobs, removal, rights
from tableveil.state.jobs import JobKind

SOME = Scopes(
    schemas=frozenset({"lab", "o'brien; --"}),
    tables=frozenset({("hospital", "patients"), ("ключ", '"')}),
    releases=frozenset({3, 2**40}),
)


@pytest.mark.parametrize("given", [Scopes(), ALL, SOME])
def test_they_come_back(ledger: Ledger, given: Scopes) -> None:
    rights.insert(ledger, 7, given)
    assert rights.of_job(ledger, 7) == given
    rights.forget(ledger, 7)


def test_a_job_without_rights_sees_nothing(ledger: Ledger) -> None:
    assert rights.of_job(ledger, 8) == Scopes()


def test_they_are_stored_with_the_request_and_deleted_with_the_job(ledger: Ledger) -> None:
    number = jobs.next_number(ledger)
    source = TableReference("", "main", "t")
    request = jobs.Request(number, "", "{}", "", source, "", "", jobs.now(), JobKind.FRONTIER)
    assert jobs.insert_request(ledger, request) == ALL
    assert rights.of_job(ledger, number) == ALL
    removal.delete_job(ledger, number, JobKind.FRONTIER)
    assert rights.of_job(ledger, number) == Scopes()
