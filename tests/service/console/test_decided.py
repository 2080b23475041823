"""Decisions of a worksheet stay decided: in trials, in what is chosen of them, and in the release."""

import html
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tableveil.pipelines import proposal_forecast
from tableveil.pipelines.forecast import Coarser, Months
from tableveil.state.proposals import ColumnLeft, ForecastWay
from tableveil.v1 import policy_pb2, proposal_service_pb2
from tableveil.v1.policy_pb2 import Policy
from tableveil.v1.worksheet_service_pb2 import Worksheet
from tests.once import once
from tests.service.access.house import House
from tests.service.console.conftest import Browser, csrf, etag
from tests.service.console.test_steward import begun, loaded, uploaded

HIDDEN, GENERALIZED, SENSITIVE, HARMLESS = (
    policy_pb2.ROLE_IDENTIFYING,
    policy_pb2.ROLE_QUASI_IDENTIFIER,
    policy_pb2.ROLE_SENSITIVE,
    policy_pb2.ROLE_INSENSITIVE,
)
COLUMNS = ("age", "ward", "illness", "code")
AS_DRAFTED = (GENERALIZED, GENERALIZED, SENSITIVE, HIDDEN)


@pytest.fixture
def steward(browser: Browser) -> TestClient:
    return browser("ann")


def kept(house: House, place: str) -> Worksheet:
    return house.clients["ann"].get_worksheet(place.removeprefix("/"))


def post(steward: TestClient, place: str, page: str = "", **form: Any) -> str:
    """The address that the form of a worksheet's page leads to, or the page that it shows again."""
    shown = steward.get(place).text
    answer = steward.post(f"{place}{page}", data={"csrf": csrf(shown), "etag": etag(shown), **form})
    return str(answer.headers.get("location", answer.text))


def decided(steward: TestClient, place: str, roles: tuple[int, ...] = AS_DRAFTED, **form: Any) -> str:
    chosen = {f"role-{position}": str(role) for position, role in enumerate(roles)}
    return post(steward, place, **{"person": "rows", "readers": "2", "action": "save", **chosen, **form})


def tried(steward: TestClient, place: str, **form: Any) -> str:
    """The page of the policies that were tried."""
    job = decided(steward, place, **{"action": "propose", **form})
    assert job.startswith("/jobs/"), job
    assert "event: end" in steward.get(f"{job.partition('?')[0]}/events").text
    return html.unescape(steward.get(f"{place}/compare").text)


def cards(page: str) -> list[str]:
    return re.findall(r'<section class="card".*?</section>', page, re.DOTALL)


def roles_of(policy: Policy) -> tuple[int, ...]:
    by_column = {one.column: one.role for one in policy.attributes}
    return tuple(by_column[name] for name in COLUMNS)


def test_nobody_is_a_person_before_the_steward_has_said_who(steward: TestClient, house: House) -> None:
    place = begun(steward)
    sheet, page = kept(house, place), steward.get(place).text
    assert sheet.policy.WhichOneof("person") is None
    assert (sheet.request.rows_are_people, sheet.request.person_column) == (False, "")
    assert not re.search(r'type="radio"[^>]*checked', page), "nothing is answered by the page"
    jobs = [job.name for job in house.clients["ann"].list_jobs()]
    asked = post(steward, place, readers="2", action="propose")
    assert 'id="fault-person"' in asked
    assert "k counts people" in asked
    for page_of, action in (("/rehearse", ""), ("/submit", "trial"), ("/submit", "release")):
        assert "k counts people" in post(steward, place, page_of, action=action, target="ward_a.early")
    release = steward.get(f"{place}/release").text
    assert "Nobody has said who is a person" in release
    assert "<button" not in release.partition("<main")[2].replace("<button disabled hidden>", "")
    text = re.findall(r"<textarea[^>]*>(.*?)</textarea>", steward.get(f"{place}/policy").text, re.DOTALL)[0]
    checked = post(steward, place, "/policy", policy=html.unescape(text), action="check")
    assert "can start" not in checked
    assert "person_column" in checked
    assert [job.name for job in house.clients["ann"].list_jobs()] == jobs


def test_what_others_tried_by_a_guess_is_neither_recommended_nor_chosen(steward: TestClient, house: House) -> None:
    ann, place = house.clients["ann"], begun(steward)
    asked = proposal_service_pb2.ProposalRequest(table=kept(house, place).table, time_limit_seconds="20")
    job = ann.submit_analysis(proposal_service_pb2.SubmitProposalRequest(proposal=asked))
    *_, ended = ann.watch_job(job.name)
    result = ann.get_result(proposal_service_pb2.Proposal, ended.result)
    assert not any(one.recommended for one in result.alternatives)
    assert {one.policy.documentation.context for one in result.alternatives} == {0}, "nobody said that they signed"
    sheet = kept(house, place)
    sheet.job = job.name
    sheet = ann.update_worksheet(sheet)
    page = steward.get(f"{place}/compare").text
    assert "Nobody has said who is a person" in page
    assert "(recommended)" not in page
    assert 'name="alternative"' not in page
    form = {"csrf": csrf(page), "etag": sheet.etag, "proposal": ended.result, "alternative": "0"}
    assert steward.post(f"{place}/choose", data=form).status_code == 400
    assert kept(house, place) == sheet


def test_a_role_that_is_chosen_drafts_the_hierarchy_that_a_proposal_would(steward: TestClient, house: House) -> None:
    ann = house.clients["ann"]
    rows = "age,sex,income,seen\n" + "".join(
        f"{20 + i % 3},{'fm'[i % 2]},{1000 + 50 * (i % 40)},2024-01-{i % 20 + 1:02}\n" for i in range(200)
    )
    loaded(steward, uploaded(steward, rows.encode(), "ward_a.earners"), header="yes")
    place = begun(steward, "earners")
    roles = {one.column: one.role for one in kept(house, place).policy.attributes}
    assert roles["income"] == SENSITIVE
    assert decided(steward, place, roles=(HIDDEN, HIDDEN, SENSITIVE, SENSITIVE)) == place
    assert decided(steward, place, roles=(GENERALIZED,) * 4) == place
    sheet = kept(house, place)
    asked = proposal_service_pb2.ProposalRequest(
        table=sheet.table,
        rows_are_people=True,
        correct=[proposal_service_pb2.CorrectedColumn(column=name, role=GENERALIZED) for name in roles],
        time_limit_seconds="20",
    )
    *_, ended = ann.watch_job(ann.submit_analysis(proposal_service_pb2.SubmitProposalRequest(proposal=asked)).name)
    [proposed, *_] = ann.get_result(proposal_service_pb2.Proposal, ended.result).alternatives
    by_line = {one.column: one.hierarchy for one in proposed.policy.attributes}
    assert by_line["income"].WhichOneof("kind") == "intervals"
    assert {one.column: one.hierarchy for one in sheet.policy.attributes} == by_line


@pytest.mark.parametrize(
    ("roles", "k"),
    once(
        [
            ((GENERALIZED, GENERALIZED, GENERALIZED, HIDDEN), 4),
            ((GENERALIZED, HIDDEN, SENSITIVE, HIDDEN), 7),
            ((GENERALIZED, GENERALIZED, HARMLESS, HIDDEN), 3),
            ((SENSITIVE, GENERALIZED, HARMLESS, HIDDEN), 2),
        ],
        2,
        several=True,
    ),
)
def test_what_is_chosen_changes_what_its_card_says_alone(
    steward: TestClient, house: House, roles: tuple[int, ...], k: int
) -> None:
    place = begun(steward)
    texts = {"purpose": 'A study of "wards"', "recipient": "The <b>institute</b>", "legal_basis": "§ 27 BDSG"}
    page = tried(steward, place, roles=roles, k=str(k), **texts)
    before = kept(house, place)
    result = house.clients["ann"].get_result(
        proposal_service_pb2.Proposal, re.findall(r'name="proposal" value="([^"]+)"', page)[0]
    )
    assert "Tried before a change" not in page
    assert len(result.alternatives) == 2 * len({k, *(size for size in (5, 10) if size > k)})
    for one in result.alternatives:
        assert roles_of(one.policy) == roles
        assert one.k >= k
        assert one.policy.rows_are_people
    number, *_ = re.findall(r'name="alternative" value="(\d+)"', page)
    card = next(one for one in cards(page) if f'id="alternative-{number}"' in one)
    assert post(steward, place, "/choose", proposal=result.name, alternative=number) == f"{place}/release"
    after = kept(house, place)
    assert roles_of(after.policy) == roles
    assert after.request == before.request
    # Once everything that the card says is taken back, nothing is left.
    said = re.findall(r"<li>(.*?)</li>", card.partition("Choosing it changes")[2].partition("<details>")[0], re.DOTALL)
    undone = Policy()
    undone.CopyFrom(after.policy)
    for sentence in said:
        name = sentence.partition(":")[0]
        if name == "method":
            undone.ClearField("local_recoding")
            if before.policy.HasField("local_recoding"):
                undone.local_recoding.SetInParent()
        elif name == "k-anonymity":
            undone.privacy_models[0].CopyFrom(before.policy.privacy_models[0])
        elif name.startswith("levels of "):
            (column,) = [one for one in undone.attributes if one.column == name.removeprefix("levels of ")]
            assert "may be erased" in sentence
            (earlier,) = [one for one in before.policy.attributes if one.column == column.column]
            column.CopyFrom(earlier)
        else:
            assert name.endswith(" of illness") or name.endswith(" of age"), sentence
            assert "(new)" in sentence
            del undone.privacy_models[-1]
    assert undone == before.policy
    again = html.unescape(steward.get(f"{place}/compare").text)
    assert "Tried before a change" not in again, "a choice is no change"
    assert "It is the policy of this worksheet." in again


def test_policies_that_were_tried_before_a_change_are_marked(steward: TestClient, house: House) -> None:
    place = begun(steward)
    tried(steward, place, k="4")
    decided(steward, place, (GENERALIZED, GENERALIZED, GENERALIZED, HIDDEN), k="6", readers="1")
    page = html.unescape(steward.get(f"{place}/compare").text)
    marked = page.partition("Tried before a change")[2].partition("</section>")[0]
    for name in ("role of illness", "k-anonymity", "readers"):
        assert f"<li>{name}: " in marked
    assert "of age" not in marked
    said = cards(page)[0]
    assert "role of illness: sensitive: protected by a model (was: recognizes people: generalized)" in said
    # Somebody who chooses it nevertheless has read what it changes.
    number = re.findall(r'name="alternative" value="(\d+)"', said)[0]
    proposal = re.findall(r'name="proposal" value="([^"]+)"', page)[0]
    post(steward, place, "/choose", proposal=proposal, alternative=number)
    assert roles_of(kept(house, place).policy) == AS_DRAFTED


def test_the_page_before_a_release_says_what_would_be_released(steward: TestClient, house: House) -> None:
    place = begun(steward)
    decided(steward, place, k="3", readers="", recipient="The institute")
    page = html.unescape(steward.get(f"{place}/release").text)
    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]*)</dd>", page.partition("<details>")[0]))
    assert facts == {
        "method": "local recoding",
        "k": "3",
        "people": "every row is a different one",
        "readers": "not stated",
        "columns as they are": "illness",
        "purpose": "not stated",
        "recipient": "The institute",
        "legal basis": "not stated",
    }
    opened = page.partition("To be decided")[2].partition("</section>")[0]
    assert "Nobody has stated in documentation: purpose, legal basis, highest risk that is accepted." in opened
    form = re.findall(r'<form method="post" action="[^"]+/submit">.*?</form>', page, re.DOTALL)[0]
    assert re.findall(r"<button[^>]*>", form)[0] == "<button disabled hidden>", "Enter in the target releases nothing"


def test_the_report_has_the_texts_that_the_console_asked_for(steward: TestClient, house: House) -> None:
    place = begun(steward)
    texts: dict[str, Any] = {"purpose": "A study", "recipient": "The institute", "legal_basis": "§ 27 BDSG"}
    decided(steward, place, k="3", **texts)
    policy = kept(house, place).policy
    assert {field: getattr(policy.documentation, field) for field in texts} == texts
    assert policy.documentation.context == policy_pb2.RELEASE_CONTEXT_CONTRACT
    decided(steward, place, readers="3")
    changed = kept(house, place).policy.documentation
    assert (changed.context, changed.risk_threshold) == (0, "0.3334"), "nobody has signed who is one of us"
    assert changed.purpose == "A study"


def test_a_role_that_comes_back_has_its_labels_again(steward: TestClient, house: House) -> None:
    place = begun(steward)
    before = kept(house, place).policy
    assert before.attributes[0].hierarchy.WhichOneof("kind") == "intervals"
    decided(steward, place, (SENSITIVE, GENERALIZED, SENSITIVE, HIDDEN))
    assert not kept(house, place).policy.attributes[0].HasField("hierarchy")
    decided(steward, place)
    assert kept(house, place).policy.attributes[0] == before.attributes[0]


def test_a_column_that_becomes_sensitive_has_its_elements_and_can_be_acknowledged(
    steward: TestClient, house: House
) -> None:
    rows = "age,sex,tags\n" + "".join(
        f"{20 + i % 3},{'fm'[i % 2]},{'ab'[i % 2]}|{'cd'[i % 3 % 2]}\n" for i in range(60)
    )
    loaded(steward, uploaded(steward, rows.encode(), "ward_a.tagged"), header="yes")
    place = begun(steward, "tagged")
    assert decided(steward, place, (GENERALIZED, GENERALIZED, HIDDEN)) == place
    assert decided(steward, place, (GENERALIZED, GENERALIZED, SENSITIVE), acknowledged=["tags"]) == place
    tagged = kept(house, place).policy.attributes[2]
    assert (tagged.elements.delimiter, tagged.acknowledged) == ("|", True)
    assert re.search(r'name="acknowledged" value="tags"[^>]* checked', steward.get(place).text)
    decided(steward, place, (GENERALIZED, GENERALIZED, SENSITIVE))
    assert not kept(house, place).policy.attributes[2].acknowledged


@pytest.mark.parametrize(
    ("form", "fault"), [({"k": "0"}, "k"), ({"k": "many"}, "k"), ({"person": "column", "person_column": ""}, "person")]
)
def test_a_bad_decision_is_refused_beside_its_input(
    steward: TestClient, house: House, form: dict[str, Any], fault: str
) -> None:
    place = begun(steward)
    before = kept(house, place)
    assert f'id="fault-{fault}"' in decided(steward, place, **form)
    assert kept(house, place) == before


def test_a_person_column_is_not_released(steward: TestClient, house: House) -> None:
    place = begun(steward)
    decided(steward, place, (GENERALIZED, GENERALIZED, SENSITIVE, HARMLESS), person="column", person_column="code")
    sheet = kept(house, place)
    assert (sheet.policy.person_column, sheet.request.person_column) == ("code", "code")
    assert roles_of(sheet.policy)[3] == HIDDEN
    text = re.findall(r"<textarea[^>]*>(.*?)</textarea>", steward.get(f"{place}/policy").text, re.DOTALL)[0]
    written = html.unescape(text).replace("person_column: code", "rows_are_people: true")
    post(steward, place, "/policy", policy=written, action="save")
    sheet = kept(house, place)
    assert sheet.request.rows_are_people
    assert sheet.request.person_column == ""


def test_how_long_releases_last_is_asked_for_told_and_chosen(
    steward: TestClient, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played(_job: object, months: Months, _policy: object, k: int, coarser: Coarser, _seconds: float) -> Any:
        assert (months.history.number, months.people) == (3, 40)
        left = (ColumnLeft("age", 4, 0.25, erased=False, loss=0.5),)
        way = ForecastWay("every month", 1, 2, 1, 3, refused=True, columns=left, policy="")
        made = replace(way, way="coarser", fewest_releases=5, refused=False, policy=coarser([("age", 1)])[1])
        return way, made

    monkeypatch.setattr(proposal_forecast, "forecast", played)
    persons = [n for _ in range(3) for n in range(40)]
    rows = {"person": persons, "age": [20 + n % 8 for n in persons], "month": [n // 40 for n in range(120)]}
    house.clients["ann"].load(pa.table(rows), "ward_a.visits")
    place = begun(steward, "visits")
    months = {"person": "column", "person_column": "person", "readers": "3", "period_column": "month"}
    refused = decided(steward, place, (HIDDEN, GENERALIZED, HARMLESS), action="propose", **months)
    assert 'id="fault-period_column"' in refused, "nobody said that releases follow"
    shares = {"coming_share": "0.1", "leaving_share": "1.5", "period_column": ""}
    refused = decided(
        steward, place, (HIDDEN, GENERALIZED, HARMLESS), action="propose", recurs="yes", **months | shares
    )
    assert re.findall(r'id="fault-(\w+)"', refused) == ["leaving_share"]

    page = tried(steward, place, roles=(HIDDEN, GENERALIZED, HARMLESS), recurs="yes", keep="month", **months)
    asked = kept(house, place).request
    asked = kept(house, place).request
    assert (asked.period_column, asked.coming_share, [*asked.keep]) == ("month", "", [])
    assert "How long releases of the same people last" in page
    assert "From 3 months of 'month'" in page
    rows_shown = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in page.replace("\xa0", " ").split("<tr")]
    assert ["every month", "1 to 2", "1 to 2", "age 4, 25 %"] in rows_shown
    assert ["coarser", "at least 5", "at least 5", "age 4, 25 %"] in rows_shown
    card = next(one for one in cards(page) if ">coarser<" in one)
    assert "minimum level of age" in card
    number = re.findall(r'name="alternative" value="(\d+)"', card)[0]
    proposal = re.findall(r'name="proposal" value="([^"]+)"', page)[0]
    assert post(steward, place, "/choose", proposal=proposal, alternative=number) == f"{place}/release"
    sheet = kept(house, place)
    assert [one.minimum_level for one in sheet.policy.attributes if one.column == "age"] == [1]
    assert "max(" in sheet.policy.source_query, "it is for the newest month"
    again = html.unescape(steward.get(f"{place}/compare").text)
    assert "Tried before a change" not in again, "a choice is no change"
    decided(steward, place, (HIDDEN, GENERALIZED, HIDDEN), recurs="yes", **months | {"period_column": ""})
    assert "The months, or the shares," in steward.get(f"{place}/compare").text
    assert post(steward, place, "/choose", proposal=proposal, alternative=str(int(number) + 1)).count("none of them")
