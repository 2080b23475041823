"""The command `report`: the document by which a release is decided upon, checked and filed."""

from pathlib import Path

import click

from tableveil.cli.files import NewFile, ends_in
from tableveil.cli.verb import DATABASE, CommandSession, verb
from tableveil.errors import ConflictError
from tableveil.v1 import report_service_pb2 as v1

_FORMATS = {".html": v1.REPORT_FORMAT_HTML, ".pdf": v1.REPORT_FORMAT_PDF}
_AUDIENCES = {"owner": v1.REPORT_AUDIENCE_OWNER, "public": v1.REPORT_AUDIENCE_PUBLIC}


@click.command()
@click.argument("name", metavar="RELEASE|DRY_RUN")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    callback=ends_in(*_FORMATS),
    metavar="FILE",
    help="Where to write the report. Ends in .html or .pdf.",
)
@click.option(
    "--audience",
    type=click.Choice(list(_AUDIENCES)),
    help="public: only what follows from the public objects. Default: the owner's edition, if you may see it.",
)
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compare a copy of the released rows, in CSV or Parquet, with the release's checksum.",
)
@click.option("--overwrite", is_flag=True, help="Let --output replace a file.")
@DATABASE
@verb
def report(
    session: CommandSession, name: str, output: Path | None, audience: str | None, check: Path | None, overwrite: bool
) -> None:
    """Write the report of a release (7 or releases/7), or of a dry run (dryRuns/3).

    It is one document without scripts, for the people who decide upon the release. The ledger keeps its SHA-256.
    """
    if output is None and check is None:
        raise click.UsageError("name where to write the report (--output), or the copy to compare (--check)")
    file = None if output is None else NewFile(output, "output", overwrite)
    if file is not None:
        file.require_free()
    form = v1.REPORT_FORMAT_HTML if output is None else _FORMATS[output.suffix.lower()]
    asked = _AUDIENCES[audience] if audience else v1.REPORT_AUDIENCE_UNSPECIFIED
    answer = session.client.get_report(name, asked, form)
    if file is not None:
        with file.whole() as partial:
            partial.write_bytes(answer.content)
    matches = None if check is None else _matches(name, answer.row_checksum, check)
    notes = list(answer.notes)
    if answer.audience == v1.REPORT_AUDIENCE_PUBLIC and audience != "public":
        notes.insert(0, "You may not see the evidence of this release: this is the public edition.")
    if session.output.as_json:
        shown = {"audience": v1.ReportAudience.Name(answer.audience), "sha256": answer.sha256, "notes": notes}
        session.output.json({**shown, "row_checksum": answer.row_checksum})
        return
    for note in notes:
        session.output.err.print(note)
    if output is not None:
        session.output.show(f"{output}: SHA-256 {answer.sha256}, which the ledger keeps")
    if matches:
        session.output.show(matches)


def _matches(name: str, expected: str, copy: Path) -> str:
    """The line that says that a copy has the released rows.

    Raises:
        ConflictError: It has other rows, or the release's checksum is not known.
    """
    # Loading DuckDB takes longer than most commands.
    from tableveil.client.checksums import checksum_of_copy

    checksum = checksum_of_copy(copy)
    if checksum != expected:
        expected_text = f"those of {name}, whose checksum is {expected or 'not known'}"
        raise ConflictError.of("ROWS_DIFFER", "check", f"rows with the checksum {checksum}", expected_text)
    return f"{copy}: the rows of {name} ({checksum})"
