"""Related tables, from the proto: whose a column is, and the event tables with their columns."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from tableveil.convert.collect import Faults
from tableveil.convert.enums import enum_map
from tableveil.convert.names import DEFAULT_SCHEMA
from tableveil.errors import nearest, shortened
from tableveil.policy import Anchor, AttributePolicy, EventTable, Orphans, RelatedTables, RelativeTime, TableReference
from tableveil.v1 import policy_pb2

_SAID_ALREADY = "tables names the people's table and its key."


def people_table(message: policy_pb2.Policy) -> TableReference:
    """The table of the people."""
    people = message.tables.people
    return TableReference("", people.schema or DEFAULT_SCHEMA, people.table)


def check_said_already(message: policy_pb2.Policy, faults: Faults) -> None:
    """Adds the faults of fields that say beside `tables` what the rows are and whose."""
    person = message.WhichOneof("person")
    stated = {
        "source": shortened(str(message.source.table)) if message.HasField("source") else "",
        "source_query": "a query" if message.source_query else "",
        person or "person_column": "a column of people" if person == "person_column" else "true" if person else "",
    }
    for field, actual in stated.items():
        if actual:
            faults.add(field, f"{actual} beside tables", "nothing, because of tables", _SAID_ALREADY)


def columns_by_table(
    message: policy_pb2.Policy, attributes: Sequence[AttributePolicy], faults: Faults
) -> tuple[tuple[AttributePolicy, ...], dict[str, list[int]]]:
    """The people's columns, and the places of those of each event table; names of no table are faults."""
    people = message.tables.people.table
    names = [event.name or event.table for event in message.tables.events]
    of_people, of_events = [], {name: list[int]() for name in names}
    for i, (stated, attribute) in enumerate(zip(message.attributes, attributes, strict=True)):
        table = stated.table
        if not message.HasField("tables"):
            if table:
                faults.add(f"attributes[{i}].table", shortened(table), "nothing, without tables")
            of_people.append(attribute)
        elif table in of_events and table != people:
            of_events[table].append(i)
        elif table in ("", people):
            of_people.append(attribute)
        else:
            hint = nearest(table, [people, *names])
            faults.add(f"attributes[{i}].table", shortened(table), "the name of one of the tables", hint)
    return tuple(of_people), of_events


def related_from_proto(
    message: policy_pb2.Policy,
    attributes: Sequence[AttributePolicy],
    places: Mapping[str, Sequence[int]],
    faults: Faults,
) -> RelatedTables:
    """The event tables in a policy that has some; `places` are those of each one's `attributes`."""
    stated, events = message.tables, []
    for i, event in enumerate(stated.events):
        name = event.name or event.table
        own = places[name]
        events.append(
            EventTable(
                name=name,
                table=TableReference("", event.schema or people_table(message).schema, event.table),
                person=event.person or stated.people.key,
                orphans=faults.enum(event.orphans, enum_map(Orphans), f"tables.events[{i}].orphans", Orphans.REFUSE),
                attributes=tuple(attributes[place] for place in own),
                first=own[0] if own else len(attributes),
            )
        )
    return RelatedTables(
        events=tuple(events),
        rows_limit=faults.decimal(stated.rows_limit, "tables.rows_limit") or Decimal(0),
        most_rows_of_a_person=stated.most_rows_of_a_person if stated.HasField("most_rows_of_a_person") else None,
        relative_time=_relative_time(stated.relative_time, faults) if stated.HasField("relative_time") else None,
    )


def _relative_time(message: policy_pb2.RelativeTime, faults: Faults) -> RelativeTime:
    field, anchors = "tables.relative_time.anchor", enum_map(Anchor)
    if not message.anchor and not message.column:
        faults.add_enum(field, 0, anchors)
    return RelativeTime(faults.enum(message.anchor, anchors, field, Anchor.COLUMN), message.column)
