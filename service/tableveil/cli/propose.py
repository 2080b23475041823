"""The command `propose`: policies that were tried on a table, the recommended one first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click
from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import NewFile
from tableveil.cli.follow import follow
from tableveil.cli.grouped import grouped
from tableveil.cli.request_options import option, request_options
from tableveil.cli.source_query import TableOrQuery
from tableveil.cli.tables import listing
from tableveil.cli.verb import DATABASE, CommandSession, verb
from tableveil.client.names import source_reference
from tableveil.document import to_yaml
from tableveil.document.read import read_message
from tableveil.errors import InvalidError, nearest, shortened
from tableveil.serving.setting import Setting
from tableveil.v1 import proposal_service_pb2 as v1
from tableveil.v1.policy_pb2 import Attribute, Documentation, Hierarchy, Policy, Role
from tableveil.wording.proposals import LASTING, WAY_COLUMNS, doubt, left, longest, of_records, way_rows

RESULT = v1.Proposal

_MOST_FILES = 4
_READERS = ("", "public", "contract", "inside")
"""The words for people who get the release, by their numbers."""


@dataclass(frozen=True, slots=True)
class _RelatedTables:
    """The tables of people and events that a proposal is asked for."""

    people: Annotated[str | None, Setting("A table of people; with --events in place of TABLE.", metavar="TABLE")] = (
        None
    )
    events: Annotated[tuple[str, ...], Setting("A table of their events; may be repeated.", metavar="TABLE")] = ()
    key: Annotated[
        tuple[str, ...],
        Setting(
            "With --people: the column that joins the tables; TABLE.COLUMN where events have another one.",
            metavar="COLUMN",
        ),
    ] = ()
    rows_limit: Annotated[
        str | None,
        Setting("With --people: the share of all rows of events that may be removed (0.5).", metavar="SHARE"),
    ] = None


@dataclass(frozen=True, slots=True)
class _Source(TableOrQuery):
    """The rows of one table or query, or people and their events."""

    related: _RelatedTables


@dataclass(frozen=True, slots=True)
class _Said:
    """The corrections of the draft, the texts of the report, and whether to ask."""

    role: Annotated[
        tuple[str, ...], Setting("Give this column another role; may be repeated.", metavar="COLUMN=ROLE")
    ] = ()
    hierarchy: Annotated[
        tuple[str, ...],
        Setting(
            "Give this column a hierarchy as in a policy, such as age={stored: {name: ages}}; may be repeated.",
            metavar="COLUMN=YAML",
        ),
    ] = ()
    ask: Annotated[bool, Setting("Ask in the terminal, also for texts of the report.")] = False
    documentation: Annotated[
        tuple[str, ...], Setting("A text of the report, such as purpose=…; may be repeated.", metavar="FIELD=TEXT")
    ] = ()


@click.command()
@grouped(_Source, "source")
@request_options(
    v1.ProposalRequest,
    "wanted",
    "readers",
    "recurs",
    option("keep", callback=lambda _, __, texts: list(map(_kept, texts)), metavar="COLUMN[=LEVEL]"),
    option("leave_out", metavar="COLUMN"),
    option("person_column", "--person", metavar="COLUMN"),
    "rows_are_people",
    option("record_column", "--record", metavar="COLUMN"),
    option("period_column", "--period", metavar="COLUMN"),
    option("coming_share", "--coming", metavar="SHARE"),
    option("leaving_share", "--leaving", metavar="SHARE"),
    option("acknowledge", metavar="COLUMN"),
    option("time_limit_seconds", "--seconds", metavar="SECONDS"),
)
@grouped(_Said, "said")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PREFIX",
    help="Write PREFIX-1.yaml and .sql, PREFIX-2.yaml and .sql, …  [default: the table's name]",
)
@click.option("--overwrite", is_flag=True, help="Replace or remove the files of an earlier proposal.")
@DATABASE
@verb
def propose(
    session: CommandSession,
    source: _Source,
    wanted: v1.ProposalRequest,
    said: _Said,
    output: Path | None,
    overwrite: bool,
) -> None:
    """Draft policies for a table or a query, try each, and write those that make a release, the best as PREFIX-1.yaml.

    PREFIX-1.sql is the statement that does the same. Nothing is released. The proposal also counts values that look
    wrong, and PREFIX-repaired.sql repairs them: propose again with it as --query.

    With --people and --events, one policy of all these tables is tried with one and with two known facts; a column of
    events goes by TABLE.COLUMN.

    With --json, one JSON object per line: the job at each change, then the proposal.
    """
    related = source.related
    is_related = bool(related.people or related.events)
    if not is_related:
        source.require()
    elif source.table is not None or source.query is not None or not (related.people and related.events):
        raise click.UsageError("name the people by --people and their events by --events, and no other source")
    documented = _documentation(said.documentation)
    prefix = output or Path(_stem(related.people or source.table or "query"))
    for path in _all_files(prefix):
        NewFile(path, "output", overwrite).require_free()
    if said.ask:
        _ask(wanted)
    wanted.correct.extend(_corrected(said))
    if said.ask:
        documented |= _asked_documentation(documented)
    if is_related:
        # A text with a blank would be taken for a query.
        people = source_reference(related.people or "")
        draft = session.client.draft_policy(people, events=related.events, key=related.key)
        draft.proposal.tables.rows_limit = related.rows_limit or draft.proposal.tables.rows_limit
        _correct(draft.proposal, wanted)
    else:
        source.fill(wanted)
    job = session.client.submit_analysis(v1.SubmitProposalRequest(proposal=wanted))
    result = session.client.get_result(RESULT, follow(session, job.name, session.output.err).result)
    policies = [one.policy for one in result.alternatives]
    policies += [way.policy for way in result.ways if way.HasField("policy")]
    for policy in policies:
        for field, text in documented.items():
            setattr(policy.documentation, field, text)
    _write(result, prefix, overwrite, source.query)
    session.output.result(
        "proposal", result, lambda made: Group(_proposal(made), Text(), *_files(made, prefix, session.on_file))
    )


def show_result(session: CommandSession, name: str) -> None:
    """Writes a proposal as JSON, or for people."""
    session.output.result("proposal", session.client.get_result(RESULT, name), _proposal)


# --- the request ----------------------------------------------------------------------------------------------------


def _ask(wanted: v1.ProposalRequest) -> None:
    """Completes the options by the answers in the terminal."""
    said = dict(zip(v1.Readers.values(), _READERS, strict=True))
    readers = click.prompt(
        "Who gets the release?", said[wanted.readers] or None, type=click.Choice(_READERS[1:]), err=True
    )
    wanted.readers = v1.Readers.Value(f"READERS_{readers.upper()}")
    wanted.recurs = click.confirm("Will releases of the same people follow?", wanted.recurs, err=True)
    stays = ",".join(
        f"{one.column}={one.maximum_level}" if one.HasField("maximum_level") else one.column for one in wanted.keep
    )
    keep = click.prompt("Columns that must stay, with commas", stays, err=True)
    left_out = click.prompt("Columns that must not be released", ",".join(wanted.leave_out), err=True)
    del wanted.keep[:], wanted.leave_out[:]
    wanted.keep.extend(map(_kept, _listed(keep)))
    wanted.leave_out.extend(_listed(left_out))


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


_DOCUMENTED = {
    "purpose": "For what purpose does the recipient get the rows?",
    "legal_basis": "On which legal basis?",
    "recipient": "Who gets them?",
    "contact": "Who answers questions about the release?",
    "necessity": "Why does the purpose need these columns, as fine as this?",
}


def _asked_documentation(given: dict[str, str]) -> dict[str, str]:
    """The answers; an empty one leaves the field out."""
    answers = {
        field: click.prompt(question, given.get(field, ""), show_default=field in given, err=True)
        for field, question in _DOCUMENTED.items()
    }
    return {field: text for field, text in answers.items() if text.strip()}


def _documentation(given: tuple[str, ...]) -> dict[str, str]:
    texts = {name for name, field in Documentation.DESCRIPTOR.fields_by_name.items() if field.type == field.TYPE_STRING}
    pairs = [text.partition("=") for text in given]
    for field, _, text in pairs:
        if field not in texts or not text:
            expected = f"FIELD=TEXT, and one of {', '.join(sorted(texts))} as FIELD"
            raise InvalidError.of("DOCUMENTATION_INVALID", "documentation", shortened(f"{field}={text}"), expected)
    return {field: text for field, _, text in pairs}


def _corrected(said: _Said) -> list[v1.CorrectedColumn]:
    """The corrections by columns; a name may have an equals sign, a role has none.

    Raises:
        InvalidError: an option is not COLUMN=ROLE, or not COLUMN=YAML.
    """
    corrected: dict[str, v1.CorrectedColumn] = {}
    for text in said.role:
        name, _, word = text.rpartition("=")
        role = f"ROLE_{word.strip().upper()}"
        if not name or role not in Role.keys()[1:]:
            roles = ", ".join(role.removeprefix("ROLE_") for role in Role.keys()[1:])
            expected = f"COLUMN=ROLE, and one of {roles} as ROLE"
            raise InvalidError.of("PROPOSAL_INVALID", "role", shortened(text), expected)
        corrected.setdefault(name, v1.CorrectedColumn(column=name)).role = Role.Value(role)
    for text in said.hierarchy:
        name, _, yaml = text.partition("=")
        hierarchy = Hierarchy()
        faults = read_message(hierarchy, yaml, "yaml", "a hierarchy's")
        if faults or not hierarchy.WhichOneof("kind"):
            found = "; ".join(map(str, faults)) or shortened(text)
            raise InvalidError.of("PROPOSAL_INVALID", "hierarchy", found, "COLUMN={…}, a hierarchy as in a policy")
        corrected.setdefault(name, v1.CorrectedColumn(column=name)).hierarchy.CopyFrom(hierarchy)
    return list(corrected.values())


_OF_ONE_TABLE = {
    "recurs": "--recurs",
    "keep": "--keep",
    "person_column": "--person",
    "rows_are_people": "--rows-are-people",
    "record_column": "--record",
}


def _correct(draft: Policy, wanted: v1.ProposalRequest) -> None:
    """Makes the draft of related tables the policy to begin with, with what the options say of its columns.

    Raises:
        InvalidError: an option is for one table, or names no column.
    """
    stated = [flag for field, flag in _OF_ONE_TABLE.items() if getattr(wanted, field)]
    if stated:
        hint = "Set maximum_level of the columns in the policies that are written." if wanted.keep else ""
        raise InvalidError.of(
            "PROPOSAL_INVALID", stated[0].lstrip("-"), "a statement on one table", "none, with --people", hint
        )
    columns = {".".join(filter(None, (one.table, one.column))): one for one in draft.attributes}
    named = [("leave_out", v1.CorrectedColumn(column=name, role=Role.ROLE_IDENTIFYING)) for name in wanted.leave_out]
    for option_, correction in (*named, *(("role", one) for one in wanted.correct)):
        column = _column(columns, correction.column, option_)
        role = correction.role or Role.ROLE_QUASI_IDENTIFIER
        hierarchy = correction.hierarchy if correction.HasField("hierarchy") else column.hierarchy
        changed = Attribute(table=column.table, column=column.column, role=role)
        if role == Role.ROLE_QUASI_IDENTIFIER:
            changed.hierarchy.CopyFrom(hierarchy)
            if not hierarchy.WhichOneof("kind"):
                changed.hierarchy.suppression_only.SetInParent()
        column.CopyFrom(changed)
    for name in wanted.acknowledge:
        _column(columns, name, "acknowledge").acknowledged = True
    for field in ("leave_out", "correct", "acknowledge"):
        wanted.ClearField(field)
    wanted.policy.CopyFrom(draft)


def _column(columns: Mapping[str, Attribute], name: str, option_: str) -> Attribute:
    """The column of that name, which has the event table's before it; raises `InvalidError` if there is none."""
    if name not in columns:
        expected = "a column of the people, or TABLE.COLUMN of events"
        raise InvalidError.of("PROPOSAL_INVALID", option_, shortened(name), expected, nearest(name, [*columns]))
    return columns[name]


def _kept(text: str) -> v1.KeptColumn:
    """`COLUMN=LEVEL`, or a column alone, whose name may have an equals sign."""
    name, _, level = text.rpartition("=")
    if name and re.fullmatch("[0-9]{1,4}", level):
        return v1.KeptColumn(column=name, maximum_level=int(level))
    return v1.KeptColumn(column=text)


# --- the files ------------------------------------------------------------------------------------------------------


def _stem(table: str) -> str:
    """The table's name without its schema, as the beginning of file names."""
    return re.sub(r"[^\w-]", "_", table.rpartition(".")[2]) or "table"


def _file(prefix: Path, number: int) -> Path:
    return prefix.with_name(f"{prefix.name}-{number}.yaml")


def _all_files(prefix: Path) -> list[Path]:
    """All that a proposal may write."""
    yaml = [_file(prefix, number) for number in range(1, _MOST_FILES + 1)]
    yaml.append(_coarser(prefix))
    return [*yaml, *(path.with_suffix(".sql") for path in yaml), _repaired(prefix)]


def _coarser(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}-coarser.yaml")


def _repaired(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}-repaired.sql")


def _write(proposal: v1.Proposal, prefix: Path, overwrite: bool, query: str | None) -> None:
    """Two files for each policy that makes a release, and the query that repairs; earlier ones are gone.

    The query that this proposal was asked for stays: it is the source of the policies.
    """
    # It loads the database's parser, for which the help need not wait.
    from tableveil.statements.render import create_statement

    for path in _all_files(prefix):
        if overwrite and path.is_file() and not (query and path.read_text(encoding="utf-8") == query):
            path.unlink()
    policies: list[tuple[Path, str, Sequence[str], Policy]] = [
        (_file(prefix, number), _described(one), one.decisions, one.policy)
        for number, one in enumerate(_released(proposal), 1)
    ]
    if coarser := longest(proposal):
        policies.append((_coarser(prefix), coarser.way, (), coarser.policy))
    for path, described, decisions, policy in policies:
        head = [f"{proposal.name}: {described}. Bounds of hierarchies come from the data."]
        head += [f"To be decided: {wording.printable(text)}" for text in (*proposal.decisions, *decisions)]
        text = "".join(f"# {line}\n" for line in head) + to_yaml(policy)
        NewFile(path, "output", overwrite).write(text)
        statement = "".join(f"-- {line}\n" for line in head) + create_statement(policy) + "\n"
        NewFile(path.with_suffix(".sql"), "output", overwrite).write(statement)
    if proposal.repair_query:
        NewFile(_repaired(prefix), "output", overwrite).write(proposal.repair_query + "\n")


def _files(proposal: v1.Proposal, prefix: Path, on_file: Path | None) -> list[RenderableType]:
    made, on = _released(proposal), "" if on_file is None else f" --database {on_file}"
    lines = [f"Written: {_file(prefix, number)} and .sql ({_described(one)})." for number, one in enumerate(made, 1)]
    if coarser := longest(proposal):
        lines.append(f"Written: {_coarser(prefix)} and .sql ({coarser.way}).")
    if proposal.repair_query:
        again = f"tableveil propose --query {_repaired(prefix)} --output {prefix} --overwrite{on}"
        lines.append(f"Written: {_repaired(prefix)}, which repairs the values: `{again}`, with your options.")
    if made:
        release = f"`tableveil {f'run {_file(prefix, 1)}{on}' if on else f'submit {_file(prefix, 1)} --wait'}`"
        if made[0].recommended:
            lines.append(f"Release it with {release}.")
        elif proposal.decisions:
            lines.append("Next, answer by an option what is to be decided of all policies, and propose again.")
        else:
            lines.append(f"Next, decide what is said of {_named(made[0])} above. Then release it with {release}.")
    return [Text(wording.printable(line)) for line in lines]


# --- as people read it ----------------------------------------------------------------------------------------------


def _released(proposal: v1.Proposal) -> list[v1.TriedPolicy]:
    return [one for one in proposal.alternatives if one.HasField("score")]


def _described(one: v1.TriedPolicy) -> str:
    return f"{one.method}, k = {one.k}, score {wording.score(one.score)}"


def _proposal(proposal: v1.Proposal) -> RenderableType:
    what = wording.table_name(proposal.source) if proposal.source.table else "the query"
    title = Text(proposal.name, style="bold green")
    title.append(f"  {what}, {wording.count(proposal.records)} records, nothing was released", style="not bold default")
    parts: list[RenderableType] = [title, *(Text(wording.printable(note)) for note in proposal.notes)]
    if proposal.findings:
        rows = [(wording.printable(one.column), of_records(one, proposal), doubt(one)) for one in proposal.findings]
        parts += [_heading("Values that look wrong"), listing(("column", "records", "why"), rows, "", ("records",))]
    if made := _released(proposal):
        parts += [_heading("Policies that make a release"), _alternatives(made)]
        parts += [_heading("Left of each column: labels, share of *"), _columns(made)]
    if proposal.forecast:
        parts += [_heading(LASTING), Text(wording.printable(proposal.forecast))]
    if proposal.ways:
        parts.append(listing(WAY_COLUMNS, [tuple(map(wording.printable, row)) for row in way_rows(proposal)], ""))
    for one in made:
        parts += [_heading(_named(one)), *(Text(wording.printable(note)) for note in one.notes)] if one.notes else []
    decisions = [*proposal.decisions, *(f"{_named(one)}: {text}" for one in made for text in one.decisions)]
    decisions += dict.fromkeys(text for one in made for text in wording.unstated(one.policy))
    if decisions:
        parts += [_heading("To be decided"), *(Text(wording.printable(text), style="yellow") for text in decisions)]
    failed = [f"{_named(one)}: {one.failure}" for one in proposal.alternatives if one.failure]
    if failed:
        # A failure with several faults has a line for each.
        lines = (line for text in failed for line in text.split("\n"))
        parts += [_heading("No release"), *(Text(wording.printable(line)) for line in lines)]
    return Group(*parts, Text(), Text(wording.printable(proposal.recommendation), style="bold"))


def _heading(text: str) -> RenderableType:
    return Group(Text(), Text(text, style="bold"))


def _named(one: v1.TriedPolicy) -> str:
    return f"{one.method}, k = {one.k}"


def _alternatives(made: list[v1.TriedPolicy]) -> RenderableType:
    columns = ("", "method", "k", "score", "suppressed", "highest risk", "erased columns", "to decide")
    rows = [
        (
            str(number),
            one.method,
            str(one.k),
            wording.score(one.score),
            wording.count(one.suppressed_records),
            wording.share(one.highest_risk),
            str(sum(column.erased for column in one.columns)),
            str(len(one.decisions)),
        )
        for number, one in enumerate(made, 1)
    ]
    return listing(columns, rows, "", tuple(name for name in columns if name != "method"))


def _columns(made: list[v1.TriedPolicy]) -> RenderableType:
    names = list(dict.fromkeys(column.column for one in made for column in one.columns))
    labels = [{column.column: left(column) for column in one.columns} for one in made]
    rows = [(wording.printable(name), *(one.get(name, "") for one in labels)) for name in names]
    return listing(("column", *(str(number) for number in range(1, len(made) + 1))), rows, "")
