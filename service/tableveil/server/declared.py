"""Completes the policies of requests by the declared privacy of their sources, and by values of these or of a load."""

from collections.abc import Callable, Iterator

from tableveil.control import Control
from tableveil.convert import policy_from_proto
from tableveil.convert.collect import Faults
from tableveil.convert.hierarchies import rule_to_proto
from tableveil.convert.names import loads_of, unbound
from tableveil.convert.privacies import complete, complete_related, table_privacy_to_proto
from tableveil.convert.related import people_table
from tableveil.errors import Fault, InvalidError
from tableveil.lookups import Privacies
from tableveil.pipelines.widen import Widening
from tableveil.policy import TableReference
from tableveil.v1 import policy_pb2
from tableveil.v1 import privacy_service_pb2 as v1


def completed(policy: policy_pb2.Policy, privacies: Privacies) -> Callable[[Fault], Fault]:
    """Completes a policy, and returns how to tell its faults; see `complete`. A source query has no privacy."""
    if policy.tables.people.table:
        return complete_related(policy, dict(_of_related(policy, privacies)))
    if any(loads_of(policy.source)) and not (policy.source.table or policy.source_query):
        _name_table(policy, privacies)
    table = unbound(policy.source)
    privacy = privacies.find(table) if table.table and not policy.source_query else None
    return complete(policy, table_privacy_to_proto(table, privacy)) if privacy else lambda fault: fault


def _of_related(policy: policy_pb2.Policy, privacies: Privacies) -> Iterator[tuple[str, v1.TablePrivacy]]:
    """The declared privacy of related tables, by the names that the policy gives these."""
    people = people_table(policy)
    events = ((e.name or e.table, TableReference("", e.schema or people.schema, e.table)) for e in policy.tables.events)
    for name, table in ((people.table, people), *events):
        if table.table and (privacy := privacies.find(table)):
            yield name, table_privacy_to_proto(table, privacy)


def _name_table(policy: policy_pb2.Policy, privacies: Privacies) -> None:
    """Names the table of the load that the source is bound to, if the caller may see that load."""
    _, load = next(loads_of(policy.source))
    number = Faults().load(load, "source.load")
    table = None if number is None else privacies.table_of_load(number)
    if table is not None:
        policy.source.schema, policy.source.table = table.schema, table.table


def widen(policy: policy_pb2.Policy, widening: Widening, control: Control) -> list[str]:
    """Changes the message, and returns the columns whose rules are wider now.

    Raises:
        InvalidError: the policy has other faults than its bounds.
    """
    read, faults = policy_from_proto(policy)
    if read is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
    rules = widening.rules(read, control)
    for attribute in policy.attributes:
        if attribute.column in rules:
            attribute.hierarchy.CopyFrom(rule_to_proto(rules[attribute.column]))
    return [attribute.column for attribute in policy.attributes if attribute.column in rules]
