"""Everything that a server shows of its results, as texts without what changes from run to run."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

from tableveil.server.services import DESCRIPTORS
from tests.e2e.commands import tableveil
from tests.recorded.made import READERS
from tests.service.access.house import House, message
from tests.service.console.conftest import browsing

COUNTS = {
    "releases": 11,
    "dryRuns": 2,
    "frontiers": 1,
    "payoutSweeps": 1,
    "riskAnalyses": 2,
    "classifications": 1,
    "utilityReports": 1,
    "proposals": 2,
    "loads": 1,
    "jobs": 20,
    "worksheets": 1,
}
"""The results that there are, by collection."""

_GETS = {
    "releases": "ReleaseService/GetRelease",
    "dryRuns": "DryRunService/GetDryRun",
    "frontiers": "FrontierService/GetFrontier",
    "payoutSweeps": "PayoutService/GetPayoutSweep",
    "riskAnalyses": "RiskService/GetRiskAnalysis",
    "classifications": "ClassificationService/GetClassification",
    "utilityReports": "UtilityService/GetUtilityReport",
    "proposals": "ProposalService/GetProposal",
    "loads": "TableService/GetLoad",
    "jobs": "JobService/GetJob",
    "worksheets": "WorksheetService/GetWorksheet",
}
_VOLATILE_LISTS = {"ListAuditEntries", "ListTokens"}

_VOLATILE = (
    (r'(?i)("?\w*seconds"?: )"?[\d.e+-]+s?"?', r"\1SECONDS"),
    (r'("(?:elapsed|duration)\w*": )"[\d.]+s"', r"\1SECONDS"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|\+00:00)?", "TIME"),
    (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
    (r"\b[\d.,]+ ?(ms|s|seconds?|minutes?|µs)\b", "SECONDS"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\b[0-9a-f]{16,}\b", "HEX"),
    (r"\b\d+\.\d+\.\d+(\.\w+)?\b", "VERSION"),
    (r'((?:csrf|etag)" value=)"[^"]*"', r'\1"SECRET"'),
    (r"\b[A-Za-z0-9_-]{43}\b", "SECRET"),
    (r"(TIME</td>\s*<td[^>]*>)differs", r"\1"),
    (r"(made +TIME +TIME).*", r"\1"),
)


def plain(text: str, place: Path) -> str:
    """The text without times, addresses, secrets and the place of the files."""
    text = text.replace(str(place), "PLACE")
    for pattern, name in _VOLATILE:
        text = re.sub(pattern, name, text)
    return text


def shown(house: House) -> Iterator[tuple[str, str]]:
    """Each thing that is shown: who sees it how, and its text."""
    place = house.files.parent
    for reader, who in READERS.items():
        for name, text in (*_calls(house, who), *_commands(house, who)):
            yield f"{reader}: {name}", plain(text, place)
    with browsing(house) as browse:
        for reader, who in READERS.items():
            one = browse(who)
            for path in _pages():
                answer = one.get(path)
                yield f"{reader}: {path}", plain(f"{answer.status_code}\n{answer.text}", place)


def _calls(house: House, who: str) -> Iterator[tuple[str, str]]:
    for collection, method in _GETS.items():
        for name in _names(collection):
            yield f"{method} {name}", told(house, who, method, {"name": name})
    for name in (*_names("releases"), *_names("dryRuns")):
        for audience in (1, 2):
            fields = {"name": name, "audience": audience, "format": 3}
            yield f"ReportService/GetReport {name} {audience}", told(house, who, "ReportService/GetReport", fields)
    for service in DESCRIPTORS:
        for listing in service.methods:
            if listing.name.startswith("List") and listing.name not in _VOLATILE_LISTS:
                called = f"{service.name}/{listing.name}"
                yield called, told(house, who, called, {})
    for name in _names("riskAnalyses"):
        yield f"ReadRecordRisks {name}", told(house, who, "RiskService/ReadRecordRisks", {"name": name})


def told(house: House, who: str, method: str, fields: Mapping[str, Any]) -> str:
    """The answer, or the error, as JSON."""
    service, _, name = method.partition("/")
    descriptor: Any = Default().FindServiceByName(f"tableveil.v1.{service}").FindMethodByName(name)
    read = GetMessageClass(descriptor.output_type).FromString
    call: Any = house.channels[who].stream_stream(f"/tableveil.v1.{method}", lambda m: m.SerializeToString(), read)
    try:
        answers = list(call(iter([message(method, dict(fields))]), timeout=60))
    except grpc.RpcError as error:
        found: Any = error
        return f"{found.code().name}: {found.details()}"
    contents = [getattr(one, "content", b"") for one in answers]
    documents = [json_format.MessageToDict(one, always_print_fields_with_no_presence=True) for one in answers]
    for document, content in zip(documents, contents, strict=True):
        if isinstance(content, bytes) and content:
            document["content"] = content.decode(errors="replace")
    return "\n".join(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) for document in documents)


def _commands(house: House, who: str) -> Iterator[tuple[str, str]]:
    commands = [["show", name] for collection in COUNTS for name in _names(collection) if collection != "worksheets"]
    commands += [["releases"], ["results"], ["jobs"], ["loads"], ["tables"], ["targets"], ["worksheets", "list"]]
    commands += [["review", name] for name in _names("releases")]
    commands += [["compare", "1", "2"], ["releases", "--together", "1,6"], ["hierarchies", "list"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TABLEVEIL_TOKEN", house.token_file(who).read_text())
        for command in commands:
            for options in ([], ["--json"]):
                outcome = tableveil(*command, *options, server=house.server.address)
                # The order of a map in a message is another one in each process.
                told = outcome.stdout if not options else json.dumps(outcome.documents, indent=1, sort_keys=True)
                text = f"{outcome.exit_code}\n{told}\n{outcome.stderr}"
                yield "tableveil " + " ".join([*command, *options]), text


def _pages() -> Iterator[str]:
    for number in range(1, COUNTS["releases"] + 1):
        yield from (f"/releases/{number}", f"/releases/{number}/report")
    yield from ("/releases/3/compare?with=1", "/releases/5/compare?with=1")
    yield from (f"/dry-runs/{number}" for number in range(1, COUNTS["dryRuns"] + 1))
    yield from (f"/jobs/{number}" for number in range(1, COUNTS["jobs"] + 1))
    yield from ("/releases", "/approvals", "/jobs", "/tables", "/worksheets", "/worksheets/1", "/server/targets")


def _names(collection: str) -> list[str]:
    return [f"{collection}/{number}" for number in range(1, COUNTS[collection] + 1)]
