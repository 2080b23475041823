"""The steward's path: a file becomes a table, a worksheet, a policy and a job; faults stand where they belong."""

import re
import time
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tableveil.client import Client
from tableveil.v1 import policy_pb2, proposal_service_pb2
from tests.service.access.house import House
from tests.service.console.conftest import Browser, csrf, etag

HOSTILE = "<script>alert('x')</script>.csv"


@pytest.fixture
def steward(browser: Browser) -> TestClient:
    return browser("ann")


def uploaded(steward: TestClient, content: bytes, table: str, name: str = "rows.csv", mode: str = "create") -> str:
    form = {"csrf": csrf(steward.get("/tables/upload").text), "table": table, "mode": mode}
    answer = steward.post("/tables/upload", data=form, files={"file": (name, content)})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def loaded(steward: TestClient, place: str, **form: object) -> str:
    """The page once the load has ended."""
    steward.post(place, data={"csrf": csrf(steward.get(place).text), "action": "load", **form})
    deadline = time.monotonic() + 60
    while "rows sent" in (page := steward.get(place).text):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return page


def begun(steward: TestClient, table: str = "patients") -> str:
    form = {"csrf": csrf(steward.get("/tables/upload").text), "schema": "ward_a", "table": table}
    answer = steward.post("/worksheets", data=form)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_a_file_becomes_a_table(steward: TestClient, house: House) -> None:
    rows = "name;sum\n" + "".join(f"Müller {i};{i},5\n" for i in range(50))
    place = uploaded(steward, rows.encode("latin-1"), "ward_a.uploaded", HOSTILE)
    page = steward.get(place).text
    assert "Müller 0" in page
    assert "<script>alert" not in page
    assert re.search(r'name="delimiter"[^>]*value=";"', page)
    form = {"delimiter": ";", "encoding_name": "latin-1", "header": "yes", "decimal_comma": "yes", "null_texts": "n/a"}
    page = loaded(steward, place, **form)
    assert "50 rows loaded" in page
    (table,) = [one for one in house.clients["ann"].list_tables("ward_a") if one.table.table == "uploaded"]
    assert [column.name for column in table.columns] == ["name", "sum"]
    assert table.columns[1].type != "VARCHAR", "the decimal comma was read"
    assert "commonest values" in steward.get("/tables/one?schema=ward_a&table=uploaded").text


def test_a_preview_shows_what_will_be_stored(steward: TestClient) -> None:
    place = uploaded(steward, b"born;sum\n01-JAN-68;1,5\n;n/a\n", "ward_a.births")
    page = steward.get(place).text
    for shown in (
        "1968-01-01 (in the file: 01-JAN-68)",
        "born DATE",
        "1.5 (in the file: 1,5)",
        "NULL (in the file: n/a)",
    ):
        assert shown in page
    assert re.search(r"born=20\d\d\n</textarea>", page)
    form = {"delimiter": ";", "header": "yes", "decimal_comma": "yes", "null_texts": "n/a", "date_format": "%d-%b-%y"}
    assert "CSV_CENTURY" in loaded(steward, place, **form) or "century_pivots" in steward.get(place).text
    assert "2 rows loaded" in loaded(steward, place, **form, century_pivots="born=2000\n")


def test_a_preview_shows_the_types_of_the_table_that_gets_the_rows(steward: TestClient, house: House) -> None:
    moods = pa.array(["sad"]).dictionary_encode()
    there = pa.table({"Sum": [Decimal("1.000")], "id": ["x"], "day": [date(2020, 1, 1)], "mood": moods})
    house.clients["ann"].load(there, "ward_a.sums")
    content = b"id,sum,day,mood\n1,2.5,2021-03-04,glad\n2,3,2022-05-06,sad\n"
    page = steward.get(uploaded(steward, content, "ward_a.sums", mode="append")).text
    for shown in ("id VARCHAR", "sum DECIMAL(4,3)", "2.500 (in the file: 2.5)", "day DATE", ">2021-03-04<", ">glad<"):
        assert shown in page
    page = steward.get(
        uploaded(steward, b"id,sum,day,mood\n1,99999,2021-03-04,glad\n", "ward_a.sums", mode="append")
    ).text
    assert ">99999<" in page, "what does not fit is shown as it is, until it is refused"


def test_a_file_is_guessed_once(steward: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [uploaded(steward, content, "ward_a.once") for content in (b"a,b\n1,2\n", b"a,a\n1,2\n")]
    first = [steward.get(place).text for place in places]
    assert "2 times" in first[1]
    monkeypatch.setattr(Client, "guess_csv_format", None)
    again = [steward.get(place).text for place in places]
    assert ["2 times" in page for page in again] == [False, True]
    assert "how it is written" in again[0].lower()


def test_a_file_that_does_not_fit_says_why_and_can_be_corrected(steward: TestClient) -> None:
    place = uploaded(steward, b"age,ward\n1,2\n", "ward_a.patients")
    page = loaded(steward, place, delimiter=",", header="yes")
    assert 'role="alert"' in page
    assert "patients" in page
    assert "The first rows" in page, "it can be corrected"
    form = {"csrf": csrf(page), "action": "discard"}
    assert steward.post(place, data=form).headers["location"] == "/tables"
    assert steward.get(place).status_code == 404


@pytest.mark.parametrize(("form", "field"), [({"table": ""}, "table"), ({"mode": "erase"}, "mode")])
def test_an_upload_names_its_field(steward: TestClient, form: dict[str, str], field: str) -> None:
    sent = {"csrf": csrf(steward.get("/tables/upload").text), "table": "ward_a.new", "mode": "create", **form}
    answer = steward.post("/tables/upload", data=sent, files={"file": ("rows.csv", b"a\n1\n")})
    assert answer.status_code == 400
    assert f"<strong>{field}</strong>" in answer.text
    assert steward.post("/tables/upload", data=sent | {"table": "x", "mode": "create"}).status_code == 400


def test_files_of_others_are_not_there(browser: Browser) -> None:
    place = uploaded(browser("ann"), b"a\n1\n", "ward_a.other")
    assert browser("bob").get(place).status_code == 404


def test_roles_and_wishes_are_kept(steward: TestClient, house: House) -> None:
    place = begun(steward)
    page = steward.get(place).text
    names = re.findall(r'aria-label="Role of (\w+)"', page)
    assert names == ["age", "ward", "illness", "code"]
    form = {"csrf": csrf(page), "etag": etag(page), "readers": "1", "recurs": "yes", "person": "rows", "keep": "age"}
    form |= {"role-0": str(policy_pb2.ROLE_QUASI_IDENTIFIER), "role-3": str(policy_pb2.ROLE_IDENTIFYING)}
    assert steward.post(place, data=form | {"action": "save"}).headers["location"] == place
    kept = house.clients["ann"].get_worksheet(place.removeprefix("/"))
    assert kept.request.rows_are_people
    assert kept.request.recurs
    assert [one.column for one in kept.request.keep] == ["age"]
    assert [*kept.request.leave_out] == ["code"]
    assert kept.policy.attributes[3].role == policy_pb2.ROLE_IDENTIFYING
    again = steward.post(place, data=form | {"action": "save"})
    assert again.status_code == 409
    assert "worksheet.etag" in again.text, "another tab has written in the meantime"


def test_labels_are_shown_by_their_hierarchy(steward: TestClient) -> None:
    place = begun(steward)
    assert "level 0" in steward.get(f"{place}/labels?column=age").text
    assert 'role="alert"' in steward.get(f"{place}/labels?column=nothing").text


def test_a_policy_is_written_checked_and_refused_by_field(steward: TestClient, house: House) -> None:
    place = begun(steward)
    page = steward.get(f"{place}/policy").text
    assert "CREATE ANONYMIZED TABLE" in page
    sent = {"csrf": csrf(page), "etag": etag(page), "action": "check"}
    wrong = steward.post(f"{place}/policy", data=sent | {"policy": "privacy_modls: []\n"})
    assert wrong.status_code == 400
    assert "privacy_modls" in wrong.text
    assert "privacy_modls: []" in wrong.text, "what was written is still there"
    text = "\n".join(
        (
            "attributes:",
            "  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}",
            "  - {column: ward, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}",
            "  - {column: ilness, role: SENSITIVE}",
            "default_role: IDENTIFYING",
            "rows_are_people: true",
            "privacy_models: [{k_anonymity: {k: 3}}]",
            "release: {schema: ward_a, name: consoled}",
        )
    )
    page = steward.post(f"{place}/policy", data=sent | {"policy": text}).text
    assert "attributes[2].column" in page
    assert "illness" in page, "the hint names the column that was meant"
    sent["etag"] = etag(page)
    page = steward.post(f"{place}/policy", data=sent | {"policy": text.replace("ilness", "illness")}).text
    assert "A job with this policy can start" in page
    assert house.clients["ann"].get_worksheet(place.removeprefix("/")).policy.release.name == "consoled"


def test_the_release_is_rehearsed_and_made(steward: TestClient, house: House) -> None:
    place = begun(steward)
    page = steward.get(f"{place}/policy").text
    text = "\n".join(
        (
            "attributes:",
            "  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}",
            "  - {column: ward, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}",
            "default_role: IDENTIFYING",
            "rows_are_people: true",
            'suppression_limit: "0.5"',
            "privacy_models: [{k_anonymity: {k: 3}}]",
            "release: {schema: ward_a, name: consoled}",
        )
    )
    sent = {"csrf": csrf(page), "etag": etag(page), "action": "save", "policy": text}
    assert steward.post(f"{place}/policy", data=sent).status_code == 303
    job = steward.post(f"{place}/rehearse", data={"csrf": sent["csrf"]}).headers["location"]
    events = steward.get(f"{job.partition('?')[0]}/events").text
    assert "event: end" in events
    assert "succeeded" in events
    rehearsed = re.findall(r'href="(/dry-runs/\d+[^"]*)"', steward.get(job).text)[0]
    assert "Quasi-identifiers" in steward.get(rehearsed).text
    form = {"csrf": sent["csrf"], "etag": etag(steward.get(f"{place}/release").text), "target": "ward_a.consoled"}
    job = steward.post(f"{place}/submit", data=form | {"action": "trial"}).headers["location"]
    steward.get(f"{job.partition('?')[0]}/events")
    released = re.findall(r'href="(/releases/\d+)"', steward.get(job).text)[0]
    assert "Only you see this trial" in steward.get(released).text
    assert steward.post(f"{released}/promote", data={"csrf": sent["csrf"]}).headers["location"] == released
    page = steward.get(released).text
    assert "public, made" in page
    assert "ward_a.consoled_about" in page
    report = steward.get(f"{released}/report")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "ward_a.consoled" in report.text
    assert "ward_a.consoled" in steward.get("/releases?schema=ward_a").text
    withdrawn = steward.post(f"{released}/withdraw", data={"csrf": sent["csrf"], "note": "a test"})
    assert withdrawn.headers["location"] == released
    assert "withdrawn" in steward.get(released).text


def test_a_worksheet_is_deleted(steward: TestClient) -> None:
    place = begun(steward)
    page = steward.get(place).text
    form = {"csrf": csrf(page), "etag": etag(page)}
    assert steward.post(f"{place}/delete", data=form).headers["location"] == "/worksheets"
    assert steward.get(place).status_code == 404
    assert place.removeprefix("/") not in steward.get("/worksheets").text


def test_a_release_tells_what_another_level_would_cost(browser: Browser) -> None:
    """To those alone who see its evidence."""
    page = browser("bob").get("/releases/1").text
    assert "A level less or more" in page
    assert "one level coarser" in page
    assert "What it costs" not in browser("rel").get("/releases/1").text


def test_policies_that_were_tried_are_looked_at_without_a_change_and_kept_once_one_is_chosen(
    steward: TestClient, house: House
) -> None:
    ann, place = house.clients["ann"], begun(steward)
    sheet = ann.get_worksheet(place.removeprefix("/"))
    asked = proposal_service_pb2.ProposalRequest(table=sheet.table, time_limit_seconds="20", rows_are_people=True)
    job = ann.submit_analysis(proposal_service_pb2.SubmitProposalRequest(proposal=asked))
    *_, ended = ann.watch_job(job.name)
    sheet.job = job.name
    sheet = ann.update_worksheet(sheet)
    page = steward.get(f"{place}/compare").text
    assert f'name="proposal" value="{ended.result}"' in page
    assert ann.get_worksheet(sheet.name) == sheet, "a page that is read writes nothing"
    form = {"csrf": csrf(page), "etag": etag(page), "proposal": ended.result, "alternative": "0"}
    assert steward.post(f"{place}/choose", data=form).status_code == 303
    assert ann.get_worksheet(sheet.name).proposal == ended.result
