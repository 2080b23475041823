"""Reports of a real server: who gets which edition, what they hold, and what is left once rows or sources are gone."""

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.backend import Database, table
from tableveil.cli.main import cli
from tableveil.client.checksums import checksum_of_copy
from tableveil.client.formats import ExportFormat
from tableveil.errors import DeniedError, InvalidError, NotFoundError
from tableveil.release.checksum import checksum
from tableveil.v1 import report_service_pb2 as v1
from tableveil.v1.dry_run_service_pb2 import DryRun
from tableveil.v1.utility_service_pb2 import UtilityReport
from tests.file_modes import open_to_others
from tests.service.access.house import ADMIN, Fields, House, opened, policy, submitted
from tests.small_disk import fill, small_disk

OWNER, PUBLIC = v1.REPORT_AUDIENCE_OWNER, v1.REPORT_AUDIENCE_PUBLIC

CANARY = "canary"
STATED: Fields = {
    "documentation": {
        "purpose": "A study of wards",
        "context": "RELEASE_CONTEXT_CONTRACT",
        **dict.fromkeys(("necessity", "residual_risk", "accepted_by", "data_breach", "threshold_reason"), CANARY),
        "risk_threshold": "0.09",
    },
    "repeat_reason": CANARY,
    "source_query": f"SELECT * FROM ward_b.patients WHERE illness <> '{CANARY}'",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Two releases of one name, the second with canaries; a dry run; an analyst of the second release alone."""
    with opened(tmp_path_factory.mktemp("reports"), needs_approval=("ward_a",)) as house:
        submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b"))
        again = policy("ward_b", **STATED)
        again["attributes"][0]["reason"] = CANARY
        again["release"]["if_exists"] = "IF_EXISTS_REPLACE"
        assert submitted(house, "bob", "JobService/SubmitJob", policy=again).result == "releases/2"
        submitted(
            house,
            "bob",
            "DryRunService/SubmitDryRun",
            policy={**again, "release": policy("ward_b", "other")["release"]},
        )
        submitted(house, "bob", "UtilityService/SubmitUtilityReport", utility={"release": "releases/2"})
        assessed: Fields = {"release": "releases/2", "classes": ["illness"], "folds": 2}
        assessed["classifiers"] = ["CLASSIFIER_NAIVE_BAYES"]
        submitted(house, "bob", "ClassificationService/AssessClassifiers", classification=assessed)
        house.access.add(ADMIN, WantedGrant("rel", False, AccessRole.ANALYST, Scope(release=2)))
        yield house


def text(found: v1.Report) -> str:
    return found.content.decode()


def test_a_steward_gets_the_evidence(house: House) -> None:
    found = house.clients["bob"].get_report("2")
    assert (found.audience, found.media_type) == (OWNER, "text/html")
    for part in (
        CANARY,
        "A study of wards",
        "contract:",
        "ABOVE the policy",
        "releases/1",
        "Risks before and after",
        "Why columns have",
    ):
        assert part in text(found)
    assert found.content == house.clients["bob"].get_report("2").content


@pytest.mark.parametrize(("who", "asked"), [("rel", OWNER), ("rel", PUBLIC), ("bob", PUBLIC)])
def test_the_public_edition(house: House, who: str, asked: v1.ReportAudience.ValueType) -> None:
    found = house.clients[who].get_report("2", asked)
    assert found.audience == PUBLIC
    assert "A study of wards" in text(found)
    assert "Public edition" in text(found)
    for part in (CANARY, "before and after", "Loss:", "releases/1", "0.09", "patients"):
        assert part not in text(found)
    assert found.content == house.clients["bob"].get_report("2", PUBLIC).content


def test_reviewers_see_no_values_of_the_source(house: House) -> None:
    for who in ("app", "aud"):
        found = house.clients[who].get_report("2")
        assert found.audience == OWNER
        assert "SELECT" not in text(found)
        assert "hierarchy" not in text(found).partition("policy.yaml")[2]


def test_reviewers_are_not_told_the_ends_of_rules(house: House) -> None:
    """They are often the least and the greatest value, which may be those of somebody who was suppressed."""
    ends = policy("ward_b", "ends")
    ends["attributes"][0]["hierarchy"] = {"intervals": {"minimum": "0", "maximum": "9731", "widths": ["5"]}}
    name = submitted(house, "bob", "JobService/SubmitJob", policy=ends).result
    for who, told in (("bob", True), ("app", False), ("aud", False)):
        client = house.clients[who]
        report = text(client.get_report(name))
        assert "intervals of 5" in report
        for shown in (report, str(client.get_release(name)), str(list(client.list_releases()))):
            assert ("9731" in shown) is told, who


def test_auditors_see_nothing_that_was_measured(house: House) -> None:
    """The methods that get it are for stewards and approvers."""
    for who, seen in (("bob", True), ("app", True), ("aud", False)):
        report = text(house.clients[who].get_report("2"))
        for part in ("utilityReports/1", "classifications/1", "Accuracy of classifiers"):
            assert (part in report) is seen, (who, part)
        assert ("for stewards and approvers" in report) is not seen
    with pytest.raises(DeniedError):
        list(house.clients["aud"].list_results(UtilityReport))
    arguments = ("--server", house.server.address, "--token-file", str(house.token_file("aud")))
    compared = CliRunner().invoke(cli, ["compare", "1", "2", *arguments])
    assert compared.exit_code == 0, compared.output
    assert "you may not see it" in " ".join(compared.stdout.split())


def test_auditors_see_no_labels_of_a_release_that_waits(house: House) -> None:
    submitted(house, "ann", "JobService/SubmitJob", policy=policy("ward_a"))
    waiting = next(iter(house.clients["ann"].list_releases())).name
    for who, role, seen in (("aud", AccessRole.AUDITOR, False), ("app", AccessRole.APPROVER, True)):
        grant = house.access.add(ADMIN, WantedGrant(who, False, role, Scope("ward_a")))
        for asked in (OWNER, PUBLIC):
            assert ("20; 21; 22" in text(house.clients[who].get_report(waiting, asked))) is seen
        house.access.remove(ADMIN, grant.number)
    assert "20; 21; 22" in text(house.clients["ann"].get_report(waiting))


def test_releases_that_are_judged_together_tell_the_joint_figures(house: House) -> None:
    first = policy("ward_b", "first", person_column="code")
    del first["rows_are_people"]
    earlier = submitted(house, "bob", "JobService/SubmitJob", policy=first).result
    together = {"together_with": [earlier], "left_behind": "LEFT_BEHIND_REPORT"}
    later = {**first, "release": {"schema": "ward_b", "name": "second", **together}}
    number = submitted(house, "bob", "JobService/SubmitJob", policy=later).result
    joint = house.clients["bob"].get_joint_classes([earlier, number])
    for who, seen in (("bob", True), ("app", True), ("aud", False)):
        report = text(house.clients[who].get_report(number))
        section = re.sub(r"<[^>]*>|\s+", " ", report.partition("<h2>Judged together")[2].partition("<section")[0])
        assert (f"smallest joint class {joint.smallest}" in re.sub(" +", " ", section)) is seen
        assert ("are not shown" in section) is not seen
    assert "Judged together" not in text(house.clients["bob"].get_report(number, PUBLIC))
    assert "Judged together with earlier" not in text(house.clients["bob"].get_report(earlier))


def test_page_one_names_the_estimated_table(house: House) -> None:
    asked = policy("ward_b", "guessed")
    asked["release"]["estimates"] = True
    number = submitted(house, "bob", "JobService/SubmitJob", policy=asked).result
    page = re.sub(r"<[^>]*>|\s+", " ", text(house.clients["bob"].get_report(number)).partition("<h2>Decision")[0])
    assert "Readers also get guessed_estimated: values drawn under the labels." in page
    assert "Readers also get" not in text(house.clients["bob"].get_report(number, PUBLIC))


def test_a_reason_is_no_protection(house: House) -> None:
    """The second release repeats the people of the first by a reason, and nobody knows who has which class in both."""
    report = re.sub(" +", " ", re.sub(r"<[^>]*>|\s+", " ", text(house.clients["bob"].get_report("releases/2"))))
    assert "Linkability not measured These people were released before. Nobody could count" in report
    section = report.partition("Beside earlier releases of the same people ")[2]
    assert "releases/1 by labels not defined" in section
    assert "must be decided Joint classes with releases/1 are not defined" in report
    assert "Beside earlier" not in text(house.clients["bob"].get_report("releases/1"))


def test_approvers_see_dry_runs_without_values(house: House) -> None:
    for who, seen in (("bob", True), ("app", False)):
        found = house.clients[who].get_result(DryRun, "dryRuns/1")
        listed = next(iter(house.clients[who].list_results(DryRun)))
        for one in (found.release.policy, listed.release.policy):
            assert (bool(one.source_query), one.attributes[0].HasField("hierarchy")) == (seen, seen)
        assert found.release.risk_after == listed.release.risk_after
        report = text(house.clients[who].get_report("dryRuns/1"))
        assert ("SELECT" in report, "suppression_only" in report) == (seen, seen)


def test_no_times_or_paths_are_in_it_and_the_maker_in_the_owners_alone(house: House) -> None:
    for asked in (OWNER, PUBLIC):
        report = text(house.clients["bob"].get_report("2", asked))
        assert not [part for part in (str(house.files.parent), "https://", "<script") if part in report]
        assert ("bob" in report) == (asked == OWNER)
        assert not re.findall(r"""(?:src|href)=["'](?!#)""", report)


def test_others_find_nothing(house: House) -> None:
    with pytest.raises(NotFoundError):
        house.clients["eve"].get_report("2")
    for who in ("ann", "aud", "rel"):
        with pytest.raises(NotFoundError):
            house.clients[who].get_report("dryRuns/1")


def test_a_dry_run_has_the_owners_edition_only(house: House) -> None:
    found = house.clients["bob"].get_report("dryRuns/1")
    assert "Nothing was released." in text(found)
    assert found.row_checksum == ""
    with pytest.raises(InvalidError):
        house.clients["bob"].get_report("dryRuns/1", PUBLIC)


def test_copies_have_the_checksum(house: House, tmp_path: Path) -> None:
    found = house.clients["rel"].get_report("2")
    assert found.row_checksum in text(found)
    house.clients["rel"].export("2", tmp_path / "copy", ExportFormat.PARQUET)
    exported = tmp_path / "copy" / "released.parquet"
    assert checksum_of_copy(exported) == found.row_checksum
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{exported}' ORDER BY random()) TO '{tmp_path}/copy.csv'")
        assert checksum_of_copy(tmp_path / "copy.csv") == found.row_checksum
        connection.execute(f"COPY (FROM '{exported}' LIMIT 5) TO '{tmp_path}/copy.csv'")
        assert checksum_of_copy(tmp_path / "copy.csv") != found.row_checksum


def test_a_replaced_release_says_what_cannot_be_told_any_more(house: House) -> None:
    found = house.clients["bob"].get_report("1")
    (note,) = found.notes
    assert "are gone: examples of labels cannot be told any more" in note
    assert "until a later release replaced it" in text(found)


def test_a_withdrawn_release_keeps_its_checksum(house: House) -> None:
    submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b", "brief"))
    number = max(int(one.name.split("/")[1]) for one in house.clients["bob"].list_releases())
    database, deadline = house.server._database, time.monotonic() + 60
    # Nobody asks for a report before it is withdrawn.
    while not (kept := checksums(database, number)) and time.monotonic() < deadline:
        time.sleep(0.02)
    with database.session() as session:
        assert kept == [checksum(session, table("brief", "ward_b", session.catalog))]
    house.clients["bob"].withdraw_release(str(number), CANARY)
    after = house.clients["bob"].get_report(str(number))
    assert [after.row_checksum] == kept
    assert "withdrawn" in text(after)
    assert CANARY in text(after)
    assert CANARY not in text(house.clients["bob"].get_report(str(number), PUBLIC))


def test_changed_rows_have_no_checksum_of_their_own(house: House) -> None:
    database = house.server._database
    submitted(house, "bob", "JobService/SubmitJob", policy=policy("ward_b", "changed"))
    number = max(int(one.name.split("/")[1]) for one in house.clients["bob"].list_releases())
    written = house.clients["bob"].get_report(str(number)).row_checksum
    with database.session() as session:
        session.execute("UPDATE ward_b.changed SET illness = 'other'")
    assert house.clients["bob"].get_report(str(number)).row_checksum == written
    with database.ledger() as ledger:
        ledger.execute("DELETE FROM tableveil.row_checksums WHERE release = ?", [number])
    found = house.clients["bob"].get_report(str(number))
    assert found.row_checksum == ""
    assert "were changed since they were written" in found.notes[0]


def test_a_source_that_changed_or_is_gone(house: House) -> None:
    with house.server._database.session() as session:
        session.execute("CREATE TABLE ward_b.short AS FROM ward_b.patients")
        asked = policy("ward_b", "of_short", source={"schema": "ward_b", "table": "short"})
        number = submitted(house, "bob", "JobService/SubmitJob", policy=asked).result
        before = house.clients["bob"].get_report(number)
        assert not before.notes
        for change, said in (
            ("UPDATE ward_b.short SET age = age + 1", "The source has other rows now"),
            ("DROP TABLE ward_b.short", "The source is gone"),
        ):
            session.execute(change)
            found = house.clients["bob"].get_report(number)
            assert [note.partition(":")[0] for note in found.notes] == [said]
            assert found.content == before.content
            assert not house.clients["app"].get_report(number).notes


def checksums(database: Database, number: int) -> list[str]:
    """The checksums that the ledger keeps of a release."""
    with database.ledger() as ledger:
        found = ledger.rows("SELECT DISTINCT checksum FROM tableveil.row_checksums WHERE release = ?", [number])
    return [value for (value,) in found]


def test_the_ledger_keeps_each_document_once(house: House) -> None:
    made = [house.clients["bob"].get_report("2", PUBLIC) for _ in range(2)]
    with house.server._database.ledger() as ledger:
        query = "SELECT subject, audience, format, count(*) FROM tableveil.reports WHERE sha256 = ? GROUP BY ALL"
        assert ledger.rows(query, [made[0].sha256]) == [("releases/2", "PUBLIC", "HTML", 1)]


def command(house: House, who: str, *arguments: str) -> Result:
    """The outcome of the command, as a principal types it."""
    place = ("--server", house.server.address, "--token-file", str(house.token_file(who)))
    return CliRunner().invoke(cli, ["report", *arguments, *place])


def test_the_command_writes_it_once(house: House, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    made = command(house, "bob", "2", "--output", str(path))
    assert made.exit_code == 0, made.output
    assert hashlib.sha256(path.read_bytes()).hexdigest() in made.stdout
    assert not open_to_others(path)
    refused = command(house, "bob", "2", "--output", str(path))
    assert refused.exit_code != 0
    assert "--overwrite" in refused.output
    assert command(house, "bob", "2", "--output", str(path), "--overwrite").exit_code == 0
    public = command(house, "rel", "2", "--output", str(path), "--overwrite")
    assert "You may not see the evidence" in public.output
    assert command(house, "bob", "2", "--output", str(tmp_path / "report.txt")).exit_code == 2
    assert command(house, "bob", "2").exit_code == 2


def test_a_full_disk_leaves_nothing_half_written(house: House, tmp_path: Path) -> None:
    with small_disk(tmp_path, 1) as disk:
        kept = disk / "kept.html"
        kept.write_text("an earlier report")
        filler = fill(disk, leave=8192)
        for path in (disk / "report.html", kept):
            refused = command(house, "bob", "2", "--output", str(path), "--overwrite")
            assert refused.exit_code != 0
            assert "No space left on device" in refused.output
        assert set(disk.iterdir()) == {filler, kept}
        assert kept.read_text() == "an earlier report"


def test_the_command_compares_copies(house: House, tmp_path: Path) -> None:
    house.clients["bob"].export("2", tmp_path / "copy", ExportFormat.PARQUET)
    same = command(house, "bob", "2", "--check", str(tmp_path / "copy" / "released.parquet"))
    assert same.exit_code == 0, same.output
    assert "the rows of 2" in same.stdout
    other = command(house, "bob", "2", "--check", str(tmp_path / "copy" / "released_classes.parquet"))
    assert other.exit_code != 0
    assert "ROWS_DIFFER" in other.output or "checksum" in other.output
