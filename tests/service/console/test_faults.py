"""Faults stand beside the inputs that they are about, and warnings by their ranks; texts of a table are only texts."""

import re

import pytest
from starlette.testclient import TestClient

from tableveil.console.faults import placed
from tableveil.console.render import rendered
from tableveil.errors import ConflictError, Fault, InvalidError
from tableveil.v1 import dry_run_service_pb2, faults_pb2
from tests.service.access.house import House
from tests.service.console.conftest import Browser, csrf, etag
from tests.service.console.test_steward import loaded, uploaded

IMAGE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def steward(browser: Browser) -> TestClient:
    return browser("ann")


def test_faults_go_to_the_first_input_whose_fields_have_them() -> None:
    faults = [Fault("policy.release.name", "a", "b"), Fault("keep[1].column", "c", "d"), Fault("source", "e", "f")]
    by_input = placed(ConflictError.about("X", "no", faults), {"target": r"release\..*", "keep": r"keep\[1\].*"})
    assert by_input == {"target": faults[:1], "keep": faults[1:2], "": faults[2:]}
    assert placed(InvalidError("X", "why"), {"target": ".*"})["target"][0].found == "why"
    assert placed(None, {}) == {}


def test_a_missing_table_is_asked_for_beside_its_input(steward: TestClient) -> None:
    form = {"csrf": csrf(steward.get("/tables/upload").text), "table": " ", "mode": "append"}
    answer = steward.post("/tables/upload", data=form, files={"file": ("rows.csv", b"a\n1\n")})
    assert answer.status_code == 400
    assert re.search(r'name="table"[^>]*aria-invalid="true" aria-describedby="fault-table"', answer.text)
    assert re.search(r'<span class="fault" id="fault-table"><strong>table</strong>: found nothing', answer.text)
    assert '<option value="append" selected>' in answer.text, "what was chosen is still there"


def test_a_taken_target_and_a_missing_reason_are_said_at_their_inputs(browser: Browser, house: House) -> None:
    """On the page of the form: nobody has to find the way back."""
    bob = browser("bob")
    policy = house.clients["bob"].get_release("releases/1").policy
    sent = {"csrf": csrf(bob.get("/tables/upload").text), "schema": "ward_b", "table": "patients"}
    place = bob.post("/worksheets", data=sent).headers["location"]
    kept = house.clients["bob"].get_worksheet(place.removeprefix("/"))
    kept.policy.CopyFrom(policy)
    kept.policy.repeat_reason = ""
    house.clients["bob"].update_worksheet(kept)
    form = {"csrf": sent["csrf"], "etag": etag(bob.get(f"{place}/release").text), "action": "release"}
    answer = bob.post(f"{place}/submit", data=form | {"target": "ward_b.released"})
    assert answer.status_code == 409
    assert re.search(r'name="target"[^>]*aria-describedby="fault-target"', answer.text)
    assert 'id="fault-target"' in answer.text
    assert 'id="fault-repeat_reason"' in answer.text, "both refusals are in one answer"
    assert "<details open>" in answer.text, "the reason's input can be seen"


def test_warnings_come_by_rank_and_five_at_once() -> None:
    note, must = faults_pb2.WARNING_RANK_NOTE, faults_pb2.WARNING_RANK_MUST_BE_DECIDED
    made = dry_run_service_pb2.DryRun(name="dryRuns/1")
    made.release.warnings.extend([f"warning {i} {IMAGE}" for i in range(7)])
    made.release.warning_ranks.extend([must, *[note] * 6])
    page = _page_of(made)
    first, _, more = page.partition("<details>")
    assert "<strong>must be decided</strong>: warning 0" in first
    assert "warning 4" in first
    assert "2 more, none more severe" in more
    assert "<img" not in page


def test_a_dry_run_says_how_many_could_be_found() -> None:
    made = dry_run_service_pb2.DryRun(name="dryRuns/1")
    assert "could be found" not in _page_of(made)
    made.release.exposures.add(columns=["charge"], found=1_234, few=2_345, total=96_388, least=5)
    page = _page_of(made)
    assert "How many could be found" in page
    assert all(told in page for told in ("by labels and charge", "1,234", "2,345", "of 96,388 rows"))


def _page_of(made: dry_run_service_pb2.DryRun) -> str:
    return bytes(rendered("dry_run.html", dry_run=made, release=made.release, worksheet="").body).decode()


def test_texts_of_a_table_are_no_markup(steward: TestClient, house: House) -> None:
    """Names of columns, values and labels, on every page that shows them."""
    rows = f'id,"{IMAGE}",sex\n' + "".join(f"{i},{IMAGE} {i % 3},{'mf'[i % 2]}\n" for i in range(40))
    place = uploaded(steward, rows.encode(), "ward_a.hostile")
    pages = [steward.get(place).text, loaded(steward, place, delimiter=",", encoding_name="utf-8", header="yes")]
    pages.append(steward.get("/tables/one?schema=ward_a&table=hostile").text)
    form = {"csrf": csrf(pages[0]), "schema": "ward_a", "table": "hostile"}
    sheet = steward.post("/worksheets", data=form).headers["location"]
    pages += [steward.get(f"{sheet}{page}").text for page in ("", "/policy", "/release", "/compare")]
    kept = house.clients["ann"].get_worksheet(sheet.removeprefix("/"))
    pages += [steward.get(f"{sheet}/labels", params={"column": one.column}).text for one in kept.policy.attributes]
    assert sum("&lt;img" in page for page in pages) >= 4
    assert not any("<img" in page for page in pages)


def test_the_questions_of_a_release_are_statements_for_its_columns(browser: Browser) -> None:
    bob = browser("bob")
    page = bob.get("/releases/1/questions").text
    assert "FROM &#34;ward_b&#34;.&#34;released_about&#34;" in page
    assert "Back to the release" in page
    part = bob.get("/releases/1/questions", headers={"hx-request": "true"}).text
    assert "<html" not in part
    assert "count(*)" in part
    assert 'hx-get="/releases/1/questions"' in bob.get("/releases/1").text
