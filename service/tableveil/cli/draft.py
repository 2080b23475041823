"""The command that drafts a policy for a table: `draft-policy`."""

import click

from tableveil import wording
from tableveil.cli.files import NewFile, new_file
from tableveil.cli.grouped import grouped
from tableveil.cli.policy_file import PolicyFile, policy_argument
from tableveil.cli.source_query import TableOrQuery
from tableveil.cli.verb import DATABASE, CommandSession, verb
from tableveil.client.names import source_reference
from tableveil.document import to_commented_yaml, to_yaml
from tableveil.v1 import draft_service_pb2


@click.command()
@grouped(TableOrQuery, "source")
@new_file("output", "Where to write it. Default: stdout.")
@DATABASE
@click.option("--sql", is_flag=True, help="Write the statement that declares the privacy of TABLE, not a policy.")
@verb
def draft_policy(session: CommandSession, source: TableOrQuery, output: NewFile | None, sql: bool) -> None:
    """Write a policy for a table or a query, with guesses for its columns and marks where you have to decide.

    Guesses are made from names, types, numbers of values and the risks of the table. Check them all; then fill in what
    is marked DECIDE: without that, it cannot be submitted. With --json, the draft as the server gives it.
    """
    if output is not None:
        output.require_free()
    source.require()
    if sql and source.query is not None:
        raise click.UsageError("--sql is about a table, and there is a --query")
    rows = source_reference(source.table, source.schema) if source.table is not None else source.query or ""
    draft = session.client.draft_policy(rows)
    if sql:
        from tableveil.statements.render import drafted_statement

        text = drafted_statement(draft) + "\n"
    else:
        text = to_commented_yaml(draft)
    if output is not None:
        output.write(text)
    if session.output.as_json:
        session.output.json(draft)
    elif output is None:
        click.echo(text, nl=False)
    else:
        left = sum(remark.kind == draft_service_pb2.DRAFT_REMARK_KIND_DECIDE for remark in draft.remarks)
        then = f"declare it with `tableveil sql -f {output.path}`" if sql else "check it with `tableveil check-policy`"
        session.output.show(
            f"Draft written: {output.path}. Check its guesses, decide the {left} fields that are marked DECIDE, "
            f"and {then}."
        )


@click.command()
@policy_argument
@new_file("output", "Where to write it. Default: stdout.")
@DATABASE
@verb
def widen(session: CommandSession, policy: PolicyFile, output: NewFile | None) -> None:
    """Write a policy with bounds that cover all values of its table, with room for more.

    Intervals and dates are extended where they have to be; their labels stay, and loss is measured over what it was
    measured over before. Comments of the file are not kept. With --json: the policy and the columns.
    """
    if output is not None:
        output.require_free()
    from tableveil.convert.names import BOUND_TO, without_loads

    wider = session.client.widen_policy(policy.sound())
    again, loads = without_loads(wider.policy)
    wider.policy.CopyFrom(again)
    if loads:
        session.output.tell(BOUND_TO.format(loads))
    text = to_yaml(wider.policy)
    if output is not None:
        output.write(text)
    if session.output.as_json:
        session.output.json(wider)
    elif output is None:
        click.echo(text, nl=False)
    elif wider.columns:
        session.output.show(f"Written: {output.path}, wider in {', '.join(map(wording.short, wider.columns))}.")
    else:
        session.output.show(f"Written: {output.path}. All values are covered: nothing is wider.")
