"""The command `schemas`: making them, and the rules of releases into them."""

import click

from tableveil import wording
from tableveil.cli.request_options import request_option
from tableveil.cli.tables import listing
from tableveil.cli.verb import ONCE, CommandSession, verb
from tableveil.v1 import access_service_pb2 as v1


@click.group()
def schemas() -> None:
    """Make schemas for tables and releases, and the rules of releases into them."""


@schemas.command()
@click.argument("schema")
@ONCE
@verb
def create(session: CommandSession, schema: str) -> None:
    """Make SCHEMA in the server's database, for admins of the whole server."""
    made = session.client.create_schema(schema)
    session.output.answer({"schema": made}, f"Schema {wording.printable(made.schema)} is there.")


@schemas.command(name="set")
@click.argument("schema")
@request_option(v1.SchemaRule, "joint_k", "--joint-k/--no-joint-k", required=True)
@ONCE
@verb
def set_rule(session: CommandSession, schema: str, joint_k: bool) -> None:
    """Make the rule for releases into SCHEMA, for its admins."""
    rule = session.client.set_schema_rule(schema, joint_k=joint_k)
    session.output.answer({"rule": rule}, rule_in_words(rule))


@schemas.command(name="list")
@verb
def list_rules(session: CommandSession) -> None:
    """List the rules of the schemas that you administer."""
    rules = session.client.list_schema_rules()
    rows = [
        (wording.short(one.schema), _in_words(one), wording.short(one.set_by), wording.moment(one.set_time))
        for one in rules
    ]
    session.output.answer(
        v1.ListSchemaRulesResponse(rules=rules),
        listing(("schema", "releases by a reason", "by", "since"), rows, "No rules."),
    )


def rule_in_words(rule: v1.SchemaRule) -> str:
    """The rule of a schema, as a sentence."""
    return f"Releases by a reason into {wording.short(rule.schema)} {_in_words(rule)}."


def _in_words(rule: v1.SchemaRule) -> str:
    return "wait for approval below k in joint classes" if rule.joint_k else "need no approval for that"
