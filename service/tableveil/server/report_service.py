"""Reports over gRPC: gathers what is known of a release, and renders the edition that the caller may see."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import grpc

from tableveil.control import Control
from tableveil.convert import release_number, release_to_proto, result_number
from tableveil.convert.classifications import classification_to_proto
from tableveil.convert.dry_runs import dry_run_to_proto
from tableveil.convert.enums import REPORT_AUDIENCES, REPORT_FORMATS
from tableveil.convert.releases import joint_classes_to_proto, standing_to_proto
from tableveil.convert.utility_reports import utility_report_to_proto
from tableveil.errors import InvalidError
from tableveil.lifecycle.row_checksum import stands
from tableveil.lookups.reports import BesideLedger
from tableveil.pages import as_pdf
from tableveil.report.facts import public_facts
from tableveil.report.html import as_html
from tableveil.report.model import Report
from tableveil.report.owner import owner_report
from tableveil.report.owner_evidence import OwnerEvidence, ReleaseBeside
from tableveil.report.public import public_report
from tableveil.report.text import first_page_text
from tableveil.server.call import caller, control_of
from tableveil.server.servicer_parts import ServicerParts
from tableveil.serving.version import installed_version
from tableveil.state.dry_runs import DryRun
from tableveil.state.jobs import KINDS, JobKind, now
from tableveil.state.releases import Release, ReleaseState
from tableveil.state.reports import MadeReport, ReportAudience, ReportFormat
from tableveil.state.seen import Audience
from tableveil.v1 import report_service_pb2 as v1
from tableveil.v1 import report_service_pb2_grpc

_DRY_RUNS = f"{KINDS[JobKind.DRY_RUN].collection}/"
_NOTHING = BesideLedger(columns=(), checksum="", sizes_after=())
_MEDIA_TYPES = {ReportFormat.HTML: "text/html", ReportFormat.PDF: "application/pdf", ReportFormat.TEXT: "text/plain"}

_CONTENTS: Mapping[ReportFormat, Callable[[Report], bytes]] = {
    ReportFormat.HTML: lambda report: as_html(report).encode(),
    ReportFormat.PDF: lambda report: as_pdf(as_html(report), report.attachment),
    ReportFormat.TEXT: lambda report: first_page_text(report).encode(),
}

_STATES = {
    ReleaseState.PENDING: "The release waits for approval: its rows are private.",
    ReleaseState.TRIAL: "It is a trial, which only its maker sees: its rows are private.",
    ReleaseState.REJECTED: "The release was rejected: its rows are gone.",
    ReleaseState.WITHDRAWN: "The release was withdrawn: its rows are gone here, and may still be where copies are.",
}


class ReportService(report_service_pb2_grpc.ReportServiceServicer):
    """Gathers, renders, and keeps the digest."""

    def __init__(self, parts: ServicerParts) -> None:
        self._dry_runs = parts.stores.results[JobKind.DRY_RUN]
        self._reports = parts.stores.reports
        self._slots = parts.reports

    def GetReport(self, request: v1.GetReportRequest, context: grpc.ServicerContext) -> v1.Report:  # noqa: N802
        """The whole document in one message: it is at most some megabytes."""
        with self._slots.taken():
            return self._made(request, control_of(context))

    def _made(self, request: v1.GetReportRequest, control: Control) -> v1.Report:
        asked = REPORT_AUDIENCES.from_proto(request.audience) or ReportAudience.OWNER
        form = REPORT_FORMATS.from_proto(request.format) or ReportFormat.HTML
        facts, notes = _NOTHING, list[str]()
        if request.name.startswith(_DRY_RUNS):
            if asked is ReportAudience.PUBLIC:
                expected = "a release, or the owner's edition"
                raise InvalidError.of("REPORT_INVALID", "audience", "the public edition of a dry run", expected)
            report = _of_dry_run(self._dry_runs.get(result_number(JobKind.DRY_RUN, request.name)))
        else:
            release, facts = self._reports.told(release_number(request.name), control)
            if release.audience is Audience.PUBLIC:
                asked = ReportAudience.PUBLIC
            report, notes = _of_release(release, facts, asked), list(_notes(release, facts, asked))
        content = _CONTENTS[form](report)
        digest = hashlib.sha256(content).hexdigest()
        self._reports.keep(MadeReport(request.name, asked, form, digest, caller().name, now()))
        return v1.Report(
            content=content,
            media_type=_MEDIA_TYPES[form],
            audience=REPORT_AUDIENCES.to_proto(asked),
            sha256=digest,
            row_checksum=facts.checksum,
            notes=notes,
        )


def _of_release(release: Release, beside_ledger: BesideLedger, audience: ReportAudience) -> Report:
    message = release_to_proto(replace(release, audience=Audience.OWNER))
    state = _STATES.get(release.state)
    if state is None:
        replaced = f"{message.name} was public, until a later release replaced it."
        state = f"{message.name} is public: analysts can read it." if release.current else replaced
    facts = public_facts(message, beside_ledger, name=message.name, state=state)
    if audience is ReportAudience.PUBLIC:
        return public_report(facts, installed_version())
    evidence = OwnerEvidence(
        release=message if release.audience is Audience.OWNER else release_to_proto(release),
        sizes_before=beside_ledger.sizes_before,
        measured=beside_ledger.measured,
        utility=None if beside_ledger.utility is None else utility_report_to_proto(beside_ledger.utility),
        classification=None
        if beside_ledger.classification is None
        else classification_to_proto(beside_ledger.classification),
        joint=None if beside_ledger.joint is None else joint_classes_to_proto(beside_ledger.joint),
        earlier=None if beside_ledger.earlier is None else release_to_proto(beside_ledger.earlier),
        people=beside_ledger.people,
        maker=beside_ledger.maker,
        others=tuple(
            ReleaseBeside(standing_to_proto(one.standing, one.publications), one.by_digests)
            for one in beside_ledger.others
        ),
    )
    return owner_report(facts, evidence, installed_version())


def _of_dry_run(dry_run: DryRun) -> Report:
    message = dry_run_to_proto(dry_run)
    facts = public_facts(message.release, _NOTHING, name=message.name, state="Nothing was released.")
    evidence = OwnerEvidence(release=message.release, refusals=tuple(message.refusals), is_dry_run=True)
    return owner_report(facts, evidence, installed_version())


def _notes(release: Release, beside_ledger: BesideLedger, audience: ReportAudience) -> Iterator[str]:
    """The parts of a report that can no longer be computed, and why."""
    name = f"releases/{release.number}"
    if release.warehouse:
        yield f"The rows of {name} are in a warehouse: examples of labels and a checksum cannot be told here."
    elif not stands(release):
        kept = "" if beside_ledger.checksum else " Nor can their checksum."
        yield f"The rows of {name} are gone: examples of labels cannot be told any more.{kept}"
    elif not beside_ledger.checksum:
        yield f"The rows of {name} were changed since they were written: they have no checksum."
    if audience is ReportAudience.PUBLIC:
        return
    made, here = release.versions.get("tableveil", ""), installed_version()
    if made != here:
        yield f"It was made by Tableveil {made or 'of an unknown version'}: figures that it did not keep are left out."
    if beside_ledger.utility is None and stands(release):
        if beside_ledger.source_gone:
            yield "The source is gone: utility was not measured, and cannot be any more."
        elif beside_ledger.source_changed:
            yield "The source has other rows now: utility was not measured, and cannot be any more."
