"""The command `risk`: how easily the people of a table or of a release could be recognized."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.follow import follow
from tableveil.cli.grouped import grouped
from tableveil.cli.interruptible import interruptible
from tableveil.cli.request_options import option, request_options
from tableveil.cli.source_query import TableOrQuery
from tableveil.cli.tables import facts, listing
from tableveil.cli.verb import CommandSession, verb
from tableveil.client.names import source_reference
from tableveil.errors import InternalError, shortened
from tableveil.v1 import risk_service_pb2 as v1
from tableveil.v1.policy_pb2 import TableReference

RESULT = v1.RiskAnalysis

_MOST_SHOWN = 10

_PRIVACY = "privacy of "
"""The beginning of the models of measures of a sensitive column."""

_ADVERSARIES = {"people": "1 / people"}
"""Names for people of models whose own do not say it."""


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """The texts between commas, as in a line of CSV: a name with a comma in it can be quoted."""
    try:
        return next(csv.reader([value], strict=True, skipinitialspace=True)) if value else []
    except csv.Error as error:
        raise click.BadParameter(f"{value!r} is no line of CSV: {error}") from None


def _sets(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[v1.QuasiIdentifierSet]:
    return [v1.QuasiIdentifierSet(columns=_names(ctx, param, value)) for value in values]


def _table(ctx: click.Context, param: click.Parameter, value: str | None) -> TableReference | None:
    return None if value is None else source_reference(value)


@dataclass(frozen=True, slots=True)
class _Subject(TableOrQuery):
    """The rows of a table, a query or a release."""

    table: Annotated[str | None, click.argument("table", metavar="[TABLE|RELEASE]", required=False)]


@click.command()
@grouped(_Subject, "subject")
@request_options(
    v1.RiskRequest,
    "asked",
    option("quasi_identifiers", multiple=False, callback=_names, metavar="COLUMNS"),
    option("compare", note="As in --compare age,sex --compare age,sex,zip_code.", callback=_sets, metavar="COLUMNS"),
    option(
        "population.table",
        "--population",
        callback=_table,
        metavar="TABLE",
        help="The rows of the population, which the people are a part of.",
    ),
    option(
        "population.subset_column",
        "--subset-column",
        metavar="COLUMN",
        help="The table is the population; what is true here is analyzed.",
    ),
    option("population.size", metavar="PEOPLE"),
    option("population.sampling_fraction", "--sampling-fraction", metavar="SHARE"),
    option("person_column", "--person", metavar="COLUMN"),
    option("weight_column", "--weight", metavar="COLUMN"),
    option("sensitive", multiple=False, callback=_names, metavar="COLUMNS"),
    option("thresholds", "--threshold", multiple=False, callback=_names, metavar="RISKS"),
    option("largest_subset", metavar="COLUMNS", type=click.IntRange(min=1)),
)
@new_file(
    "records",
    "Also write the risks of each combination of values, with the values. Ends in .csv, where spreadsheets take no "
    "text for a formula, or .parquet, where texts are as they are.",
    ".csv",
    ".parquet",
)
@verb
def risk(session: CommandSession, subject: _Subject, asked: v1.RiskRequest, records: NewFile | None) -> None:
    """Measure how easily the people of a table, or of a release, could be recognized.

    The subject is a table (people, clinic.people), a release (releases/3), or the rows of a --query. The analysis is
    for the owner: no part of it is public. With --json, one JSON object per line: the job at each change, then the
    analysis.
    """
    subject.require("TABLE or RELEASE")
    if subject.table is not None and subject.table.startswith("releases/") and subject.schema is None:
        asked.release = subject.table
    else:
        subject.fill(asked)
    asked.records = records is not None
    if records is not None:
        records.require_free()
    job = session.client.submit_analysis(v1.SubmitRiskAnalysisRequest(risk=asked))
    name = follow(session, job.name, session.output.err).result
    if records is not None:
        interruptible(session.client, lambda: _write_records(session, name, records))
    show_result(session, name)


def _write_records(session: CommandSession, name: str, file: NewFile) -> None:
    # They take longer to load than most commands run.
    import pyarrow
    import pyarrow.parquet

    from tableveil.client.spreadsheets import write_csv

    try:
        with file.whole() as partial, session.client.read_record_risks(name) as reader:
            if file.path.suffix.lower() == ".csv":
                write_csv(reader, partial)
            else:
                with pyarrow.parquet.ParquetWriter(partial, reader.schema) as writer:
                    for batch in reader:
                        writer.write_batch(batch)
    except pyarrow.ArrowException as error:
        message = f"cannot write {shortened(str(file.path))}: a column's type does not go into such a file; try .csv"
        raise InternalError("WRITE_FAILED", message) from error


def show_result(session: CommandSession, name: str) -> None:
    """Writes a risk analysis as JSON, or as tables for people."""
    result = session.client.get_result(RESULT, name)
    session.output.result("risk_analysis", result, _analysis)


def _analysis(analysis: v1.RiskAnalysis) -> RenderableType:
    about = [
        ("of", f"{wording.table_name(analysis.source)}, {wording.count(analysis.records)} records"),
        (_columns_of(analysis), wording.printable(", ".join(analysis.quasi_identifiers))),
        ("distinct", f"{wording.count(analysis.classes)} combinations of values"),
    ]
    if analysis.HasField("population_size"):
        about.append(("population", f"{wording.count(analysis.population_size)} people"))
    parts: list[RenderableType] = [Text(analysis.name, style="bold"), facts(about)]
    if analysis.compared:
        parts += [Text(""), Text("Side by side", style="bold"), _side_by_side(analysis.compared)]
    sections = [
        ("Risk of being recognized", _attacks(analysis)),
        ("Alone with their values", facts(_uniqueness(analysis))),
    ]
    if analysis.attribute_risks:
        sections += [
            ("Columns that tell people apart", _subsets(analysis)),
            ("Special uniques: alone with few of their values", facts(_special(analysis))),
        ]
    for heading, content in sections:
        parts += [Text(""), Text(heading, style="bold"), content]
    if analysis.request.sensitive:
        parts += [Text(""), Text("Privacy that holds", style="bold"), _reached(analysis)]
    warnings = [Text(f"warning: {wording.printable(warning)}") for warning in analysis.warnings]
    return Group(*parts, *([Text("")] if warnings else []), *warnings)


def _side_by_side(compared: Sequence[v1.ComparedRisk]) -> RenderableType:
    """A row per set of columns, of which there is at least one; all have the same measures."""
    thresholds = [measure.threshold for measure in compared[0].measures if measure.threshold]
    estimated = any(measure.model.startswith("population") for measure in compared[0].measures)
    columns = ["columns", "distinct", "alone", "highest", "found on average"]
    columns += [f"records > {threshold}" for threshold in thresholds]
    columns += ["alone among all people"] * estimated
    return listing(columns, [_side(measure, estimated) for measure in compared], "", numbers=columns[1:])


def _side(compared: v1.ComparedRisk, estimated: bool) -> tuple[str, ...]:
    values = {(measure.model, measure.measure): measure.value for measure in compared.measures if not measure.threshold}
    unique = wording.count(int(values["sample", "unique_records"]))
    row = [
        wording.printable(", ".join(compared.columns)),
        wording.count(compared.classes),
        f"{unique}, {wording.share(values['sample', 'uniqueness'])}",
        wording.score(values["prosecutor", "highest_risk"]),
        wording.share(values["prosecutor", "average_risk"]),
        *(wording.count(int(measure.value)) for measure in compared.measures if measure.threshold),
    ]
    if estimated:
        of_people = next(measure for measure in compared.measures if measure.model.startswith("population"))
        row.append(wording.share(of_people.value) if of_people.HasField("value") else "no estimate")
    return tuple(row)


def _columns_of(analysis: v1.RiskAnalysis) -> str:
    asked = analysis.request
    guessed = asked.WhichOneof("subject") in ("table", "source_query") and not (
        asked.quasi_identifiers or asked.compare
    )
    return "guessed columns" if guessed else "columns"


def _values(analysis: v1.RiskAnalysis, model: str) -> dict[str, float]:
    """The measures of a model that have a value, without those that count records above thresholds."""
    return {
        measure.measure: measure.value
        for measure in analysis.measures
        if measure.model == model and not measure.threshold and measure.HasField("value")
    }


def _attacks(analysis: v1.RiskAnalysis) -> RenderableType:
    thresholds = list(dict.fromkeys(measure.threshold for measure in analysis.measures if measure.threshold))
    rows = []
    for model in ("prosecutor", "people", "journalist", "marketer", "individual"):
        values = _values(analysis, model)
        if not values:
            continue
        above = {
            measure.threshold: wording.count(int(measure.value))
            for measure in analysis.measures
            if measure.model == model and measure.threshold
        }
        rows.append(
            (
                _ADVERSARIES.get(model, model),
                wording.score(values["highest_risk"]) if "highest_risk" in values else "",
                wording.share(values.get("average_risk", values.get("success_rate", 0.0))),
                *(above.get(threshold, "") for threshold in thresholds),
            )
        )
    columns = ("adversary", "highest", "found on average", *(f"records > {threshold}" for threshold in thresholds))
    return listing(columns, rows, "", numbers=columns[1:])


def _reached(analysis: v1.RiskAnalysis) -> RenderableType:
    """The smallest class, and the models of sensitive columns."""
    highest = _values(analysis, "prosecutor").get("highest_risk")
    rows = [("k anonymity", "", "k", f"{1 / highest:,.0f}" if highest else "none")]
    for one in analysis.measures:
        if one.model.startswith(_PRIVACY):
            model, _, parameter = one.measure.rpartition(": ")
            value = f"{one.value:,.5g}" if one.HasField("value") else "none"
            rows.append((model.replace("_", " "), wording.printable(one.model[len(_PRIVACY) :]), parameter, value))
    return listing(("model", "of", "parameter", "value"), rows, "", numbers=("value",))


def _uniqueness(analysis: v1.RiskAnalysis) -> list[tuple[str, str]]:
    of_sample = _values(analysis, "sample")
    unique = wording.count(int(of_sample["unique_records"]))
    rows = [("records", f"{unique}, {wording.share(of_sample['uniqueness'])}")]
    for measure in analysis.measures:
        if measure.model.startswith("population (") and measure.measure == "uniqueness":
            share = wording.share(measure.value) if measure.HasField("value") else "no estimate"
            rows.append((wording.printable(measure.model), share))
    return rows


def _subsets(analysis: v1.RiskAnalysis) -> RenderableType:
    """The columns alone, and the larger subsets that are proposed, or that tell most apart."""
    alone = [found for found in analysis.attribute_risks if len(found.columns) == 1]
    proposed = [tuple(found.columns) for found in analysis.proposals]
    larger = [found for found in analysis.attribute_risks if len(found.columns) > 1]
    larger.sort(key=lambda found: (tuple(found.columns) not in proposed, -found.distinction, -found.separation))
    rows = [
        (
            wording.printable(", ".join(found.columns)),
            wording.share(found.distinction),
            wording.share(found.separation),
            wording.count(found.unique_records),
            wording.count(found.minimal_unique_records),
            "a guess" if tuple(found.columns) in proposed else "",
        )
        for found in [*sorted(alone, key=lambda found: -found.distinction), *larger][:_MOST_SHOWN]
    ]
    columns = ("columns", "distinct", "pairs apart", "alone", "not with fewer", "identifies")
    return listing(columns, rows, "", numbers=columns[1:5])


def _special(analysis: v1.RiskAnalysis) -> list[tuple[str, str]]:
    values = _values(analysis, "special uniques")
    by_size = [
        f"{wording.count(int(held_value))} of {measure.removeprefix('minimal_uniques_of_')}"
        for measure, held_value in values.items()
        if measure.startswith("minimal_uniques_of_")
    ]
    rows = [
        ("records", wording.count(int(values["records"]))),
        ("minimal uniques", f"{', '.join(by_size)} columns"),
        ("highest score", f"{values['highest_score']:g}"),
    ]
    if "correct_match_probability" in values:
        rows.append(("a unique match is right", wording.share(values["correct_match_probability"])))
    return rows
