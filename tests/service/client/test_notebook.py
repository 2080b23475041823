"""Notebooks show messages as tables with nothing unescaped, and a wait shows the progress of its job."""

import sys
from types import SimpleNamespace

import pytest
from google.protobuf.duration_pb2 import Duration

from tableveil.client import Client
from tableveil.client.notebook import MOST_ITEMS, show_in_notebook, table_of
from tableveil.v1 import access_service_pb2, job_service_pb2, release_service_pb2, report_service_pb2, table_service_pb2
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

HOSTILE = "<script>alert('&')</script>"


def test_a_table_shows_what_is_set_and_escapes_it() -> None:
    release = samples.release("releases/3")
    release.withdraw_reason = HOSTILE
    shown = table_of(release)
    assert shown is not None
    assert "releases/3" in shown
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_every_kind_of_field_is_shown() -> None:
    job = job_service_pb2.Job(name="jobs/1", state=job_service_pb2.JOB_STATE_RUNNING)
    job.source.table = HOSTILE
    job.submit_time.FromJsonString("2026-11-28T10:00:00Z")
    shown = table_of(job)
    assert shown is not None
    assert all(text in shown for text in ("RUNNING", "2026-11-28T10:00:00Z", "&lt;script&gt;"))
    assert "<script" not in shown


def test_long_lists_are_counted_and_documents_are_not_shown() -> None:
    release = release_service_pb2.Release(warnings=[f"warning {n}" for n in range(MOST_ITEMS + 3)])
    shown = table_of(release)
    assert shown is not None
    assert "and 3 more" in shown
    assert f"warning {MOST_ITEMS}<" not in shown
    report = report_service_pb2.Report()
    [content] = [field for field in report.DESCRIPTOR.fields if field.type == field.TYPE_BYTES]
    setattr(report, content.name, b"<script>")
    assert "8 bytes" in (table_of(report) or "")


def test_a_secret_is_not_shown() -> None:
    assert "tvl_" not in (table_of(access_service_pb2.Token(secret="tvl_secret")) or "")


def test_other_messages_and_empty_ones() -> None:
    assert table_of(Duration(seconds=1)) is None
    assert table_of(table_service_pb2.TableInfo()) == "<table></table>"


def test_ipython_is_told_once_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[object, object] = {}
    html = SimpleNamespace(for_type=told.__setitem__)
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": html}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    show_in_notebook()
    assert list(told.values()) == [table_of]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    show_in_notebook()


def test_waiting_shows_progress(client: Client, service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED)
    client.wait(1, publication=False)
    assert capsys.readouterr().out == ""
    client.wait(1, publication=False, progress=True)
    assert "jobs/1" in capsys.readouterr().out
