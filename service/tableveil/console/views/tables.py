"""Tables: the list, and one of them to understand before anything is decided."""

import re
from itertools import islice

from starlette.responses import HTMLResponse, Response

from tableveil.console.render import fragment
from tableveil.console.visit import Visit
from tableveil.v1 import draft_service_pb2, policy_pb2

_VALUES = 5
_MOST_OTHERS = 100
_OF_COLUMN = re.compile(r"attributes\[(\d+)\]")
_KINDS = {
    draft_service_pb2.DRAFT_REMARK_KIND_GUESS: "guessed: ",
    draft_service_pb2.DRAFT_REMARK_KIND_DECIDE: "to be decided: ",
}


def listed(visit: Visit) -> Response:
    """Tables that the visitor may see, by schema."""
    schema = visit.asked("schema")
    return visit.listed("tables.html", visit.client.list_tables(schema), schema=schema)


def one(visit: Visit) -> Response:
    """The columns of a table with their commonest values, and the tables that may have events of its people.

    Released tables have events of nobody: their keys are fresh.
    """
    asked = _asked(visit)
    releases = islice(visit.client.list_releases(target_schema=asked.schema), _MOST_OTHERS)
    known = {asked.table, *(written.name for release in releases for written in release.objects)}
    left = (one.table.table for one in visit.client.list_tables(asked.schema) if one.table.table not in known)
    others = list(islice(left, _MOST_OTHERS))
    return visit.page("table.html", table=visit.client.describe_table(asked, _VALUES), others=others)


def remarks(visit: Visit) -> Response:
    """The remarks of a draft: the table's risks, who is a person, values that look wrong, and each column's role."""
    table = _asked(visit)
    draft = visit.client.draft_policy(table)
    names = [attribute.column for attribute in draft.policy.attributes]
    about: dict[str, list[draft_service_pb2.DraftRemark]] = {"": []}
    for remark in draft.remarks:
        match = _OF_COLUMN.match(remark.field)
        about.setdefault(names[int(match[1])] if match else "", []).append(remark)
    if visit.is_part:
        return HTMLResponse(fragment("remarks_part.html", about=about, kinds=_KINDS))
    return visit.page("remarks.html", table=table, about=about, kinds=_KINDS)


def _asked(visit: Visit) -> policy_pb2.TableReference:
    # Any text may be a name: a part of a path could not have a slash.
    return policy_pb2.TableReference(schema=visit.asked("schema"), table=visit.asked("table"))
