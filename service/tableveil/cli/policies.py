"""The commands that take a policy: `check-policy` and `submit`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Annotated

import click

from tableveil import wording
from tableveil.cli.account import account
from tableveil.cli.commands import SHOWN
from tableveil.cli.ended import of_error
from tableveil.cli.follow import ON_UNPUBLISHED, follow, settle
from tableveil.cli.grouped import grouped
from tableveil.cli.policy_file import PolicyFile, policy_argument
from tableveil.cli.request_options import request_option
from tableveil.cli.verb import CommandSession, verb
from tableveil.cli.warnings import ALL, warnings
from tableveil.client import Client
from tableveil.client.failures import faults_to
from tableveil.client.levels import use_levels_of
from tableveil.errors import Checked, Fault, InvalidError
from tableveil.serving.setting import Setting
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest

REQUEST_ID = click.option(
    "--request-id", default="", metavar="ID", help="A name for the request: the same again means the first job."
)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The job that a policy is submitted for."""

    request_id: Annotated[str, REQUEST_ID]
    levels_of: Annotated[
        str | None,
        Setting(
            "Use the levels, or by local recoding the classes, of this release on data of the same shape.",
            metavar="RELEASE",
        ),
    ] = None
    dry_run: Annotated[
        bool, Setting("Release nothing: make the release, verify it and take it back, and tell what it would be.")
    ] = False


@click.command()
@policy_argument
@click.option("--wait", is_flag=True, help="Show progress until the release is published, then its account.")
@ON_UNPUBLISHED
@grouped(JobOptions, "asked")
@request_option(job_service_pb2.SubmitJobRequest, "trial")
@verb
def submit(
    session: CommandSession, policy: PolicyFile, wait: bool, on_unpublished: str, asked: JobOptions, trial: bool
) -> None:
    """Queue a job for the policy in a file, or on standard input.

    Hierarchies in CSV files are stored on the server first. With --json and --wait, one JSON object per line: the job
    at each change, then the release, or the dry run.
    """
    if asked.dry_run and trial:
        raise click.UsageError("--dry-run makes nothing, --trial makes a trial: choose one")
    job = queued(session, policy, asked, trial)
    if wait:
        show_result_of(session, follow(session, job.name, session.output.err), on_unpublished)
    elif session.output.as_json:
        session.output.json({"job": job})
    else:
        session.output.show(f"{job.name} submitted. Follow it with `tableveil watch {job.name}`.")
        for line in warnings(job.warnings, job.warning_ranks, f"tableveil show {job.name}"):
            session.output.show(line)


def queued(session: CommandSession, policy: PolicyFile, asked: JobOptions, trial: bool = False) -> job_service_pb2.Job:
    """Queues the job for the policy in a file; `levels_of` overrides its search."""
    message, faults = policy.load()
    session.output.columns.extend(attribute.column for attribute in message.attributes)
    if faults:
        raise InvalidError.about(
            "POLICY_INVALID", "the policy is invalid", _checked(session.client, message, policy, faults).faults
        )
    if asked.levels_of is not None:
        use_levels_of(message, session.client.get_release(asked.levels_of))
    if asked.dry_run:
        request = SubmitDryRunRequest(policy=message, request_id=asked.request_id)
        return session.client.submit_analysis(request, policy.directory)
    return session.client.submit(message, policy.directory, asked.request_id, trial=trial)


def show_result_of(session: CommandSession, job: job_service_pb2.Job, on_unpublished: str) -> None:
    """Writes the result of a job that succeeded as JSON, or for people: a release once it is published."""

    def show() -> None:
        if job.kind in SHOWN:
            import_module(f"tableveil.cli.{SHOWN[job.kind]}").show_result(session, job.result)
        else:
            session.output.result("release", session.client.get_release(job.result), account)

    settle(session, job, on_unpublished, show)


@click.command()
@policy_argument
@click.option("--offline", is_flag=True, help="Check what can be checked without a server.")
@ALL
@verb
def check_policy(session: CommandSession, policy: PolicyFile, offline: bool, everything: bool) -> None:
    """List all that is wrong with a policy."""
    output = session.output
    message, faults = policy.load()
    output.columns.extend(attribute.column for attribute in message.attributes)
    checked = _checked(None if offline else session.client, message, policy, faults)
    if output.as_json:
        response = job_service_pb2.CheckPolicyResponse(faults=faults_to(checked.faults), warnings=checked.warnings)
        response.warning_ranks.extend(_ranks(checked))
        response.ranked_warnings.extend(_ranked(checked))
        output.json(response)
    elif not checked.faults:
        output.show("Nothing is wrong with the policy" + (", judged offline." if offline else "."))
        for line in warnings(checked.warnings, _ranks(checked), "--all shows them", everything=everything):
            session.output.show(line)
        for text in wording.unstated(message):
            output.show(text)
    if checked.faults:
        error = InvalidError.about("POLICY_INVALID", "the policy is invalid", checked.faults)
        output.report(error)
        sys.exit(of_error(error))


def _ranked(checked: Checked) -> list[faults_pb2.Warning]:
    from tableveil.convert.warnings import warnings_to_proto

    return warnings_to_proto(checked.warnings)


def _ranks(checked: Checked) -> list[faults_pb2.WarningRank.ValueType]:
    # It loads the whole engine.
    from tableveil.convert.warnings import ranks_to_proto

    return ranks_to_proto(checked.warnings)


def _checked(
    client: Client | None, message: policy_pb2.Policy, file: PolicyFile, of_document: Sequence[Fault]
) -> Checked:
    """The faults of the document, and those found in its policy by client and server."""
    if of_document and message == policy_pb2.Policy():
        return Checked(tuple(of_document))
    if client is not None:
        checked = client.checked(message, file.directory)
    else:
        # It loads the whole engine.
        from tableveil.client.checking import checked_on_client

        checked = checked_on_client(message, file.directory)
    # A field that could not be read is missing in the message.
    unread = {fault.field for fault in of_document}
    return replace(checked, faults=(*of_document, *(fault for fault in checked.faults if fault.field not in unread)))
